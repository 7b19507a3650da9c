// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs that torch.utils.mobile_optimizer has written (data/make_mobile.py).
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/freeze.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

Tensor image() { return counted({1, 2, 4, 4}); }

TEST(JitMobile, PackedWeightsAreThoseOfTorch) { expect_results("mobile.pt", {image()}); }

// Weights of the program are constants of the archive, in the classes of torch.
TEST(JitMobile, SavedProgramsAreThoseOfTorch) {
  const Module m = load(data("mobile.pt"));
  std::stringstream file;
  m.save(file);
  const auto zip = formats::ZipReader::from_bytes(file.str(), "saved");
  std::string code;
  for (const auto& e : zip->entries())
    if (e.name.find("/code/") != std::string::npos) code += zip->read(e);
  EXPECT_NE(code.find("ops.prepacked.conv2d_clamp_run(x, CONSTANTS.c0)"), std::string::npos)
      << code;
  EXPECT_EQ(code.find("OpContext"), std::string::npos) << code;
  EXPECT_TRUE(load(file).forward({image()}).toTensor().equal(m.forward({image()}).toTensor()));
}

TEST(JitMobile, WeightsMayBePackedByTheProgram) {
  const Module m = define(R"(
def forward(self, x: Tensor, w: Tensor) -> Tensor:
    packed = ops.prepacked.linear_clamp_prepack(w, None, 0.5)
    return ops.prepacked.linear_clamp_run(x, packed)
)");
  const Tensor x = counted({2, 3}), w = counted({4, 3});
  EXPECT_TRUE(allclose(m.forward({x, w}).toTensor(), x.matmul(w.t()).clamp_min(0.5)));
}

}  // namespace
}  // namespace tenon::jit
