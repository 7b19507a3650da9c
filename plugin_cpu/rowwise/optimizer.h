// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A step of an optimizer over n elements, for the instruction set at hand. Each value is rounded
// where the ops of the operator's decomposition round it, so that both give the same bits.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// The runs of a step; momentum, means, squares and their maxima are states. Null: not used by the
// step.
enum Run { kParam, kGrad, kState, kSecondState, kThirdState };

struct AdamNumbers {
  double beta1, beta2, eps, weight_decay;  // the decay that is added to the gradient
  double shrink = 1;                       // what the parameter is multiplied by first
  bool maximize;
  double root = 1,
         size = 0;  // of the step's count: divides the root of the squares; times the quotient
};
struct SgdNumbers {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize, first;
};

void adam_step(float* const (&runs)[5], int64_t n, const AdamNumbers& o);
void adam_step(double* const (&runs)[5], int64_t n, const AdamNumbers& o);
void sgd_step(float* const (&runs)[5], int64_t n, const SgdNumbers& o);
void sgd_step(double* const (&runs)[5], int64_t n, const SgdNumbers& o);

}  // namespace tenon::cpu
