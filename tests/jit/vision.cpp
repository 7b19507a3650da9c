// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torchvision's operators, as scripts of detectors call them.
#include <gtest/gtest.h>

#include "tenon/jit.h"
#include "tenon/tenon.h"

namespace tenon::jit {
namespace {

std::vector<int64_t> kept_by(const Tensor& boxes, const Tensor& scores) {
  const auto unit = compile(
      "def f(boxes: Tensor, scores: Tensor):\n"
      "  return torch.ops.torchvision.nms(boxes, scores, 0.5)\n");
  const Tensor kept = unit->run_method("f", boxes, scores).toTensor();
  return {kept.data_ptr<int64_t>(), kept.data_ptr<int64_t>() + kept.numel()};
}

// Equal in float32, where the first of them is the better one.
TEST(JitVision, NmsComparesInTheDtypeOfTheBoxes) {
  const Tensor corners = tensor({0.0, 0.0, 1.0, 1.0, 5.0, 5.0, 6.0, 6.0, 0.0, 0.0, 1.0, 1.1});
  const Tensor boxes = corners.to(kDouble).view({3, 4});
  const Tensor scores = tensor({0.5, 0.25, 0.5 + 1e-12}, kDouble);
  EXPECT_EQ(kept_by(boxes, scores), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(kept_by(boxes.to(kFloat), scores.to(kFloat)), (std::vector<int64_t>{0, 1}));
  // Just above the threshold.
  const Tensor half = tensor({0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 1.0 + 1e-12, 1.0}, kDouble);
  EXPECT_EQ(kept_by(half.view({2, 4}), scores.slice(0, 0, 2)), (std::vector<int64_t>{0}));
}

}  // namespace
}  // namespace tenon::jit
