// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dual tensors by the names of ATen's operators.
#pragma once

#include <torch/csrc/autograd/variable.h>

#include <tuple>

#include "tenon/autograd/forward_ad.h"

namespace tenon {

// `level` is the one that is entered.
inline Tensor _make_dual(const Tensor& primal, const Tensor& tangent, int64_t) {
  return autograd::forward_ad::make_dual(primal, tangent);
}
inline std::tuple<Tensor, Tensor> _unpack_dual(const Tensor& dual, int64_t) {
  autograd::forward_ad::UnpackedDualTensor u = autograd::forward_ad::unpack_dual(dual);
  return {u.primal, u.tangent};
}

}  // namespace tenon
