// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtorch's functions of namespace fft.
#pragma once

#include <torch/types.h>

#include <optional>
#include <string_view>

namespace torch::fft {

using Norm = std::optional<std::string_view>;

#define TN_FFT(name)                                                              \
  inline Tensor name(const Tensor& self, std::optional<int64_t> n = std::nullopt, \
                     int64_t dim = -1, Norm norm = std::nullopt) {                \
    return torch::fft_##name(self, n, dim, norm);                                 \
  }                                                                               \
  inline Tensor name##2(const Tensor& self, OptionalIntArrayRef s = std::nullopt, \
                        IntArrayRef dim = {-2, -1}, Norm norm = std::nullopt) {   \
    return torch::fft_##name##2(self, s, dim, norm);                              \
  }
TN_FFT(fft)
TN_FFT(ifft)
TN_FFT(rfft)
TN_FFT(irfft)
TN_FFT(hfft)
TN_FFT(ihfft)
#undef TN_FFT

#define TN_FFTN(name)                                                                    \
  inline Tensor name(const Tensor& self, OptionalIntArrayRef s = std::nullopt,           \
                     OptionalIntArrayRef dim = std::nullopt, Norm norm = std::nullopt) { \
    return torch::fft_##name(self, s, dim, norm);                                        \
  }
TN_FFTN(fftn)
TN_FFTN(ifftn)
TN_FFTN(rfftn)
TN_FFTN(irfftn)
#undef TN_FFTN

// These have other defaults than the operators of their names.
inline Tensor hfftn(const Tensor& self, OptionalIntArrayRef s = std::nullopt,
                    IntArrayRef dim = {-2, -1}, Norm norm = std::nullopt) {
  return torch::fft_hfftn(self, s, dim, norm);
}
inline Tensor ihfftn(const Tensor& self, OptionalIntArrayRef s = std::nullopt,
                     IntArrayRef dim = {-2, -1}, Norm norm = std::nullopt) {
  return torch::fft_ihfftn(self, s, dim, norm);
}

inline Tensor fftfreq(int64_t n, double d, const TensorOptions& options = {}) {
  return torch::fft_fftfreq(n, d, options);
}
inline Tensor fftfreq(int64_t n, const TensorOptions& options = {}) {
  return torch::fft_fftfreq(n, 1, options);
}
inline Tensor rfftfreq(int64_t n, double d, const TensorOptions& options = {}) {
  return torch::fft_rfftfreq(n, d, options);
}
inline Tensor rfftfreq(int64_t n, const TensorOptions& options = {}) {
  return torch::fft_rfftfreq(n, 1, options);
}
inline Tensor fftshift(const Tensor& x, OptionalIntArrayRef dim = std::nullopt) {
  return torch::fft_fftshift(x, dim);
}
inline Tensor ifftshift(const Tensor& x, OptionalIntArrayRef dim = std::nullopt) {
  return torch::fft_ifftshift(x, dim);
}

}  // namespace torch::fft
