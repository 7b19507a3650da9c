// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin may add besides kernels: an operator with its gradient, a dtype, and a layout. The
// kernels call other operators, so they serve tensors on every device.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenon/sdk/custom.h"
#include "tenon/sdk/half.h"
#include "tenon/sdk/ops/_from_components.h"
#include "tenon/sdk/ops/_to_dense.h"
#include "tenon/sdk/ops/_to_layout.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/mul.h"
#include "tenon/sdk/ops/sum.h"

namespace {

using namespace tenon::sdk;

// --- A dtype: 8-bit floats with 5 bits of exponent, the upper half of a float16.

void e5m2_to_float(const void* src, float* dst, int64_t n) {
  const auto* bytes = static_cast<const uint8_t*>(src);
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = static_cast<uint16_t>(bytes[i] << 8);
    Half h;
    std::memcpy(&h, &bits, sizeof h);
    dst[i] = static_cast<float>(h);
  }
}

void float_to_e5m2(const float* src, void* dst, int64_t n) {
  auto* bytes = static_cast<uint8_t*>(dst);
  for (int64_t i = 0; i < n; ++i) {
    const Half h(src[i]);
    uint16_t bits;
    std::memcpy(&bits, &h, sizeof bits);
    const bool nan = std::isnan(src[i]);
    const uint16_t rounded = static_cast<uint16_t>(bits + 0x7f + (bits >> 8 & 1));  // half to even
    bytes[i] =
        nan ? 0x7e : static_cast<uint8_t>((bits & 0x7c00) == 0x7c00 ? bits >> 8 : rounded >> 8);
  }
}

// --- A layout: runs of equal elements in row-major order, as their lengths and their values.

enum { kLengths = 0, kValues = 1 };

// Infers a tensor of this size; values is its last component.
tn_status infer_from_values(const tn_tensor* values, const tn_value& size, tn_tensor& output,
                            int64_t* sizes) {
  if (!values || size.len > 64) return TN_ERROR_VALUE;
  output.ndim = static_cast<int32_t>(size.len);
  output.dtype = values->dtype;
  std::memcpy(sizes, size.u.i64s, size.len * sizeof(int64_t));
  return TN_OK;
}

tn_status infer_runs(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]) {
  const std::string_view name(op.ptr, op.len);
  const tn_value* in = call->in;
  uint32_t runs = 0, own = outputs[0].layout;
  for (uint32_t i = 0; i < call->n_in; ++i) {
    if (in[i].tag != TN_TAG_TENSOR || in[i].u.tensor->layout == TN_STRIDED) continue;
    own = in[i].u.tensor->layout;
    ++runs;
  }
  if (name == "mul.Scalar" || (name == "add.Tensor" && runs == 2)) {
    outputs[0].layout = own;
    return TN_OK;
  }
  if (name == "_from_components" && in[0].len > 0) {
    outputs[0].layout = own;
    return infer_from_values(in[0].u.tensors[in[0].len - 1], in[1], outputs[0], sizes[0]);
  }
  if (name != "acme::run_length") return TN_DECLINED;
  outputs[0].layout = static_cast<uint32_t>(in[3].u.i64);
  return infer_from_values(in[1].u.tensor, in[2], outputs[0], sizes[0]);
}

constexpr CustomOp kRunLength{
    "acme::run_length(Tensor lengths, Tensor values, int[] size, Layout? layout=None) -> Tensor"};

void share_components(const Call& call, const Tensor& lengths, const Tensor& values) {
  share_component(call, 0, kLengths, lengths);
  share_component(call, 0, kValues, values);
}

void check_pairs(const Tensor& lengths, const Tensor& values) {
  if (lengths.ndim() != 1 || values.ndim() != 1 || lengths.size(0) != values.size(0))
    throw Error(TN_ERROR_VALUE, "expected as many lengths as values, got shapes ", lengths.sizes(),
                " and ", values.sizes());
}

tn_status run_length(Call& call, Tensor, Tensor lengths, Tensor values, Ints,
                     std::optional<Layout>) {
  check_pairs(lengths, values);
  share_components(call, lengths, values);
  return TN_OK;
}
TN_CUSTOM_KERNEL(kRunLength, run_length, layouts("strided|run_length"));

