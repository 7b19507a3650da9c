// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// convolution, its gradients, and convolution with an epilogue. Overwritten: every output that is
// wanted. float32 goes to oneDNN, bfloat16 to tiles or, where the processor multiplies it, to
// oneDNN; else 16-bit floats are computed in float32. Both are rounded once. Other dtypes are
// unfolded and multiplied.
#include "tenon/sdk/ops/convolution.h"
#include "tenon/sdk/ops/_conv_epilogue.h"
#include "tenon/sdk/ops/convolution_backward.h"

#include <algorithm>
#include <optional>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/conv/lines.h"
#include "plugin_cpu/conv/winograd.h"
#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/kernels/conv_geometry.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/simd/convert.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Buffer;
using tenon::cpu::Conv;
using tenon::cpu::Finish;
using tenon::cpu::geometry;
using tenon::cpu::packed::Origin;
using tenon::cpu::packed::origin;

void zero(Tensor t) {
  std::fill_n(static_cast<char*>(t.data()), t.numel() * item_size(t.dtype()), char{0});
}

// A tensor's elements in the dtype that the products are computed in.
class Widened {
 public:
  Widened(Tensor t, bool read) : t_(t), memory_(t.defined() && half() ? t.numel() * 4 : 0) {
    if (!read || !t.defined() || !half()) return;
    dispatch_floating(t.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      float* to = memory_.as<float>();
      if constexpr (is_half_v<T>) {
        parallel_for(t.numel(), 32768, [&](int64_t b, int64_t e) {
          tenon::cpu::to_float(t.data<T>() + b, to + b, e - b);
        });
      }
    });
  }
  void* data() const { return !t_.defined() ? nullptr : half() ? memory_.as<>() : t_.data(); }
  Origin origin() const { return half() ? Origin{} : tenon::cpu::packed::origin(t_); }
  DType dtype() const { return half() ? kFloat32 : t_.dtype(); }
  void store() const {
    if (!half()) return;
    dispatch_floating(t_.dtype(), [&](auto tag) {
      using T = tn_type(tag);
      const float* from = memory_.as<float>();
      if constexpr (is_half_v<T>) {
        parallel_for(t_.numel(), 32768, [&](int64_t b, int64_t e) {
          tenon::cpu::from_float(from + b, t_.data<T>() + b, e - b);
        });
      }
    });
  }

 private:
  bool half() const { return t_.dtype().bits == 16 && is_floating(t_.dtype()); }
  Tensor t_;
  Buffer memory_;
};

// Small cases are not worth a primitive, which takes about a millisecond to create; for products of
// whole images (1x1) a reorder does not pay.
bool onednn_pays(DType t, const Conv& c) {
  return t == kFloat32 && c.work() * c.batch > 65536 && !(c.plain() && c.groups == 1);
}

// float32 by a kernel that finishes its results itself; false if none supports the case.
bool forward_finished(const Conv& c, const float* x, const float* w, const Origin& from,
                      const Finish& finish) {
  return tenon::cpu::conv_forward_pointwise(c, x, w, from, finish) ||
         tenon::cpu::conv_forward_lines(c, x, w, finish);
}

void forward(DType t, const Conv& c, const void* x, const void* w, const Origin& from,
             const void* bias, void* y) {
  if (t == kFloat32 && tenon::cpu::conv_forward_depthwise(
                           c, static_cast<const float*>(x), static_cast<const float*>(w),
                           static_cast<const float*>(bias), static_cast<float*>(y))) {
    return;
  }
  if (t == kFloat32) {
    const Finish finish{{},      static_cast<const float*>(bias), nullptr,
                        nullptr, static_cast<float*>(y),          c.out_plane()};
    if (forward_finished(c, static_cast<const float*>(x), static_cast<const float*>(w), from,
                         finish))
      return;
  }
  if (onednn_pays(t, c) && tenon::cpu::conv_forward_onednn(t, c, x, w, from, bias, y)) {
    return;
  }
  tenon::cpu::conv_forward(t, c, x, w, bias, y);
}

