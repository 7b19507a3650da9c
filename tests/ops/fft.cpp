// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms against sums in long double, their inverses, gradients and arguments. What
// torch computes is in the stored cases.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tenon/gradcheck.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using Wide = std::complex<long double>;

Tensor signal(IntArrayRef sizes, ScalarType dtype) {
  manual_seed(20);
  return complex(randn(sizes, kDouble), randn(sizes, kDouble)).to(dtype);
}

// The largest difference from the sums at `bins` places, relative to what a sum is large.
double error_of(const Tensor& given, bool forward, int64_t bins) {
  const Tensor x = given.to(kComplexDouble), y = fft_fft(given).to(kComplexDouble);
  const Tensor result = forward ? y : fft_ifft(given, {}, -1, "forward").to(kComplexDouble);
  const int64_t n = x.numel();
  const auto* in = reinterpret_cast<const std::complex<double>*>(x.data_ptr());
  const auto* out = reinterpret_cast<const std::complex<double>*>(result.data_ptr());
  const long double turn = (forward ? -2 : 2) * std::acos(-1.0L) / static_cast<long double>(n);
  double worst = 0;
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t k = bins == n ? b : (b * 7919 + 1) % n;
    Wide sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += Wide(in[j]) * std::polar(1.0L, turn * static_cast<long double>(j * k % n));
    worst = std::max(worst, static_cast<double>(std::abs(Wide(out[k]) - sum)));
  }
  return worst / std::sqrt(static_cast<double>(n));
}

TEST(Fft, EveryLengthAgainstTheSum) {
  for (int64_t n = 1; n <= 130; ++n) {
    EXPECT_LT(error_of(signal({n}, kComplexDouble), true, n), 4e-14) << n;
    EXPECT_LT(error_of(signal({n}, kComplexDouble), false, n), 4e-14) << n;
    EXPECT_LT(error_of(signal({n}, kComplexFloat), true, n), 4e-6) << n;
  }
}
TEST(Fft, LongLengthsAgainstTheSum) {
  for (const int64_t n : {1009, 4096, 16384, 15625, 16381, 32768, 65536, 65537, 53 * 512}) {
    EXPECT_LT(error_of(signal({n}, kComplexDouble), true, 3), 1e-13) << n;
    EXPECT_LT(error_of(signal({n}, kComplexFloat), false, 3), 1e-5) << n;
  }
}

bool near(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && allclose(a, b, 1e-9, 1e-9);
}

TEST(Fft, RealTransformsAreThoseOfComplexNumbers) {
  for (int64_t n = 1; n <= 130; ++n) {
    const Tensor x = real(signal({3, n}, kComplexDouble)).contiguous();
    const Tensor whole = fft_fft(x.to(kComplexDouble));
    EXPECT_TRUE(near(fft_fft(x), whole)) << n;
    EXPECT_TRUE(near(fft_rfft(x), whole.narrow(1, 0, n / 2 + 1))) << n;
    EXPECT_TRUE(near(fft_irfft(fft_rfft(x), n), x)) << n;
    EXPECT_TRUE(near(fft_hfft(fft_ihfft(x), n), x)) << n;
  }
}
// Powers of two are computed by complex transforms of half the length, several lines at a time or
// one long line in parts.
TEST(Fft, LongRealTransformsAreThoseOfComplexNumbers) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {16, 16}, {37, 64}, {16, 1024}, {2, 16384}, {1, 1 << 18}};
  for (const auto& [lines, n] : shapes) {
    for (const ScalarType dtype : {kDouble, kFloat}) {
      const double tolerance = dtype == kDouble ? 1e-13 : 1e-5;
      const Tensor x = real(signal({lines, n}, kComplexDouble)).to(dtype);
      const Tensor whole = fft_fft(x.to(kComplexDouble), {}, -1, "ortho");
      const auto same = [&](const Tensor& a, const Tensor& b) {
        return a.sizes() == b.sizes() && (a - b).abs().max().item<double>() < tolerance;
      };
      EXPECT_TRUE(same(fft_fft(x, {}, -1, "ortho"), whole)) << n;
      EXPECT_TRUE(same(fft_rfft(x, {}, -1, "ortho"), whole.narrow(1, 0, n / 2 + 1))) << n;
      EXPECT_TRUE(same(fft_irfft(fft_rfft(x), n), x)) << n;
      // Imaginary parts of the first and the middle bin do not count.
      Tensor bins = fft_rfft(x).clone();
      view_as_real(bins).select(2, 1).select(1, 0).fill_(3);
      view_as_real(bins).select(2, 1).select(1, n / 2).fill_(3);
      EXPECT_TRUE(same(fft_irfft(bins, n), x)) << n;
      // More bins than the transform takes.
      EXPECT_TRUE(same(fft_irfft(cat({fft_rfft(x), bins}, 1), n), x)) << n;
    }
  }
}

