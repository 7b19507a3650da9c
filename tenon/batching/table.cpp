// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which rule an operator has. What is not here, and is not a composite, is called slice by slice.
#include <string>
#include <unordered_map>

#include "tenon/batching/rules.h"

namespace tenon::batching {
namespace {

struct Entry {
  Rule rule;
  std::initializer_list<const char*> operators;
};

// Of all operators with the shape rule of one of these.
const Entry kByShapeRule[] = {
    {rules::pointwise,
     {"relu",
      "div.Tensor",
      "leaky_relu",
      "eq.Tensor",
      "where.self",
      "sub.Tensor",
      "pow.Tensor_Scalar",
      "masked_fill.Scalar",
      "hardtanh",
      "softshrink",
      "heaviside",
      "clamp",
      "clamp_min",
      "clamp_max",
      "abs",
      "polygamma",
      "zero",
      "fill.Scalar",
      "detach",
      "view_as_real",
      "view_as_complex",
      "view.dtype",
      "empty_like",
      "uniform",
      "normal",
      "exponential",
      "random.from",
      "random.to",
      "random",
      "bernoulli",
      "bernoulli.Tensor",
      "bernoulli.float",
      "native_dropout",
      "frexp.Tensor",
      "tril",
      "triu",
      "constant_pad_nd"}},
    {rules::along_dims,
     {"prod.dim_int",
      "max.dim",
      "all.dim",
      "cumsum",
      "cummax",
      "logcumsumexp",
      "_softmax",
      "_softmax_backward_data",
      "sort.stable",
      "topk",
      "kthvalue",
      "mode",
      "flip",
      "gather",
      "scatter.src",
      "scatter.value",
      "scatter_reduce.two",
      "select.int",
      "slice.Tensor",
      "transpose.int",
      "diagonal",
      "unfold",
      "squeeze.dim",
      "squeeze.dims",
      "select_backward",
      "slice_backward",
      "diagonal_backward",
      "native_dropout_backward",
      "unfold_backward",
      "_fft_r2c",
      "_fft_c2r",
      "_fft_c2c"}},
    {rules::reduction,
     {"sum.dim_IntList", "mean.dim", "amax", "var.correction", "var_mean.correction",
      "norm.ScalarOpt_dim", "all.dims"}},
    {rules::arg_extremum, {"argmax"}},
    {rules::leading,
     {"linalg_matrix_exp", "linalg_qr", "linalg_polar", "linalg_householder_product", "geqrf",
      "ormqr", "_linalg_det", "_linalg_slogdet", "_factor_cholesky", "_factor_lu", "_factor_ldl",
      "_factor_eigh", "_factor_eig", "_factor_svd", "_factor_inverse", "_solve_triangular",
      "_solve_square", "_pinv", "_cdist_forward"}},
};

const Entry kByName[] = {
    {rules::copy, {"copy"}},
    {rules::clone, {"clone"}},
    {rules::fill_tensor, {"fill.Tensor"}},
    {rules::masked_fill_tensor, {"masked_fill.Tensor"}},
    {rules::full_prod, {"prod"}},
    {rules::full_all, {"all"}},
    {rules::full_any, {"any"}},
    {rules::full_max, {"max"}},
    {rules::full_min, {"min"}},
    {rules::cat, {"cat"}},
    {rules::view, {"view"}},
    {rules::as_strided, {"as_strided"}},
    {rules::expand, {"expand"}},
    {rules::permute, {"permute"}},
    {rules::t, {"t"}},
    {rules::unsqueeze, {"unsqueeze"}},
    {rules::squeeze, {"squeeze"}},
    {rules::matmul, {"mm", "bmm"}},
    {rules::mv, {"mv"}},
    {rules::dot, {"dot"}},
    {rules::addmm, {"addmm", "baddbmm"}},
    {rules::addmv, {"addmv"}},
    {rules::index, {"_index"}},
    {rules::index_put, {"index_put"}},
    {rules::index_select, {"index_select"}},
    {rules::with_common_index,
     {"index_add", "index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor", "index_reduce"}},
    {rules::embedding, {"embedding"}},
    {rules::convolution, {"convolution"}},
    {rules::convolution_backward, {"convolution_backward"}},
    {rules::layer_norm, {"native_layer_norm"}},
    {rules::rms_norm, {"_fused_rms_norm"}},
    {rules::layer_norm_backward, {"native_layer_norm_backward"}},
    {rules::group_norm, {"native_group_norm"}},
    {rules::group_norm_backward, {"native_group_norm_backward"}},
    {rules::images_1d,
     {"upsample_linear1d", "upsample_nearest1d", "_upsample_nearest_exact1d",
      "upsample_linear1d_backward", "upsample_nearest1d_backward",
      "_upsample_nearest_exact1d_backward", "reflection_pad1d", "reflection_pad1d_backward",
      "replication_pad1d", "replication_pad1d_backward"}},
    {rules::images_2d,
     {"upsample_bilinear2d",
      "_upsample_bilinear2d_aa",
      "upsample_bicubic2d",
      "_upsample_bicubic2d_aa",
      "upsample_nearest2d",
      "_upsample_nearest_exact2d",
      "upsample_bilinear2d_backward",
      "_upsample_bilinear2d_aa_backward",
      "upsample_bicubic2d_backward",
      "_upsample_bicubic2d_aa_backward",
      "upsample_nearest2d_backward",
      "_upsample_nearest_exact2d_backward",
      "reflection_pad2d",
      "reflection_pad2d_backward",
      "replication_pad2d",
      "replication_pad2d_backward",
      "max_pool2d_with_indices",
      "_max_pool2d",
      "max_pool2d_with_indices_backward",
      "avg_pool2d",
      "avg_pool2d_backward",
      "_adaptive_avg_pool2d",
      "_adaptive_avg_pool2d_backward",
      "adaptive_max_pool2d",
      "adaptive_max_pool2d_backward"}},
    {rules::images_3d,
     {"upsample_trilinear3d", "upsample_nearest3d", "_upsample_nearest_exact3d",
      "upsample_trilinear3d_backward", "upsample_nearest3d_backward",
      "_upsample_nearest_exact3d_backward", "reflection_pad3d", "reflection_pad3d_backward",
      "replication_pad3d", "replication_pad3d_backward", "max_pool3d_with_indices",
      "max_pool3d_with_indices_backward", "avg_pool3d", "avg_pool3d_backward",
      "_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward", "adaptive_max_pool3d",
      "adaptive_max_pool3d_backward"}},
};

std::unordered_map<const core::Op*, Rule> make_table() {
  std::unordered_map<core::InferFn, Rule> of_shape_rule;
  for (const Entry& e : kByShapeRule) {
    for (const char* name : e.operators) of_shape_rule[core::get_op(name).infer] = e.rule;
  }
  std::unordered_map<const core::Op*, Rule> table;
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    if (const auto at = of_shape_rule.find(op.infer); op.infer && at != of_shape_rule.end())
      table[&op] = at->second;
  }
  for (const Entry& e : kByName) {
    for (const char* name : e.operators) table[&core::get_op(name)] = e.rule;
  }
  return table;
}

}  // namespace

Rule rule_of(const core::Op& op) {
  static const auto& table = *new std::unordered_map<const core::Op*, Rule>(make_table());
  const auto at = table.find(&op);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace tenon::batching