void backward_data(DType t, const Conv& c, const void* dy, const void* w, const Origin& from,
                   void* dx) {
  if (onednn_pays(t, c) && tenon::cpu::conv_backward_data_onednn(t, c, dy, w, from, dx)) {
    return;
  }
  tenon::cpu::conv_backward_data(t, c, dy, w, dx);
}

void backward_weights(DType t, const Conv& c, const void* x, const void* dy, void* dw) {
  if (onednn_pays(t, c) &&
      tenon::cpu::conv_backward_weights_onednn(t, c, x, dy, static_cast<float*>(dw))) {
    return;
  }
  tenon::cpu::conv_backward_weights(t, c, x, dy, dw);
}

bool native_pays(DType t, const Conv& c) {
  return t == kBFloat16 && c.work() * c.batch > 65536 && tenon::cpu::bf16_by_onednn();
}

// bfloat16 without widening; false if no kernel supports the case, and then nothing was written.
bool forward_native(DType t, const Conv& c, const void* x, Tensor w, const void* bias, void* y) {
  if (t != kBFloat16) return false;
  return tenon::cpu::conv_forward_tiles(c, x, w.data(), bias, y) ||
         (native_pays(t, c) &&
          tenon::cpu::conv_forward_onednn(t, c, x, w.data(), origin(w), bias, y));
}

bool backward_data_native(DType t, const Conv& c, const void* dy, Tensor w, const void* bias,
                          void* dx) {
  if (t != kBFloat16) return false;
  return tenon::cpu::conv_backward_data_tiles(c, dy, w.data(), bias, dx) ||
         (!bias && native_pays(t, c) &&
          tenon::cpu::conv_backward_data_onednn(t, c, dy, w.data(), origin(w), dx));
}

bool backward_weights_native(const Conv& c, const void* x, const void* dy, Tensor dw) {
  const DType t = dw.dtype();
  if (t != kBFloat16) return false;
  if (tenon::cpu::conv_backward_weights_tiles(c, x, dy, dw.data())) return true;
  if (!native_pays(t, c)) return false;
  const Widened out(dw, false);
  if (!tenon::cpu::conv_backward_weights_onednn(t, c, x, dy, static_cast<float*>(out.data())))
    return false;
  out.store();
  return true;
}

int64_t plane(Tensor t) {
  int64_t n = 1;
  for (int d = 2; d < t.ndim(); ++d) n *= t.size(d);
  return n;
}

tn_status convolution(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias, Ints stride,
                      Ints padding, Ints dilation, bool transposed, Ints, int64_t groups) {
  if (out.numel() == 0) return TN_OK;
  if (input.numel() > 0 && weight.numel() > 0) {
    const Conv c = transposed ? geometry(out, weight, input, stride, padding, dilation, groups)
                              : geometry(input, weight, out, stride, padding, dilation, groups);
    const auto native = transposed ? backward_data_native : forward_native;
    const void* b = bias.defined() ? bias.data() : nullptr;
    if (native(input.dtype(), c, input.data(), weight, b, out.data())) return TN_OK;
  }
  const Widened x(input, true), w(weight, true), b(bias, true), y(out, false);
  const DType t = y.dtype();
  if (input.numel() == 0 || weight.numel() == 0) {  // no channels: the bias alone
    std::fill_n(static_cast<char*>(y.data()), out.numel() * item_size(t), char{0});
    if (b.data()) tenon::cpu::add_bias(t, out.size(0), out.size(1), plane(out), b.data(), y.data());
  } else if (transposed) {
    backward_data(t, geometry(out, weight, input, stride, padding, dilation, groups), x.data(),
                  w.data(), w.origin(), y.data());
    if (b.data()) tenon::cpu::add_bias(t, out.size(0), out.size(1), plane(out), b.data(), y.data());
  } else {
    forward(t, geometry(input, weight, out, stride, padding, dilation, groups), x.data(), w.data(),
            w.origin(), b.data(), y.data());
  }
  y.store();
  return TN_OK;
}

