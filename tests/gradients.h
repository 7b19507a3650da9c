// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of operators against differences, to the second order.
#pragma once

#include <vector>

#include "tenon/gradcheck.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon::test {

using Inputs = std::vector<Tensor>;

// Random numbers in double precision, which is what differences need.
inline Tensor leaf(IntArrayRef sizes) {
  return randn(sizes, TensorOptions().dtype(kDouble)).set_requires_grad(true);
}

inline void check_gradients(const autograd::GradcheckFunction& f, const Inputs& inputs) {
  EXPECT_TRUE(autograd::gradcheck(f, inputs));
  EXPECT_TRUE(autograd::gradgradcheck(f, inputs));
}

}  // namespace tenon::test