// The result of a reduction to one element, from any device.
int64_t reduce_to_integer(const Call& call, std::string_view op, const Tensor& t) {
  Results<1> found, host, copied;
  tn_value dtype{TN_TAG_DTYPE, 0, {}}, device{TN_TAG_DEVICE, 0, {}};
  dtype.u.dtype = kInt64;
  device.u.device = tn_device{TN_CPU, 0};
  call_op(call, op, {value(t)}, found);
  call_op(call, "empty.memory_format", {value(found[0].sizes()), dtype, no_value(), device}, host);
  call_op(call, "copy_", {value(host[0]), value(found[0])}, copied);
  return *host[0].data<const int64_t>();
}

// Builds a tensor from components that were read from a file, so all of them are checked.
tn_status from_components(Call& call, Tensor, TensorList parts, Ints size, int64_t,
                          std::optional<Layout>) {
  if (parts.size() != 2 || !parts[0].defined() || !parts[1].defined())
    throw Error(TN_ERROR_VALUE, "expected lengths and values, got ", parts.size(), " components");
  check_pairs(parts[kLengths], parts[kValues]);
  if (parts[kLengths].dtype() != kInt64)
    throw Error(TN_ERROR_TYPE, "lengths must be an int64 tensor");
  int64_t elements = 1;
  for (int64_t n : size) elements *= n;  // core has checked that it fits
  const int64_t runs = parts[kLengths].numel();
  int64_t given = 0;
  if (runs > 0) {
    if (reduce_to_integer(call, "min", parts[kLengths]) < 1)
      throw Error(TN_ERROR_VALUE, "lengths of runs must be at least 1");
    const int64_t longest = reduce_to_integer(call, "max", parts[kLengths]);
    if (longest > elements || longest > INT64_MAX / runs)
      throw Error(TN_ERROR_VALUE, "a run has ", longest, " of ", elements, " elements");
    given = reduce_to_integer(call, "sum", parts[kLengths]);
  }
  if (given != elements)
    throw Error(TN_ERROR_VALUE, "the runs have ", given, " elements, size ", size, " has ",
                elements);
  share_components(call, parts[kLengths], parts[kValues]);
  return TN_OK;
}
TN_KERNEL(_from_components, from_components, layouts("strided|run_length").mixed_dtypes());

tn_status to_dense(Call& call, Tensor out, Tensor self, std::optional<DType>, std::optional<bool>) {
  Results<1> flat, shaped, copied;
  call_op(call, "repeat_interleave.self_Tensor",
          {value(component(self, kValues)), value(component(self, kLengths)), value(int64_t{0})},
          flat);
  call_op(call, "reshape", {value(flat[0]), value(out.sizes())}, shaped);
  call_op(call, "copy_", {value(out), value(shaped[0])}, copied);
  return TN_OK;
}
TN_KERNEL(_to_dense, to_dense, layouts("run_length").any_strides());

tn_status to_layout(Call& call, Tensor, Tensor self, std::optional<Layout>) {
  Results<1> flat;
  Results<3> runs;
  const int64_t all = -1;
  call_op(call, "reshape", {value(self), value(Ints(&all, 1))}, flat);
  call_op(call, "unique_consecutive", {value(flat[0]), value(false), value(true)}, runs);
  share_components(call, runs[2], runs[0]);
  return TN_OK;
}
TN_KERNEL(_to_layout, to_layout, layouts("strided|run_length").any_strides());

tn_status mul(Call& call, Tensor, Tensor self, Scalar other) {
  Results<1> values;
  call_op(call, "mul.Scalar", {value(component(self, kValues)), value(other)}, values);
  share_components(call, component(self, kLengths), values[0]);
  return TN_OK;
}
TN_KERNEL(mul_Scalar, mul, layouts("run_length").any_strides());

// A run of the sum ends where one of either tensor does.
tn_status add_runs(Call& call, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  Results<1> end[2], both, begin, lengths, at[2], v[2], sum;
  Results<2> sorted;
  Results<3> distinct;
  for (int i : {0, 1}) {
    call_op(call, "cumsum", {value(component(i ? b : a, kLengths)), value(int64_t{0})}, end[i]);
  }
  const tn_tensor* ends[] = {end[0][0].abi(), end[1][0].abi()};
  tn_value list{TN_TAG_TENSOR_LIST, 2, {}};
  list.u.tensors = ends;
  call_op(call, "cat", {list, value(int64_t{0})}, both);
  call_op(call, "sort", {value(both[0]), value(int64_t{0}), value(false)}, sorted);
  call_op(call, "unique_consecutive", {value(sorted[0]), value(false), value(false)}, distinct);
  const int64_t pad[] = {1, -1};  // prepends a zero and drops the last element
  call_op(call, "constant_pad_nd", {value(distinct[0]), value(Ints(pad, 2)), value(int64_t{0})},
          begin);
  call_op(call, "sub.Tensor", {value(distinct[0]), value(begin[0])}, lengths);
  for (int i : {0, 1}) {
    call_op(call, "searchsorted.Tensor", {value(end[i][0]), value(distinct[0])}, at[i]);
    call_op(call, "index_select",
            {value(component(i ? b : a, kValues)), value(int64_t{0}), value(at[i][0])}, v[i]);
  }
  call_op(call, "add.Tensor", {value(v[0][0]), value(v[1][0]), value(alpha)}, sum);
  share_components(call, lengths[0], sum[0]);
  return TN_OK;
}