TEST(Fft, EveryDimensionAndStrides) {
  const Tensor x = signal({6, 20, 9}, kComplexDouble);
  for (const int64_t d : {0, 1, 2}) {
    const Tensor moved = fft_fft(x.transpose(d, 2).contiguous()).transpose(d, 2);
    EXPECT_TRUE(near(fft_fft(x, {}, d), moved)) << d;
    EXPECT_TRUE(near(fft_fft(x.transpose(0, 1), {}, d == 2 ? 2 : 1 - d), moved.transpose(0, 1)));
  }
  EXPECT_TRUE(near(fft_ifftn(fft_fftn(x)), x));
  EXPECT_TRUE(near(fft_fftn(x, {}, IntArrayRef({2, 0})), fft_fft(fft_fft(x, {}, 0), {}, 2)));
  EXPECT_TRUE(near(fft_irfftn(fft_rfftn(real(x)), IntArrayRef({6, 20, 9})), real(x)));
  EXPECT_TRUE(near(fft_hfft2(fft_ihfft2(real(x)), IntArrayRef({20, 9})), real(x)));
}
TEST(Fft, SameBitsOnThreads) {
  const Tensor x = signal({70, 300}, kComplexFloat), one = signal({1 << 16}, kComplexFloat);
  test::expect_same_bits_on(2, [&] {
    return std::vector<Tensor>{fft_fft(x), fft_fft(x, {}, 0), fft_rfft(real(x)), fft_fft(one)};
  });
}

// One call of the operators as real functions of real numbers.
using Function = std::function<Tensor(const Tensor&)>;
void check_gradients(const Function& f, const Tensor& x) {
  const auto real_result = [&](const std::vector<Tensor>& t) {
    const Tensor y = f(t[0]);
    return std::vector<Tensor>{y.is_complex() ? view_as_real(y) : y};
  };
  const std::vector<Tensor> in = {x.clone().requires_grad_(true)};
  EXPECT_TRUE(autograd::gradcheck(real_result, in));
  EXPECT_TRUE(autograd::gradgradcheck(real_result, in));
}
TEST(Fft, FirstAndSecondGradients) {
  const Tensor x = randn({3, 5}, kDouble), pairs = randn({3, 4, 2}, kDouble);
  for (const char* norm : {"backward", "ortho", "forward"}) {
    check_gradients(
        [&](const Tensor& t) {
          return fft_fft2(view_as_complex(t), {}, {-2, -1}, norm);
        },
        pairs);
    check_gradients([&](const Tensor& t) { return fft_rfft(t, 6, -1, norm); }, x);
    check_gradients([&](const Tensor& t) { return fft_rfftn(t, {}, {}, norm); }, x);
    for (const int64_t n : {5, 6, 7})
      check_gradients([&](const Tensor& t) { return fft_irfft(view_as_complex(t), n, -1, norm); },
                      pairs);
    check_gradients(
        [&](const Tensor& t) {
          return fft_hfft2(view_as_complex(t), {}, {0, 1}, norm);
        },
        pairs);
    check_gradients([&](const Tensor& t) { return fft_ihfft2(t, {}, {0, 1}, norm); }, x);
  }
  const Tensor window = hann_window(8, kDouble);
  check_gradients(
      [&](const Tensor& t) { return stft(t, 8, 4, 8, window, true, "reflect", false, {}, true); },
      randn({20}, kDouble));
  check_gradients([&](const Tensor& t) { return istft(view_as_complex(t), 8, 2, 8, window); },
                  randn({5, 6, 2}, kDouble));
}

