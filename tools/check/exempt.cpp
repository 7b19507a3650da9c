// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "exempt.h"

#include <regex>

namespace tenon::check {
namespace {

struct Exemption {
  Property property;
  const char* operators;  // a regular expression of whole names
  const char* reason;
};

const Exemption kExemptions[] = {
    {Property::Batched, "empty_like|new_empty|new_empty_strided", "the elements are not set"},
    {Property::Batched,
     "masked_select|nonzero|_unique2?|unique_(dim|consecutive|dim_consecutive)|repeat_interleave.*",
     "how many elements there are depends on their values"},
    {Property::Batched, "histogramdd(.int_bins)?", "the edges are a list beside a tensor"},
    {Property::BatchedGrad, "masked_select(_backward)?|masked_scatter|index_fill.int_Tensor",
     "the gradient has as many elements as the values say"},
    {Property::Strides,
     "is_contiguous.*|stride.*|storage_offset|_reshape_alias.*|resize_|resize_as_",
     "it tells or takes the geometry in memory"},
    {Property::Values, "result_type.*", "the result is the dtype of the call"},
    {Property::Gradcheck, "fake_quantize_.*", "the gradient leaves rounding out"},
    {Property::Gradcheck, "_?ctc_loss.*",
     "the gradient is that for the logits under a log_softmax"},
    {Property::Gradgradcheck, "_?ctc_loss.*",
     "the gradient is that for the logits under a log_softmax"},
    {Property::Gradcheck, "_?standard_gamma|_sample_dirichlet",
     "the gradient of what is drawn is that at a fixed probability"},
    {Property::Gradgradcheck, "_?standard_gamma|_sample_dirichlet",
     "the gradient of what is drawn is that at a fixed probability"},
    {Property::Gradcheck, "max_unpool.*",
     "of several values put at one place an unspecified one stays"},
    {Property::ComplexGrad, "max_unpool.*",
     "of several values put at one place an unspecified one stays"},
    {Property::ComplexGrad, "_index_put_impl_", "each call writes over what the one before saved"},
    {Property::Gradcheck,
     "_index_put_impl_|_add_relu_.Tensor|float_power_.Tensor|ldexp_|pow_.Tensor",
     "each call writes over what the one before saved"},
    {Property::Gradcheck, "_reshape_alias.*", "it takes the geometry in memory"},
    {Property::Recording, "_loop_program", "there is no gradient, which the error says"},
    {Property::Repeat, "resize_|resize_as_", "elements that are added are not set"},
    {Property::Threads, "resize_|resize_as_", "elements that are added are not set"},
    {Property::Strides, "histogramdd.*", "a point on an edge falls to either side by rounding"},
    {Property::Strides, "result_type.*", "the result is the dtype of the call"},
    {Property::Version, "set_.source_Tensor.*", "self and source have one storage"},
    {Property::Gradcheck, "log_sigmoid_forward|_native_batch_norm_legit.*",
     "the other results are for the operator's own gradient"},
    {Property::Device, "_shape_as_tensor|_pack_padded_sequence|_pad_packed_sequence",
     "sizes and lengths are on the host"},
    {Property::Errors,
     "cummaxmin_backward|gather_backward|fractional_max_pool.d_backward|_embedding_bag_forward_"
     "only",
     "the kernel of a part refuses what is out of range, which the reference reads"},
    {Property::Errors, "_native_batch_norm_legit.no_stats", "the mean of nothing is NaN or 0"},
    {Property::Errors, "resize_|resize_as_", "elements that are added are not set"},
    {Property::Draws, "randint_like.Tensor.*", "of the bools below true there is one"},
    {Property::Dtypes, "_foreach_(add|pow)_[.]Scalar",
     "the dtype of the results is that of each tensor of the list"},
    {Property::Dtypes, "linalg_matrix_norm.*|(linalg_)?matrix_power",
     "some of their arguments need a factorization, which 16-bit floats have none of"},
    {Property::Strides, "linalg_cond.*", "matrices of equal elements are singular"},
    {Property::Errors, "(linalg_)?matrix_power",
     "the host refuses singular matrices of dtypes that the device refuses first"},
    {Property::Values, "_(log_)?softmax_backward_data",
     "the dtype of the forward pass is an argument, beside that of the tensors"},
    {Property::Strides, "_(log_)?softmax_backward_data",
     "the dtype of the forward pass is an argument, beside that of the tensors"},
    {Property::Gradcheck, "nll_loss_backward", "the total weight follows from the weights"},
    {Property::Draws, "bernoulli", "a probability of 0 leaves nothing to draw"},
    {Property::Values, "_embedding_bag_backward", "sizes of bags and indices belong together"},
    {Property::Errors, "_?embedding_bag.*", "the kernel refuses offsets that the reference reads"},
    {Property::Recording, "nuclear_norm.*|linalg_matrix_norm.*|linalg_norm.*|linalg_cond.*",
     "singular values alone are computed another way than with their vectors"},
    {Property::Gradcheck, "cdist", "where points are equal there is no derivative"},
    {Property::Gradgradcheck, "cdist", "where points are equal there is no derivative"},
    {Property::ByName, "size|stride", "tn_call_op has no lists of integers as results"},
};

}  // namespace

Findings without_exempt(const core::Op& op, const Findings& found) {
  Findings out;
  for (const Finding& f : found.all()) {
    const char* reason = nullptr;
    for (const Exemption& e : kExemptions) {
      if (f.verdict == Verdict::Failed && e.property == f.property &&
          std::regex_match(op.name, std::regex(e.operators)))
        reason = e.reason;
    }
    if (reason)
      out.not_run(f.property, reason);
    else if (f.verdict == Verdict::Failed)
      out.failed(f.property, f.reason);
    else if (f.verdict == Verdict::NotRun)
      out.not_run(f.property, f.reason);
    else
      out.passed(f.property);
  }
  return out;
}

}  // namespace tenon::check
