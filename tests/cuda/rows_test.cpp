// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax and layer_norm of rows that a warp holds, that a block holds, and longer ones; aligned to
// sixteen bytes, or not, or each tensor differently.
#include <limits>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaRows = CudaAlone;

constexpr int64_t kLengths[] = {1,    15,   31,   32,   33,   128,  250,   256,   1000,  1001,
                                1024, 1025, 2048, 4096, 8192, 8200, 16384, 16385, 40000, 40001};

struct Rounding {
  ScalarType dtype;
  double of_result, of_exponent;
};
constexpr Rounding kRoundings[] = {
    {kFloat, 2e-6, 2e-6}, {kDouble, 1e-13, 1e-13}, {kHalf, 1e-3, 1e-3}, {kBFloat16, 8e-3, 8e-3}};

// A device tensor of x that begins `offset` elements into its storage.
Tensor at_offset(const Tensor& x, int64_t offset) {
  const Tensor storage = zeros({x.numel() + offset}, x.scalar_type());
  storage.slice(0, offset).copy_(x.reshape({-1}));
  return storage.to(kCUDA).slice(0, offset).view(x.sizes());
}

void near(const Tensor& got, const Tensor& want, double relative, double absolute, int64_t n) {
  EXPECT_TRUE(allclose(got.cpu().to(kDouble), want, relative, absolute, true))
      << n << " columns of " << got.scalar_type() << ", at most "
      << got.cpu().to(kDouble).sub(want).abs().max() << " apart";
}

Tensor values(int64_t rows, int64_t n, ScalarType dtype) {
  return randn({rows, n}, kDouble).mul(3).to(dtype);
}

// Rows per call: several for the warps of a block, few of long ones.
int64_t rows_of(int64_t n) { return n <= 256 ? 9 : n <= 1100 ? 5 : 2; }

TEST_F(CudaRows, Softmax) {
  manual_seed(21);
  for (const auto& [dtype, rounding, of_exponent] : kRoundings) {
    for (int64_t n : kLengths) {
      const Tensor x = values(rows_of(n), n, dtype), wide = x.to(kDouble);
      for (int64_t offset : {0, 1}) {
        const Tensor there = at_offset(x, offset);
        near(softmax(there, 1), softmax(wide, 1), 2 * rounding, 1e-7, n);
        near(log_softmax(there, 1), log_softmax(wide, 1), rounding, rounding, n);
      }
    }
  }
}

TEST_F(CudaRows, GradientsOfSoftmax) {
  manual_seed(22);
  for (const auto& [dtype, rounding, of_exponent] : kRoundings) {
    for (int64_t n : kLengths) {
      const Tensor x = values(rows_of(n), n, dtype), grad = values(rows_of(n), n, dtype);
      const Tensor y = softmax(x, 1), logs = log_softmax(x, 1);
      const double allowed = 20 * rounding;
      for (int64_t offset : {0, 1}) {
        const Tensor g = at_offset(grad, offset);
        near(_softmax_backward_data(g, at_offset(y, offset), 1, dtype),
             _softmax_backward_data(grad.to(kDouble), y.to(kDouble), 1, kDouble), allowed,
             allowed / 10, n);
        near(_log_softmax_backward_data(g, at_offset(logs, offset), 1, dtype),
             _log_softmax_backward_data(grad.to(kDouble), logs.to(kDouble), 1, kDouble), allowed,
             allowed, n);
      }
    }
  }
}

// All tensors begin at the same place between two multiples of sixteen bytes: in place.
TEST_F(CudaRows, SoftmaxInPlaceAndTwice) {
  manual_seed(23);
  for (const auto& [dtype, rounding, of_exponent] : kRoundings) {
    for (int64_t n : kLengths) {
      const Tensor x = values(3, n, dtype);
      for (int64_t offset : {0, 3}) {
        const Tensor want = softmax(x.to(kDouble), 1), logs = log_softmax(x.to(kDouble), 1);
        Tensor a = at_offset(x, offset), b = at_offset(x, offset), c = at_offset(x, offset);
        _softmax_out(a, a, 1, false);
        _softmax_out(c, c, 1, false);
        _log_softmax_out(b, b, 1, false);
        near(a, want, 2 * rounding, 1e-7, n);
        near(b, logs, rounding, rounding, n);
        EXPECT_TRUE(equal(a.cpu(), c.cpu())) << n;
      }
    }
  }
}

TEST_F(CudaRows, SoftmaxOfInfinitiesAndNaN) {
  constexpr double kInf = std::numeric_limits<double>::infinity(),
                   kNaN = std::numeric_limits<double>::quiet_NaN();
  manual_seed(24);
  for (const auto& [dtype, rounding, of_exponent] : kRoundings) {
    for (int64_t n : {33, 1001, 1024, 4096, 16384, 40000, 40001}) {
      const Tensor x = values(8, n, dtype);
      x.select(0, 0).fill_(-kInf);
      x.select(0, 1).slice(0, 0, n - 1).fill_(-kInf);
      x.select(0, 2).slice(0, 1).fill_(-kInf);
      x.select(0, 3).slice(0, n / 2, n / 2 + 1).fill_(kNaN);
      x.select(0, 4).slice(0, n / 2, n / 2 + 1).fill_(kInf);
      x.select(0, 5).slice(0, n - 1).fill_(kNaN);
      x.select(0, 5).slice(0, 0, n - 1).fill_(-kInf);
      x.select(0, 6).slice(0, n / 3, n / 2).fill_(-kInf);
      const Tensor there = x.to(kCUDA);
      near(softmax(there, 1), softmax(x.to(kDouble), 1), 2 * rounding, 1e-7, n);
      near(log_softmax(there, 1), log_softmax(x.to(kDouble), 1), rounding, rounding, n);
    }
  }
}

TEST_F(CudaRows, LayerNorm) {
  manual_seed(25);
  for (const auto& [dtype, rounding, of_exponent] : kRoundings) {
    for (int64_t n : kLengths) {
      const Tensor x = values(rows_of(n), n, dtype), g = values(rows_of(n), n, dtype);
      const Tensor weight = values(1, n, dtype).view({n}), bias = values(1, n, dtype).view({n});
      const double allowed = 8 * rounding;
      for (int64_t offset : {0, 1}) {
        const auto check = [&](const Tensor& w, const Tensor& b) {
          const auto there = [&](const Tensor& t) {
            return t.defined() ? at_offset(t, offset) : t;
          };
          const auto wide = [](const Tensor& t) { return t.defined() ? t.to(kDouble) : t; };
          const auto [out, mean, rstd] = native_layer_norm(there(x), {n}, there(w), there(b), 1e-5);
          const auto [want, want_mean, want_rstd] =
              native_layer_norm(wide(x), {n}, wide(w), wide(b), 1e-5);
          near(out, want, allowed, allowed, n);
          near(mean, want_mean, rounding, allowed, n);
          near(rstd, want_rstd, allowed, allowed, n);
          const auto gradients = native_layer_norm_backward(
              there(g), there(x), {n}, there(want_mean.to(dtype)), there(want_rstd.to(dtype)),
              there(w), there(b), {true, false, false});
          const auto wanted = native_layer_norm_backward(
              wide(g), wide(x), {n}, want_mean.to(dtype).to(kDouble),
              want_rstd.to(dtype).to(kDouble), wide(w), wide(b), {true, false, false});
          near(std::get<0>(gradients), std::get<0>(wanted), 4 * allowed, 4 * allowed, n);
        };
        check(weight, bias);
        if (n < 2000) check({}, {});
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
