// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Short-time Fourier transforms and their inverse.
#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/factory.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::composite {
namespace {

using OptInt = std::optional<int64_t>;
using OptBool = std::optional<bool>;
using OptTensor = std::optional<Tensor>;

constexpr int64_t kByRoot = 1, kByCount = 2;

// The windows' lengths and distance.
struct Windows {
  int64_t n_fft, hop, length;
  Tensor window;  // undefined: ones

  Windows(int64_t n, OptInt hop_length, OptInt win_length, const OptTensor& w)
      : n_fft(n), hop(hop_length.value_or(n / 4)), length(win_length.value_or(n)) {
    if (w && w->defined()) window = *w;
  }
  bool is_complex() const { return window.defined() && window.is_complex(); }
  // The window in the middle of n_fft elements; undefined where all of them are 1.
  Tensor centered(const Tensor& like) const {
    if (length == n_fft) return window;
    const int64_t left = (n_fft - length) / 2;
    const Tensor w =
        window.defined() ? window : tenon::ones({length}, plain(like.options()).dtype(real(like)));
    return tenon::constant_pad_nd(w, {left, n_fft - length - left}, 0);
  }
  static ScalarType real(const Tensor& t) { return toRealValueType(t.scalar_type()); }
};

void check_signal(const Tensor& self) {
  TENON_CHECK(isFloatingType(self.scalar_type()) || self.is_complex(), NotImplementedError,
              "stft: expected a tensor of floating point or complex values, got ",
              toString(self.scalar_type()));
  TENON_CHECK(self.dim() == 1 || self.dim() == 2, ValueError,
              "stft: expected a 1D or 2D tensor, got one of shape ", self.sizes());
}
void check_windows(const Windows& w, int64_t signal) {
  TENON_CHECK(w.n_fft > 0 && w.n_fft <= signal, ValueError, "stft: expected 0 < n_fft < ", signal,
              ", but got n_fft=", w.n_fft);
  TENON_CHECK(w.hop > 0, ValueError, "stft: expected hop_length > 0, but got hop_length=", w.hop);
  TENON_CHECK(w.length > 0 && w.length <= w.n_fft, ValueError,
              "stft: expected 0 < win_length <= n_fft, but got win_length=", w.length);
  if (w.window.defined()) {
    TENON_CHECK(w.window.dim() == 1 && w.window.size(0) == w.length, ValueError,
                "stft: expected a 1D window tensor of size equal to win_length=", w.length,
                ", but got window with size ", w.window.sizes());
  }
}

// Whether the result stays complex; a real signal's caller has to say.
bool result_is_complex(OptBool given, const Tensor& self, const Windows& w) {
  if (given.value_or(self.is_complex() || w.is_complex())) return true;
  TENON_CHECK(given.has_value(), ValueError,
              "stft requires the return_complex parameter be given for real inputs, and will "
              "further require that return_complex=True in a future PyTorch release.");
  warn_once("stft-real", "deprecated",
            "stft with return_complex=False is deprecated: view_as_real of the complex result "
            "gives the same");
  return false;
}

}  // namespace

Tensor stft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length,
            const OptTensor& window, bool normalized, OptBool onesided, OptBool return_complex,
            OptBool align_to_window) {
  const Windows w(n_fft, hop_length, win_length, window);
  const bool complex_result = result_is_complex(return_complex, self, w);
  check_signal(self);
  Tensor x = self.dim() == 1 ? self.unsqueeze(0) : self;
  check_windows(w, x.size(1));
  if (align_to_window.value_or(false)) {  // the first window begins with the signal
    const int64_t left = (n_fft - w.length) / 2;
    x = tenon::constant_pad_nd(x, {left, n_fft - w.length - left}, 0);
  }
  Tensor frames = x.unfold(1, n_fft, w.hop);
  const Tensor factors = w.centered(x);
  if (factors.defined()) frames = frames * factors;
  const bool complex_input = frames.is_complex(), half = onesided.value_or(!complex_input);
  TENON_CHECK(!complex_input || !half, ValueError,
              "stft: Cannot have onesided output if window or input is complex");
  const int64_t last_dim = 2;
  const IntArrayRef last(last_dim);
  const int64_t by = normalized ? kByRoot : 0;
  Tensor out = (complex_input ? tenon::_fft_c2c(frames, last, by, true)
                              : tenon::_fft_r2c(frames, last, by, half))
                   .transpose(1, 2);
  if (self.dim() == 1) out = out.squeeze(0);
  return complex_result ? out : tenon::view_as_real(out);
}

