// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of one length, unnormalized, in double precision whatever the
// tensors' dtype: the library computes its roots of unity in the type that it transforms.
#pragma once

#include <cstdint>
#include <memory>

#include "plugin_cpu/fft/roots.h"

namespace tenon::cpu::fft {

// A plan has room for intermediate results: one thread at a time.
class Plan {
 public:
  virtual ~Plan() = default;
  // n numbers each, apart from one another.
  virtual void run(const Number* in, Number* out) = 0;
};

// From n real numbers to the n / 2 + 1 that their transform follows from, or back.
class RealPlan {
 public:
  RealPlan(int64_t n, bool forward);
  // `in` has n real numbers, `out` room for 2 n complex ones.
  void forward(const double* in, Number* out);
  // `half` has n / 2 + 1 numbers in room for n, and is overwritten; `out` room for n complex ones,
  // and n real ones at its begin afterwards.
  void backward(Number* half, Number* out);

 private:
  int64_t n_;
  std::shared_ptr<Plan> complex_;  // of n numbers, of half as many if n is even
};

// The calling thread's own, of which it keeps the last ones.
std::shared_ptr<Plan> plan(int64_t n, bool forward);
std::shared_ptr<RealPlan> real_plan(int64_t n, bool forward);

}  // namespace tenon::cpu::fft