TEST(Fft, ShortTimeTransformsInvert) {
  const Tensor x = randn({2, 200}, kDouble), window = hamming_window(16, kDouble);
  const Tensor y = stft(x, 16, 4, 16, window, true, "reflect", false, {}, true);
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 9, 51}));
  EXPECT_TRUE(near(istft(y, 16, 4, 16, window), x));
  const Tensor z = signal({64}, kComplexDouble);
  EXPECT_TRUE(near(istft(stft(z, 8, 2, 8, window.narrow(0, 4, 8), true, "reflect", false, {}, {}),
                         8, 2, 8, window.narrow(0, 4, 8), true, false, false, {}, true),
                   z));
}

TEST(Fft, WhatIsRefused) {
  const Tensor x = ones({2, 3}), z = signal({4}, kComplexFloat);
  EXPECT_THROW(fft_fft(ones({})), IndexError);
  EXPECT_THROW(fft_fft(x, {}, 2), IndexError);
  EXPECT_TEXT(fft_fft(x, 0), "Invalid number of data points (0) specified");
  EXPECT_TEXT(fft_fft(ones({2, 0})), "Invalid number of data points (0) specified");
  EXPECT_TEXT(fft_fft(x, {}, -1, "orthogonal"), "Invalid normalization mode: \"orthogonal\"");
  EXPECT_TEXT(fft_rfft(z), "expects a real input tensor");
  EXPECT_TEXT(fft_fft(x.to(kHalf)), "Unsupported dtype");
  EXPECT_TEXT(fft_fftn(x, {}, IntArrayRef({1, -1})), "FFT dims must be unique");
  EXPECT_TEXT(fft_fftn(x, IntArrayRef({1}), IntArrayRef({0, 1})), "must have the same length");
  EXPECT_TEXT(fft_fftn(x, IntArrayRef({1, 2, 3})), "only has 2 dimensions");
  EXPECT_TEXT(fft_rfftn(x, {}, IntArrayRef()), "must transform at least one axis");
  EXPECT_THROW(_fft_c2r(z, {0}, 0, 9), ValueError);
  EXPECT_THROW(_fft_c2c(x, {0}, 0, true), TypeError);
  EXPECT_TEXT(stft(ones({20}), 8), "return_complex parameter be given");
  EXPECT_TEXT(stft(ones({20}), 8, 4, 9, {}, true, "reflect", false, {}, true),
              "0 < win_length <= n_fft");
  EXPECT_TEXT(istft(signal({5, 6}, kComplexFloat), 8, 8, 2, ones({2})),
              "0 < hop_length <= win_length");
}
TEST(Fft, EmptyBatchesAndOut) {
  EXPECT_EQ(fft_rfft(ones({0, 6})).sizes(), IntArrayRef({0, 4}));
  EXPECT_EQ(fft_irfft(ones({0, 4})).sizes(), IntArrayRef({0, 6}));
  Tensor out = empty({0}, kComplexFloat);
  fft_fft_out(out, ones({4}));
  EXPECT_EQ(out.sizes(), IntArrayRef({4}));
  EXPECT_TRUE(near(fft_fftfreq(5, 2.0, kDouble), tensor({0.0, 0.1, 0.2, -0.2, -0.1}, kDouble)));
  EXPECT_TRUE(near(fft_fftshift(arange(5, kDouble)), tensor({3.0, 4.0, 0.0, 1.0, 2.0}, kDouble)));
}

}  // namespace
}  // namespace tenon
