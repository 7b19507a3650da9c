// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tests of what runs on the unit of tiles that TENON_CPU_BF16 names.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tenon/ops.h"
#include "tenon/plugins/plugins.h"

namespace tenon::test {

inline const bool kUnitNamed = setenv("TENON_CPU_BF16", "amx_emulated", 0) == 0;

// Whether the unit of that name does the products.
inline bool bfloat16_by(const std::string& name) {
  plugins::open_all();
  for (const plugins::Info& i : plugins::list()) {
    if (i.name == "cpu")
      return i.description.find("bfloat16 by " + name + ",") != std::string::npos;
  }
  return false;
}

class OnTiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kUnitNamed);
    const std::string unit = std::getenv("TENON_CPU_BF16");
    if (bfloat16_by(unit)) return;
    ASSERT_TRUE(unit == "amx" || unit == "avx512_bf16");
    GTEST_SKIP() << "this processor, system or build has no " << unit << " for bfloat16";
  }
};

inline Tensor bf16(const Tensor& t) { return t.to(kBFloat16); }

// Of a result rounded once, whose sums of float32 have terms of that size.
inline bool near(const Tensor& given, const Tensor& expected, const Tensor& terms) {
  const Tensor off = (given.to(kDouble) - expected).abs();
  const Tensor allowed = expected.abs() * 0x1p-8 + terms * 1e-6;
  return given.scalar_type() == kBFloat16 && given.sizes() == expected.sizes() &&
         (off <= allowed).all().item<bool>();
}

}  // namespace tenon::test