tn_status add(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  const Ints a = self.sizes(), b = other.sizes();
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end()))
    throw Error(TN_ERROR_VALUE, "expected tensors of the same size, got ", a, " and ", b);
  if (!is_strided(self) && !is_strided(other)) return add_runs(call, self, other, alpha);
  Results<1> dense, sum, copied;
  call_op(call, "_to_dense", {value(is_strided(self) ? other : self)}, dense);
  const Tensor first = is_strided(self) ? self : dense[0],
               second = is_strided(self) ? dense[0] : other;
  call_op(call, "add.Tensor", {value(first), value(second), value(alpha)}, sum);
  call_op(call, "copy_", {value(out), value(sum[0])}, copied);
  return TN_OK;
}
TN_KERNEL(add_Tensor, add, layouts("strided|run_length,strided|run_length").any_strides());

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool,
              std::optional<DType>) {
  if (dim && !dim->empty()) return TN_DECLINED;
  Results<1> weighted, total, copied;
  call_op(call, "mul.Tensor", {value(component(self, kValues)), value(component(self, kLengths))},
          weighted);
  call_op(call, "sum", {value(weighted[0])}, total);
  call_op(call, "copy_", {value(out), value(total[0])}, copied);
  return TN_OK;
}
TN_KERNEL(sum_dim_IntList, sum, layouts("run_length").any_strides());

// --- An op with a gradient: acme::scale.

constexpr CustomOp kScale{"acme::scale(Tensor self, float factor=2.0) -> Tensor"};
constexpr CustomOp kScaleBackward{"acme::scale_backward(Tensor grad, float factor) -> Tensor"};

tn_status scale(Call& call, Tensor out, Tensor self, double factor) {
  Results<1> product, copied;
  call_op(call, "mul.Scalar", {value(self), value(factor)}, product);
  call_op(call, "copy_", {value(out), value(product[0])}, copied);
  return TN_OK;
}
TN_CUSTOM_KERNEL(kScale, scale, dtypes("floating").any_strides());
TN_CUSTOM_KERNEL(kScaleBackward, scale, dtypes("floating").any_strides());

// Outputs arrive with the shape and dtype of the first argument.
tn_status infer_same(tn_call*, tn_tensor*, int64_t (*)[64]) { return TN_OK; }

tn_status init(const tn_host& host, tn_str* why) {
  OpRules scaled, backward, runs;
  scaled.infer = backward.infer = &infer_same;
  scaled.backward = backward.backward = kScaleBackward.name();
  scaled.saved_in = backward.saved_in = 1u << 1;  // factor
  runs.layout = "run_length";
  const bool ok = register_op(host, kScale, scaled) == TN_OK &&
                  register_op(host, kScaleBackward, backward) == TN_OK &&
                  register_op(host, kRunLength, runs) == TN_OK;
  if (!ok) *why = detail::text("an op could not be registered");
  return ok ? TN_OK : TN_ERROR;
}

// For onnx::export_ of a program with it.
constexpr tn_ext_onnx kOnnx = onnx_functions(R"(
acme::scale (self, factor) => (y) {
  f = CastLike (factor, self)
  y = Mul (self, f)
}
)");

constexpr tn_ext_layout kLayout =
    custom_layout("run_length", "lengths,values", "", &infer_runs, &kOnnx.head);
constexpr tn_ext_dtype kDtype =
    custom_dtype("bfloat8", "floating", 1, 8, &e5m2_to_float, &float_to_e5m2, &kLayout.head);

}  // namespace

TN_PLUGIN_INIT(init, tenon::sdk::PluginInfo{}
                         .name("custom")
                         .version("1.0")
                         .device("any")
                         .host_memory()
                         .unloadable()
                         .ext(&kDtype.head));
