// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// conv1d to conv3d and their transposed forms, over `convolution`.
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/complex.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Sizes = std::vector<int64_t>;

// The arguments of a convolution other than its tensors.
struct Parameters {
  IntArrayRef stride, padding, dilation;
  bool transposed = false;
  IntArrayRef output_padding;
  int64_t groups = 1;
};

// An input without a batch gets one for the call.
Tensor convolve(const char* name, int64_t nd, const Tensor& input, const Tensor& weight,
                const std::optional<Tensor>& bias, const Parameters& p) {
  TENON_CHECK(weight.dim() == nd + 2, ValueError, name, ": expected ", nd + 2, "-D weight, got ",
              weight.dim(), "-D");
  TENON_CHECK(input.dim() == nd + 1 || input.dim() == nd + 2, ValueError, name, ": expected ",
              nd + 1, "-D or ", nd + 2, "-D input, got ", input.dim(), "-D input of shape ",
              input.sizes());
  if (input.is_complex() || weight.is_complex()) {
    const auto real = [&](const Tensor& x, const Tensor& w) {
      return convolve(name, nd, x, w, std::nullopt, p);
    };
    const Tensor xr = tenon::real(input), wr = tenon::real(weight);
    TENON_CHECK(input.is_complex() && weight.is_complex(), TypeError, name,
                ": input and weight have the dtypes ", toString(input.scalar_type()), " and ",
                toString(weight.scalar_type()), "; expected one dtype");
    const Tensor xi = tenon::imag(input), wi = tenon::imag(weight);
    const Tensor out = joined(real(xr, wr) - real(xi, wi), real(xr, wi) + real(xi, wr));
    if (!bias || !bias->defined()) return out;
    Sizes per_channel(static_cast<std::size_t>(nd + 1), 1);
    per_channel[0] = -1;
    return out + bias->reshape(per_channel);
  }
  const bool batch = input.dim() == nd + 2;
  const Sizes zeros(static_cast<std::size_t>(nd), 0);
  const Tensor out = tenon::convolution(
      batch ? input : input.unsqueeze(0), weight, bias, p.stride, p.padding, p.dilation,
      p.transposed, p.transposed ? p.output_padding : IntArrayRef(zeros), p.groups);
  return batch ? out : out.squeeze(0);
}

int64_t item(IntArrayRef v, int64_t d) {
  return v[v.size() == 1 ? 0 : static_cast<std::size_t>(d)];
}

// "same": output size = input size. An odd total is padded with one more at the end.
Tensor convolve_named(const char* name, int64_t nd, const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias, IntArrayRef stride,
                      std::string_view padding, IntArrayRef dilation, int64_t groups) {
  Sizes pads(static_cast<std::size_t>(nd), 0);
  if (padding == "valid")
    return convolve(name, nd, input, weight, bias, {stride, pads, dilation, false, {}, groups});
  TENON_CHECK(padding == "same", ValueError, name,
              ": padding must be \"valid\", \"same\" or integers, got \"", padding, "\"");
  TENON_CHECK(weight.dim() == nd + 2, ValueError, name, ": expected ", nd + 2, "-D weight, got ",
              weight.dim(), "-D");
  Sizes extra(static_cast<std::size_t>(2 * nd), 0);
  bool uneven = false;
  for (int64_t d = 0; d < nd; ++d) {
    TENON_CHECK(item(stride, d) == 1, ValueError, name,
                ": padding \"same\" needs a stride of 1, got ", stride);
    const int64_t total = (core::Size(item(dilation, d)) * (weight.size(2 + d) - 1))
                              .get(name, "the size of the window");
    TENON_CHECK(total >= 0, ValueError, name, ": dilation must be positive, got ", dilation);
    pads[static_cast<std::size_t>(d)] = total / 2;
    if (total % 2 == 0) continue;
    extra[static_cast<std::size_t>(2 * (nd - 1 - d) + 1)] = 1;  // pairs, last dimension first
    uneven = true;
  }
  const Tensor padded = uneven ? tenon::constant_pad_nd(input, extra) : input;
  return convolve(name, nd, padded, weight, bias, {stride, pads, dilation, false, {}, groups});
}

}  // namespace

#define TENON_CONV(N)                                                                             \
  Tensor conv##N##d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, \
                    IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,                \
                    int64_t groups) {                                                             \
    return convolve("conv" #N "d", N, input, weight, bias,                                        \
                    {stride, padding, dilation, false, {}, groups});                              \
  }
TENON_CONV(1)
TENON_CONV(2)
TENON_CONV(3)
#undef TENON_CONV

#define TENON_CONV_PADDING(N)                                                                 \
  Tensor conv##N##d_padding(const Tensor& input, const Tensor& weight,                        \
                            const std::optional<Tensor>& bias, IntArrayRef stride,            \
                            std::string_view padding, IntArrayRef dilation, int64_t groups) { \
    return convolve_named("conv" #N "d", N, input, weight, bias, stride, padding, dilation,   \
                          groups);                                                            \
  }
TENON_CONV_PADDING(1)
TENON_CONV_PADDING(2)
TENON_CONV_PADDING(3)
#undef TENON_CONV_PADDING

#define TENON_CONV_TRANSPOSE(name, N)                                                              \
  Tensor name(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,        \
              IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding, int64_t groups, \
              IntArrayRef dilation) {                                                              \
    return convolve("conv_transpose" #N "d", N, input, weight, bias,                               \
                    {stride, padding, dilation, true, output_padding, groups});                    \
  }
TENON_CONV_TRANSPOSE(conv_transpose1d, 1)
TENON_CONV_TRANSPOSE(conv_transpose2d_input, 2)
TENON_CONV_TRANSPOSE(conv_transpose3d_input, 3)
#undef TENON_CONV_TRANSPOSE

Tensor conv_tbc(const Tensor& self, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TENON_CHECK(bias.defined(), TypeError,
              "conv_tbc: expected a tensor but argument 'bias' is undefined");
  TENON_CHECK(self.dim() == 3 && weight.dim() == 3, ValueError,
              "conv_tbc: expected 3-D input and weight, got ", self.sizes(), " and ",
              weight.sizes());
  return tenon::conv1d(self.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, {1}, {pad})
      .permute({2, 0, 1});
}

}  // namespace tenon::composite
