// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by cuFFT, against the CPU's.
#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

class CudaFft : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    manual_seed(6);
    core::reset_fallback_counts();
  }
  static void expect_near(const Tensor& device, const Tensor& host, const char* what) {
    ASSERT_EQ(device.sizes(), host.sizes()) << what;
    const double largest = host.abs().max().item().to<double>();
    const double off = (device.cpu() - host).abs().max().item().to<double>();
    const double tolerance = toRealValueType(host.scalar_type()) == kFloat ? 1e-5 : 1e-13;
    EXPECT_LE(off, tolerance * largest * 10) << what << " of " << toString(host.scalar_type());
  }
  // No transform was composed or went through the host.
  static void expect_native() {
    for (const core::FallbackCount& c : core::fallback_counts())
      EXPECT_NE(c.op.substr(0, 5), "_fft_") << c.op << ": " << c.reason;
  }
};

constexpr ScalarType kReals[] = {kFloat, kDouble};

TEST_F(CudaFft, ComplexSignalsOfOneToThreeDimensionsInEveryNormalization) {
  for (const ScalarType d : {kComplexFloat, kComplexDouble}) {
    const Tensor x = randn({2, 3, 4, 5}, d), there = x.to(kCUDA);
    for (const char* norm : {"backward", "ortho", "forward"}) {
      expect_near(fft_fft(there, {}, -1, norm), fft_fft(x, {}, -1, norm), "fft");
      expect_near(fft_ifft(there, {}, -1, norm), fft_ifft(x, {}, -1, norm), "ifft");
      expect_near(fft_fft2(there, {}, {-2, -1}, norm), fft_fft2(x, {}, {-2, -1}, norm), "fft2");
      expect_near(fft_ifftn(there, {}, IntArrayRef({1, 2, 3}), norm),
                  fft_ifftn(x, {}, IntArrayRef({1, 2, 3}), norm), "ifftn");
    }
  }
  expect_native();
}

// cuFFT refuses real signals that begin between complex numbers.
TEST_F(CudaFft, RealSignalsThatBeginAnywhere) {
  for (const ScalarType d : kReals) {
    const Tensor whole = randn({25}, d), there = whole.to(kCUDA);
    const auto odd = [](const Tensor& t) { return t.slice(0, 1).view({4, 6}); };
    expect_near(fft_rfft(odd(there)), fft_rfft(odd(whole)), "rfft");
    expect_near(fft_rfft2(odd(there)), fft_rfft2(odd(whole)), "rfft2");
    const Tensor half = fft_rfft(odd(whole));
    Tensor out = zeros({25}, TensorOptions(d).device(kCUDA)), into = odd(out);
    fft_irfft_out(into, half.to(kCUDA), 6);
    expect_near(odd(out), odd(whole), "irfft");
    EXPECT_EQ(out[0].item<double>(), 0);
  }
}

TEST_F(CudaFft, RealSignalsAndTheirHalves) {
  for (const ScalarType d : kReals) {
    for (const int64_t n : {1, 6, 7}) {
      const Tensor x = randn({2, 4, n}, d), there = x.to(kCUDA);
      expect_near(fft_rfft(there), fft_rfft(x), "rfft");
      expect_near(fft_rfft2(there, {}, {-2, -1}, "ortho"), fft_rfft2(x, {}, {-2, -1}, "ortho"),
                  "rfft2");
      const Tensor half = fft_rfft2(x);
      const Tensor half_there = half.to(kCUDA);
      expect_near(fft_irfft2(half_there, IntArrayRef({4, n})),
                  fft_irfft2(half, IntArrayRef({4, n})), "irfft2");
      EXPECT_TRUE(equal(half_there.cpu(), half));  // cuFFT overwrites a copy
      expect_near(fft_irfft(half_there, n), fft_irfft(half, n), "irfft");
    }
  }
  expect_native();
}

// Dimensions that are not the last ones, and both halves of a real signal, are composed.
TEST_F(CudaFft, OtherDimensionsAreComposed) {
  const Tensor x = randn({3, 4, 2}, kComplexFloat), there = x.to(kCUDA);
  expect_near(fft_fft(there, {}, 0), fft_fft(x, {}, 0), "fft over 0");
  expect_near(fft_fftn(there, {}, IntArrayRef({0, 2})), fft_fftn(x, {}, IntArrayRef({0, 2})),
              "fftn over 0 and 2");
  const Tensor real = randn({3, 4});
  expect_near(fft_fft(real.to(kCUDA)), fft_fft(real), "fft of real numbers");
}

TEST_F(CudaFft, APlanServesItsShapeOnEveryStreamAndIsKept) {
  const Tensor x = randn({8, 16}, kComplexFloat), there = x.to(kCUDA);
  const Tensor first = fft_fft(there);
  const int64_t made = tenon_fake_calls("cufft");
  const Tensor again = fft_fft(there);
  EXPECT_LE(tenon_fake_calls("cufft") - made, 3);  // stream, work area, run
  EXPECT_TRUE(equal(first.cpu(), again.cpu()));
}

}  // namespace
}  // namespace tenon::test
