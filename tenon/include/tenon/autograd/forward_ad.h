// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Forward-mode differentiation: a dual tensor carries a tangent, and what is computed from it has
// the tangent that the chain rule gives.
//
//   forward_ad::DualLevelGuard level;
//   const Tensor dual = forward_ad::make_dual(x, direction);
//   const auto [y, jacobian_times_direction] = forward_ad::unpack_dual(f(dual));
//
// A dual tensor is recorded, and unpack_dual differentiates the recorded gradient once more, by the
// gradient that it is given: that is linear there, so its derivative is the tangent. Whatever has a
// gradient that can be differentiated therefore has a tangent: views, writes in place, dropout and
// functions of the program's own. Unlike torch's, a dual tensor requires grad, keeps what its
// computation saved, and has no tangent where nothing is recorded: under NoGradGuard and behind
// detach().
#pragma once

#include "tenon/autograd.h"

namespace tenon::autograd::forward_ad {

// A level is this thread's; there is one at a time, and a second one is an Error. The number is for
// exit_dual_level, after which no tensor of the level has a tangent.
TENON_API uint64_t enter_dual_level();
TENON_API void exit_dual_level(uint64_t level);

class DualLevelGuard {
 public:
  DualLevelGuard() : level_(enter_dual_level()) {}
  ~DualLevelGuard() { exit_dual_level(level_); }
  DualLevelGuard(const DualLevelGuard&) = delete;
  DualLevelGuard& operator=(const DualLevelGuard&) = delete;

 private:
  uint64_t level_;
};

// `tensor` (floating point or complex) with a tangent of its shape, dtype and device; shares its
// memory. Error outside of a level, where nothing is recorded, or if it has a tangent already.
TENON_API Tensor make_dual(const Tensor& tensor, const Tensor& tangent);

// The tangent is undefined if the tensor depends on no dual one, or no level is entered. Both are
// recorded where the tensor also depends on leaves that require grad.
struct UnpackedDualTensor {
  Tensor primal, tangent;
};
TENON_API UnpackedDualTensor unpack_dual(const Tensor& tensor);

}  // namespace tenon::autograd::forward_ad
