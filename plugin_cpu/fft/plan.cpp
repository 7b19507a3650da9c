// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lengths of small prime factors go to kissfft. It takes a time of n p for a prime p: where that is
// large, Bluestein's algorithm makes the transform a convolution, whose length is a power of two.
#include "plugin_cpu/fft/plan.h"

#include <algorithm>
#include <cmath>
#include <kissfft/kissfft.hh>

#include "plugin_cpu/fft/halves.h"
#include "plugin_cpu/fft/kept.h"

namespace tenon::cpu::fft {

namespace {

constexpr int64_t kLargestFactor = 50;

int64_t largest_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

class Direct : public Plan {
 public:
  Direct(int64_t n, bool forward) : fft_(static_cast<std::size_t>(n), !forward) {}
  void run(const Number* in, Number* out) override { fft_.transform(in, out); }

 private:
  kissfft<double> fft_;
};

// With c[k] = exp(-pi i k^2 / n), jk = (j^2 + k^2 - (k - j)^2) / 2 makes the transform
// c[k] sum_j (x[j] c[j]) conj(c[k - j]).
class Bluestein : public Plan {
 public:
  Bluestein(int64_t n, bool forward)
      : n_(n),
        m_(room_for(n)),
        chirp_(size(n)),
        kernel_(size(m_)),
        a_(size(m_)),
        b_(size(m_)),
        there_(m_, true),
        back_(m_, false) {
    for (int64_t k = 0; k < n; ++k) chirp_[size(k)] = root(square(k, 2 * n), 2 * n, forward);
    const double scale = 1 / static_cast<double>(m_);
    for (int64_t k = 0; k < n; ++k)
      a_[size(k)] = a_[size(k ? m_ - k : 0)] = std::conj(chirp_[size(k)]) * scale;
    there_.run(a_.data(), kernel_.data());
  }
  void run(const Number* in, Number* out) override {
    for (int64_t j = 0; j < n_; ++j) a_[size(j)] = in[j] * chirp_[size(j)];
    std::fill(a_.begin() + n_, a_.end(), Number());
    there_.run(a_.data(), b_.data());
    for (std::size_t k = 0; k < b_.size(); ++k) b_[k] *= kernel_[k];
    back_.run(b_.data(), a_.data());
    for (int64_t k = 0; k < n_; ++k) out[k] = a_[size(k)] * chirp_[size(k)];
  }

 private:
  static std::size_t size(int64_t n) { return static_cast<std::size_t>(n); }
  static int64_t room_for(int64_t n) {
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    return m;
  }
  static int64_t square(int64_t k, int64_t modulus) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(k) *
                                static_cast<unsigned __int128>(k) %
                                static_cast<unsigned __int128>(modulus));
  }

  int64_t n_, m_;
  std::vector<Number> chirp_, kernel_, a_, b_;
  Direct there_, back_;
};

}  // namespace

std::shared_ptr<Plan> plan(int64_t n, bool forward) {
  const Kind kind = forward ? Kind::kForward : Kind::kBackward;
  return Kept::get<Plan>(n, kind, [&]() -> std::shared_ptr<Plan> {
    if (largest_factor(n) > kLargestFactor) return std::make_shared<Bluestein>(n, forward);
    return std::make_shared<Direct>(n, forward);
  });
}

std::shared_ptr<RealPlan> real_plan(int64_t n, bool forward) {
  const Kind kind = forward ? Kind::kRealForward : Kind::kRealBackward;
  return Kept::get<RealPlan>(n, kind, [&] { return std::make_shared<RealPlan>(n, forward); });
}

RealPlan::RealPlan(int64_t n, bool forward) : n_(n), complex_(plan(n % 2 ? n : n / 2, forward)) {}

void RealPlan::forward(const double* in, Number* out) {
  if (n_ % 2) {
    Number* wide = out + n_;
    std::copy(in, in + n_, wide);
    return complex_->run(wide, out);
  }
  complex_->run(reinterpret_cast<const Number*>(in), out);
  auto* parts = reinterpret_cast<double*>(out);
  bins_of_half(parts, parts, n_ / 2, 0, n_ / 4 + 1, 1);
}

void RealPlan::backward(Number* half, Number* out) {
  if (n_ % 2) {
    half[0] = half[0].real();
    for (int64_t k = 1; 2 * k < n_; ++k) half[n_ - k] = std::conj(half[k]);
    complex_->run(half, out);
    double* reals = reinterpret_cast<double*>(out);
    for (int64_t j = 0; j < n_; ++j) reals[j] = out[j].real();
    return;
  }
  auto* parts = reinterpret_cast<double*>(half);
  half_of_bins(parts, parts, n_ / 2, 0, n_ / 4 + 1);
  complex_->run(half, out);
}

}  // namespace tenon::cpu::fft