Tensor stft_center(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length,
                   const OptTensor& window, bool center, std::string_view pad_mode, bool normalized,
                   OptBool onesided, OptBool return_complex, OptBool align_to_window) {
  TENON_CHECK(!center || !align_to_window, ValueError,
              "stft align_to_window should only be set when center = false.");
  Tensor x = self;
  if (center) {  // padding by reflection wants a dimension for channels
    check_signal(self);
    const bool one = self.dim() == 1;
    x = tenon::pad(one ? self.unsqueeze(0).unsqueeze(0) : self.unsqueeze(0), {n_fft / 2, n_fft / 2},
                   pad_mode);
    x = x.squeeze(0);
    if (one) x = x.squeeze(0);
  }
  return tenon::stft(x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
                     align_to_window);
}

namespace {

// Sums of windows at their places in the signal.
Tensor overlapped(const Tensor& windows, int64_t signal, const Windows& w) {
  return tenon::unfold_backward(windows, {windows.size(0), signal}, 1, w.n_fft, w.hop);
}

void check_spectrum(const Tensor& self, const Windows& w, bool half) {
  const int64_t bins = self.size(-2), expected = half ? w.n_fft / 2 + 1 : w.n_fft;
  TENON_CHECK(bins == expected, ValueError,
              "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
              "match ",
              half ? "n_fft / 2 + 1 when onesided=True" : "n_fft when onesided=False", ", but got ",
              bins);
  TENON_CHECK(w.hop > 0 && w.hop <= w.length, ValueError,
              "istft: expected 0 < hop_length <= win_length, got ", w.hop, " and ", w.length);
  TENON_CHECK(w.length > 0 && w.length <= w.n_fft, ValueError,
              "istft: expected 0 < win_length <= n_fft, got ", w.length, " and ", w.n_fft);
  TENON_CHECK(!w.window.defined() || (w.window.dim() == 1 && w.window.size(0) == w.length),
              ValueError,
              "istft: Invalid window shape. window has to be 1D and length of `win_length`");
}

}  // namespace

Tensor istft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length,
             const OptTensor& window, bool center, bool normalized, OptBool onesided, OptInt length,
             bool return_complex) {
  const Windows w(n_fft, hop_length, win_length, window);
  TENON_CHECK(self.is_complex(), TypeError,
              "istft requires a complex-valued input tensor matching the output from stft with "
              "return_complex=True.");
  const int64_t frames = self.size(-1), bins = self.size(-2);
  TENON_CHECK(self.numel() > 0, ValueError, "istft: input tensor cannot be empty.");
  TENON_CHECK(self.dim() == 2 || self.dim() == 3, ValueError,
              "istft: expected a tensor with 3 or 4 dimensions, but got ", self.dim() + 1);
  const bool half = onesided.value_or(bins != n_fft);
  check_spectrum(self, w, half);
  TENON_CHECK(!return_complex || !half, ValueError,
              "istft: Cannot have onesided output if window or input is complex");
  TENON_CHECK(return_complex || !w.is_complex(), ValueError,
              "istft: Complex windows are incompatible with return_complex=False");

  Tensor x = (self.dim() == 2 ? self.unsqueeze(0) : self).transpose(1, 2);
  const int64_t last_dim = 2;
  const IntArrayRef last(last_dim);
  const int64_t by = normalized ? kByRoot : kByCount;
  if (return_complex)
    x = tenon::_fft_c2c(x, last, by, false);
  else
    x = tenon::_fft_c2r(half ? x : x.narrow(2, 0, n_fft / 2 + 1), last, by, n_fft);
  Tensor factors = w.centered(x);
  if (!factors.defined())
    factors = tenon::ones({n_fft}, plain(x.options()).dtype(Windows::real(x)));

  const int64_t whole =
      (core::Size(frames - 1) * w.hop + n_fft).get("istft", "the signal's length");
  Tensor y = overlapped(x * factors, whole, w);
  Tensor sums = overlapped(tenon::pow(factors, 2).expand({1, frames, n_fft}), whole, w);
  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t end = length   ? (core::Size(start) + *length).get("istft", "length")
                      : center ? whole - n_fft / 2
                               : whole;
  y = y.slice(1, start, end, 1);
  sums = sums.slice(1, start, end, 1);
  TENON_CHECK(sums.numel() > 0, ValueError,
              "istft: no element of the signal is left: it would run from ", start, " to ", end);
  const double lowest = tenon::abs(sums).min().item().toDouble();
  TENON_CHECK(lowest >= 1e-11, ValueError, "istft: window overlap add min: ", lowest);
  y = y / sums;
  if (end > whole) {
    warn_once("istft-length", "user",
              "The length of signal is shorter than the length parameter. Result is being padded "
              "with zeros in the tail. Please check your center and hop_length settings.");
    y = tenon::constant_pad_nd(y, {0, end - whole}, 0);
  }
  return self.dim() == 2 ? y.squeeze(0) : y;
}

}  // namespace tenon::composite
