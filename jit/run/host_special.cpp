// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The angle of real numbers, and windows for signals.
#include <cmath>

#include "jit/run/unboxed.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

constexpr double kPi = 3.14159265358979323846;

Tensor floating(const Tensor& x) { return x.is_floating_point() ? x : x.to(kFloat); }

// Of real numbers: 0 or pi, NaN of NaN.
Tensor angle(const Tensor& x) {
  const Tensor y = floating(x);
  return tenon::where(y.isnan(), y, y.lt(0).to(y.scalar_type()) * kPi);
}

TensorOptions placed(std::optional<ScalarType> dtype, std::optional<Device> device) {
  TensorOptions options;
  if (dtype) options = options.dtype(*dtype);
  if (device) options = options.device(*device);
  return options;
}

// Computed in double: a window is made once. f(i, n) gives element i of n, the last of them left
// out of a periodic window.
template <class F>
Tensor window(const char* op, int64_t length, bool periodic, const TensorOptions& options,
              const F& f) {
  TENON_CHECK(length >= 0, ValueError, op, ": window_length must not be negative, got ", length);
  if (length == 0) return tenon::empty({0}, options);
  if (length == 1) return tenon::ones({1}, options);
  const int64_t last = periodic ? length : length - 1;
  const Tensor at = tenon::arange(length, TensorOptions(kDouble)) / last;  // 0 to 1
  return f(at).to(tenon::empty({0}, options));
}
Tensor blackman_periodic(int64_t length, bool periodic, std::optional<ScalarType> dtype,
                         std::optional<int64_t>, std::optional<Device> device,
                         std::optional<bool>) {
  return window("blackman_window", length, periodic, placed(dtype, device), [](const Tensor& x) {
    return ((x * (4 * kPi)).cos() * .08 - (x * (2 * kPi)).cos() * .5 + .42).abs();
  });
}
Tensor blackman(int64_t length, std::optional<ScalarType> dtype, std::optional<int64_t> layout,
                std::optional<Device> device, std::optional<bool> pin) {
  return blackman_periodic(length, true, dtype, layout, device, pin);
}
Tensor kaiser_beta(int64_t length, bool periodic, double beta, std::optional<ScalarType> dtype,
                   std::optional<int64_t>, std::optional<Device> device, std::optional<bool>) {
  return window("kaiser_window", length, periodic, placed(dtype, device), [&](const Tensor& x) {
    const Tensor top = tenon::scalar_tensor(beta, TensorOptions(kDouble)).i0();
    return ((1 - (x * 2 - 1).square()).clamp_min(0).sqrt() * beta).i0() / top;
  });
}
Tensor kaiser_periodic(int64_t length, bool periodic, std::optional<ScalarType> dtype,
                       std::optional<int64_t> layout, std::optional<Device> device,
                       std::optional<bool> pin) {
  return kaiser_beta(length, periodic, 12., dtype, layout, device, pin);
}
Tensor kaiser(int64_t length, std::optional<ScalarType> dtype, std::optional<int64_t> layout,
              std::optional<Device> device, std::optional<bool> pin) {
  return kaiser_periodic(length, true, dtype, layout, device, pin);
}
Tensor hamming_alpha_beta(int64_t length, bool periodic, double alpha, double beta,
                          std::optional<ScalarType> dtype, std::optional<int64_t>,
                          std::optional<Device> device, std::optional<bool>) {
  return window("hamming_window", length, periodic, placed(dtype, device),
                [&](const Tensor& x) { return alpha - (x * (2 * kPi)).cos() * beta; });
}
Tensor hamming_alpha(int64_t length, bool periodic, double alpha, std::optional<ScalarType> dtype,
                     std::optional<int64_t> layout, std::optional<Device> device,
                     std::optional<bool> pin) {
  return hamming_alpha_beta(length, periodic, alpha, .46, dtype, layout, device, pin);
}

#define PLACED                                                                                   \
  "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) " \
  "-> Tensor"
const HostOperator list[] = {
    {"aten::angle(Tensor self) -> Tensor", unboxed<angle>},
    {"aten::blackman_window(int window_length, " PLACED, unboxed<blackman>},
    {"aten::blackman_window.periodic(int window_length, bool periodic, " PLACED,
     unboxed<blackman_periodic>},
    {"aten::kaiser_window(int window_length, " PLACED, unboxed<kaiser>},
    {"aten::kaiser_window.periodic(int window_length, bool periodic, " PLACED,
     unboxed<kaiser_periodic>},
    {"aten::kaiser_window.beta(int window_length, bool periodic, float beta, " PLACED,
     unboxed<kaiser_beta>},
    {"aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, " PLACED,
     unboxed<hamming_alpha>},
    {"aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
     "float beta, " PLACED,
     unboxed<hamming_alpha_beta>},
};
#undef PLACED
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
