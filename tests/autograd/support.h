// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of functional transforms.
#pragma once

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {

inline Tensor random(IntArrayRef sizes) { return randn(sizes, TensorOptions(kDouble)); }

inline void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_TRUE(allclose(got, want, 1e-10, 1e-12)) << got << " instead of " << want;
}

}  // namespace tenon