tn_status conv_epilogue(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias,
                        OptTensor other, Ints stride, Ints padding, Ints dilation, int64_t groups,
                        Str activation, Floats parameters) {
  if (out.numel() == 0) return TN_OK;
  const tenon::cpu::Epilogue e = tenon::cpu::epilogue_named(activation, parameters);
  const float* b = bias.defined() ? bias.data<const float>() : nullptr;
  const float* o = other.defined() ? other.data<const float>() : nullptr;
  const Conv c = geometry(input, weight, out, stride, padding, dilation, groups);
  const Finish finish{e, b, nullptr, o, out.data<float>(), c.out_plane()};
  if (input.numel() > 0 && weight.numel() > 0) {
    const float *x = input.data<const float>(), *w = weight.data<const float>();
    const Origin from = origin(weight, true);
    if (tenon::cpu::conv_forward_depthwise(c, x, w, b, finish.y, e, o) ||
        forward_finished(c, x, w, from, finish))
      return TN_OK;
    if (!tenon::cpu::conv_forward_winograd(c, x, w, from, finish.y))
      forward(kFloat32, c, x, w, from, nullptr, finish.y);
  } else {
    zero(out);
  }
  if (c.out_plane() == 1) {
    Finish{e, nullptr, b, o, finish.y, c.filters}.all(c.batch, c.filters);
  } else {
    for (int64_t n = 0; n < c.batch; ++n)
      finish.from(n * c.filters * c.out_plane()).all(c.filters, c.out_plane());
  }
  return TN_OK;
}

// The gradient by the input.
void input_gradient(const Conv& c, bool transposed, Tensor dx, Tensor dy, Tensor w) {
  const auto native = transposed ? forward_native : backward_data_native;
  if (native(dy.dtype(), c, dy.data(), w, nullptr, dx.data())) return;
  const Widened wide_dy(dy, true), wide_w(w, true), out(dx, false);
  if (transposed)
    forward(out.dtype(), c, wide_dy.data(), wide_w.data(), wide_w.origin(), nullptr, out.data());
  else
    backward_data(out.dtype(), c, wide_dy.data(), wide_w.data(), wide_w.origin(), out.data());
  out.store();
}

// Of the weights: `x` is on the wider side, `dy` on the other one.
void weight_gradient(const Conv& c, Tensor dw, Tensor x, Tensor dy) {
  if (backward_weights_native(c, x.data(), dy.data(), dw)) return;
  const Widened wide_x(x, true), wide_dy(dy, true), out(dw, false);
  backward_weights(out.dtype(), c, wide_x.data(), wide_dy.data(), out.data());
  out.store();
}

tn_status convolution_backward(Call&, Tensor grad_input, Tensor grad_weight, Tensor grad_bias,
                               Tensor grad_output, Tensor input, Tensor weight, std::optional<Ints>,
                               Ints stride, Ints padding, Ints dilation, bool transposed, Ints,
                               int64_t groups, Bools) {
  const bool empty = grad_output.numel() == 0 || input.numel() == 0 || weight.numel() == 0;
  const Conv c = transposed
                     ? geometry(grad_output, weight, input, stride, padding, dilation, groups)
                     : geometry(input, weight, grad_output, stride, padding, dilation, groups);
  if (empty) {
    if (grad_input.defined()) zero(grad_input);
    if (grad_weight.defined()) zero(grad_weight);
  } else {
    if (grad_input.defined()) input_gradient(c, transposed, grad_input, grad_output, weight);
    if (grad_weight.defined()) {
      weight_gradient(c, grad_weight, transposed ? grad_output : input,
                      transposed ? input : grad_output);
    }
  }
  if (grad_bias.defined()) {
    const Widened dy(grad_output, true), out(grad_bias, false);
    tenon::cpu::bias_gradient(dy.dtype(), grad_output.size(0), grad_output.size(1),
                              plane(grad_output), dy.data(), out.data());
    out.store();
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(convolution, convolution, dtypes("number"));
TN_KERNEL(_conv_epilogue, conv_epilogue, dtypes("float32"));
TN_KERNEL(convolution_backward, convolution_backward, dtypes("number"));
