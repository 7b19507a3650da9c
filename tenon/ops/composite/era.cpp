// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of PyTorch 0.4 that ATen has under other names, or as functions of nn.
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/reduction.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

// The elements of a window of `dims` dimensions.
int64_t window_elements(const char* op, IntArrayRef kernel, std::size_t dims) {
  core::Size elements(1);
  for (std::size_t d = 0; d < dims; ++d) elements *= kernel[kernel.size() == 1 ? 0 : d];
  return elements.get(op, "kernel_size");
}

// (sum of x^p over a window)^(1/p), from the mean over the window.
Tensor p_norm(const Tensor& mean, double p, int64_t elements) {
  return (mean.sign() * mean.abs().relu()).mul(elements).pow(1.0 / p);
}

// The last dimensions of `rank` that a transform of 0.4 goes over; `parts` are behind them.
std::vector<int64_t> signal_dims(const char* op, const Tensor& self, int64_t signal_ndim,
                                 bool parts) {
  TENON_CHECK(signal_ndim >= 1 && signal_ndim <= 3, ValueError, op,
              ": signal_ndim must be 1, 2 or 3, got ", signal_ndim);
  TENON_CHECK(self.dim() >= signal_ndim + parts, ValueError, op, ": expected at least ",
              signal_ndim + parts, " dimensions, got ", self.sizes());
  TENON_CHECK(!parts || self.size(-1) == 2, ValueError, op,
              ": the last dimension holds real and imaginary parts, so its size must be 2, got ",
              self.sizes());
  std::vector<int64_t> dims;
  for (int64_t d = -signal_ndim; d < 0; ++d) dims.push_back(d);
  return dims;
}

// Without normalization the forward transform has no factor and the inverse one 1/n.
std::string_view scaling(bool normalized) { return normalized ? "ortho" : "backward"; }

Tensor as_complex(const Tensor& parts) {
  const Tensor pairs = parts.contiguous();
  return view_as_complex(pairs.storage_offset() % 2 ? pairs.clone() : pairs);
}

}  // namespace

Tensor lp_pool1d(const Tensor& self, double p, IntArrayRef kernel, IntArrayRef stride, bool ceil) {
  const int64_t elements = window_elements("lp_pool1d", kernel, 1);
  return p_norm(tenon::avg_pool1d(self.pow(p), kernel, stride, {0}, ceil), p, elements);
}
Tensor lp_pool2d(const Tensor& self, double p, IntArrayRef kernel, IntArrayRef stride, bool ceil) {
  const int64_t elements = window_elements("lp_pool2d", kernel, 2);
  return p_norm(tenon::avg_pool2d(self.pow(p), kernel, stride, {0}, ceil), p, elements);
}
Tensor lp_pool3d(const Tensor& self, double p, IntArrayRef kernel, IntArrayRef stride, bool ceil) {
  const int64_t elements = window_elements("lp_pool3d", kernel, 3);
  return p_norm(tenon::avg_pool3d(self.pow(p), kernel, stride, {0}, ceil), p, elements);
}

Tensor normalize(const Tensor& self, double p, int64_t dim, double eps) {
  return self / self.norm(p, {dim}, true).clamp_min(eps).expand_as(self);
}

Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target,
                                   const std::optional<Tensor>& weight, int64_t reduction) {
  Tensor loss = -(target * tenon::log_sigmoid(self) + (1 - target) * tenon::log_sigmoid(-self));
  if (weight && weight->defined()) loss = loss * *weight;
  return reduced("multilabel_soft_margin_loss", loss.mean(-1), reduction);
}

Tensor fft(const Tensor& self, int64_t signal_ndim, bool normalized) {
  const auto dims = signal_dims("fft", self, signal_ndim, true);
  return view_as_real(tenon::fft_fftn(as_complex(self), std::nullopt, dims, scaling(normalized)));
}
Tensor ifft(const Tensor& self, int64_t signal_ndim, bool normalized) {
  const auto dims = signal_dims("ifft", self, signal_ndim, true);
  return view_as_real(tenon::fft_ifftn(as_complex(self), std::nullopt, dims, scaling(normalized)));
}
Tensor rfft(const Tensor& self, int64_t signal_ndim, bool normalized, bool onesided) {
  const auto dims = signal_dims("rfft", self, signal_ndim, false);
  const auto transform = onesided ? tenon::fft_rfftn : tenon::fft_fftn;
  return view_as_real(transform(self, std::nullopt, dims, scaling(normalized)));
}
Tensor irfft(const Tensor& self, int64_t signal_ndim, bool normalized, bool onesided,
             IntArrayRef signal_sizes) {
  const auto dims = signal_dims("irfft", self, signal_ndim, true);
  TENON_CHECK(signal_sizes.empty() || static_cast<int64_t>(signal_sizes.size()) == signal_ndim,
              ValueError, "irfft: expected ", signal_ndim, " signal_sizes, got ", signal_sizes);
  const OptionalIntArrayRef sizes =
      signal_sizes.empty() ? OptionalIntArrayRef() : OptionalIntArrayRef(signal_sizes);
  if (onesided) return tenon::fft_irfftn(as_complex(self), sizes, dims, scaling(normalized));
  return tenon::real(tenon::fft_ifftn(as_complex(self), sizes, dims, scaling(normalized)));
}

}  // namespace tenon::composite
