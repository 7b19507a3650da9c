// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

TEST(Polygamma, AgreesWithLibtorchBelowZero) {
  Tensor x = tensor({-1, -2, 0, 1}, TensorOptions(kChar));
  Tensor y = polygamma(1, x);
  EXPECT_NEAR(y.index({0}).item<float>() / 1.2913697e15, 1, 1e-5);
  EXPECT_NEAR(y.index({1}).item<float>() / 3.2284242e14, 1, 1e-5);
  EXPECT_TRUE(std::isinf(y.index({2}).item<float>()));
  EXPECT_NEAR(y.index({3}).item<float>(), 1.6449341, 1e-6);
  EXPECT_NEAR(polygamma(1, tensor({-0.5}, TensorOptions(kDouble))).index({0}).item<double>(),
              8.934802200544679, 1e-11);
}

}  // namespace
}  // namespace tenon
