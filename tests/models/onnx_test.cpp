// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The nets of models.h are exported to ONNX and read back.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/models/fixtures.h"

namespace tenon::test::models {
namespace {

class ModelsInOnnx : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ModelsInOnnx, GiveTheSameAfterExport) {
  const Fixture f = fixtures()[GetParam()].second();
  const WarningCallback before = set_warning_handler([](const WarningMessage&) {});
  std::stringstream file;
  onnx::export_(f.traced(f.input), {f.input}, file);
  set_warning_handler(before);
  const jit::Module loaded = onnx::load_bytes(file.str());
  const Tensor x = f.input.flip({0});
  EXPECT_TRUE(loaded.forward({x}).toTensor().allclose(f.forward(x), 1e-9, 1e-9));
}

INSTANTIATE_TEST_SUITE_P(Nets, ModelsInOnnx, ::testing::Range<std::size_t>(0, fixtures().size()),
                         [](const auto& info) { return fixtures()[info.param].first; });

}  // namespace
}  // namespace tenon::test::models
