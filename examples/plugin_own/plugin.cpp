// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin may add besides kernels: an op with its gradient, a dtype, and a layout. The kernels are calls of other
// ops, so they serve tensors on every device.
#include <cmath>
#include <cstring>

#include "tenon/sdk/half.h"
#include "tenon/sdk/ops/_to_dense.h"
#include "tenon/sdk/ops/_to_layout.h"
#include "tenon/sdk/ops/mul.h"
#include "tenon/sdk/ops/sum.h"
#include "tenon/sdk/own.h"

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
    bytes[i] = nan ? 0x7e : static_cast<uint8_t>((bits & 0x7c00) == 0x7c00 ? bits >> 8 : rounded >> 8);
  }
}

// --- A layout: runs of equal elements in row-major order, as their lengths and their values.

enum { kLengths = 0, kValues = 1 };

tn_status infer_runs(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]) {
  const std::string_view name(op.ptr, op.len);
  uint32_t own = 0;
  for (uint32_t i = 0; i < call->n_in; ++i) {
    if (call->in[i].tag == TN_TAG_TENSOR && call->in[i].u.tensor->layout != TN_STRIDED)
      own = call->in[i].u.tensor->layout;
  }
  if (name == "mul.Scalar") {
    outputs[0].layout = own;
    return TN_OK;
  }
  if (name != "acme::run_length") return TN_DECLINED;
  const tn_value &values = call->in[1], &size = call->in[2];
  if (size.len > 64) return TN_ERROR_VALUE;
  outputs[0].ndim = static_cast<int32_t>(size.len);
  outputs[0].dtype = values.u.tensor->dtype;
  std::memcpy(sizes[0], size.u.i64s, size.len * sizeof(int64_t));
  outputs[0].layout = static_cast<uint32_t>(call->in[3].u.i64);
  return TN_OK;
}

constexpr OwnOp kRunLength{
    "acme::run_length(Tensor lengths, Tensor values, int[] size, Layout? layout=None) -> Tensor"};

tn_status run_length(Call& call, Tensor, Tensor lengths, Tensor values, Ints, std::optional<Layout>) {
  if (lengths.ndim() != 1 || values.ndim() != 1 || lengths.size(0) != values.size(0))
    throw Error(TN_ERROR_VALUE, "lengths of shape ", lengths.sizes(), " and values of shape ", values.sizes(),
                " must be as many");
  share_component(call, 0, kLengths, lengths);
  share_component(call, 0, kValues, values);
  return TN_OK;
}
TN_OWN_KERNEL(kRunLength, run_length, layouts("strided|run_length"));

tn_status to_dense(Call& call, Tensor out, Tensor self, std::optional<DType>, std::optional<bool>) {
  Results<1> flat, shaped, copied;
  call_op(call, "repeat_interleave.self_Tensor",
          {value(component(self, kValues)), value(component(self, kLengths)), value(int64_t{0})}, flat);
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
  share_component(call, 0, kLengths, runs[2]);
  share_component(call, 0, kValues, runs[0]);
  return TN_OK;
}
TN_KERNEL(_to_layout, to_layout, layouts("strided|run_length").any_strides());

tn_status mul(Call& call, Tensor, Tensor self, Scalar other) {
  Results<1> values;
  call_op(call, "mul.Scalar", {value(component(self, kValues)), value(other)}, values);
  share_component(call, 0, kLengths, component(self, kLengths));
  share_component(call, 0, kValues, values[0]);
  return TN_OK;
}
TN_KERNEL(mul_Scalar, mul, layouts("run_length").any_strides());

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool, std::optional<DType>) {
  if (dim && !dim->empty()) return TN_DECLINED;
  Results<1> weighted, total, copied;
  call_op(call, "mul.Tensor", {value(component(self, kValues)), value(component(self, kLengths))}, weighted);
  call_op(call, "sum", {value(weighted[0])}, total);
  call_op(call, "copy_", {value(out), value(total[0])}, copied);
  return TN_OK;
}
TN_KERNEL(sum_dim_IntList, sum, layouts("run_length").any_strides());

// --- An op with a gradient: acme::scale.

constexpr OwnOp kScale{"acme::scale(Tensor self, float factor=2.0) -> Tensor"};
constexpr OwnOp kScaleBackward{"acme::scale_backward(Tensor grad, float factor) -> Tensor"};

tn_status scale(Call& call, Tensor out, Tensor self, double factor) {
  Results<1> product, copied;
  call_op(call, "mul.Scalar", {value(self), value(factor)}, product);
  call_op(call, "copy_", {value(out), value(product[0])}, copied);
  return TN_OK;
}
TN_OWN_KERNEL(kScale, scale, dtypes("floating").any_strides());
TN_OWN_KERNEL(kScaleBackward, scale, dtypes("floating").any_strides());

tn_status as_first(tn_call*, tn_tensor*, int64_t (*)[64]) { return TN_OK; }  // what the outputs arrive as

tn_status init(const tn_host& host, tn_str* why) {
  OpRules scaled, backward, runs;
  scaled.infer = backward.infer = &as_first;
  scaled.backward = backward.backward = kScaleBackward.name();
  scaled.saved_in = backward.saved_in = 1u << 1;  // factor
  runs.layout = "run_length";
  const bool ok = register_op(host, kScale, scaled) == TN_OK && register_op(host, kScaleBackward, backward) == TN_OK &&
                  register_op(host, kRunLength, runs) == TN_OK;
  if (!ok) *why = detail::text("an op could not be registered");
  return ok ? TN_OK : TN_ERROR;
}

constexpr tn_ext_layout kLayout = own_layout("run_length", "lengths,values", "", &infer_runs);
constexpr tn_ext_dtype kDtype =
    own_dtype("float8_e5m2", "floating", 1, 8, &e5m2_to_float, &float_to_e5m2, &kLayout.head);

}  // namespace

TN_PLUGIN_INIT(init, tenon::sdk::PluginInfo{}.name("own").version("1.0").device("any").host_memory().unloadable().ext(
                         &kDtype.head));
