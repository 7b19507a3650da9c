// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reference serves every operator by kernels of its own, or the conformance runner would
// compare the CPU with itself.
#include <gtest/gtest.h>

#include <string>

#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/tensor.h"
#include "tools/check/operator_check.h"

namespace {

using namespace tenon;

constexpr ScalarType kDtypes[] = {kDouble, kInt64, kBool};

bool is_served(core::ServedBy by, const core::Op& op, core::DeviceSlot slot, ScalarType dtype) {
  for (const core::Candidate& c : core::explain(op, slot, dtype)) {
    if (c.by == by && c.serves) return true;
  }
  return false;
}

// Why an operator has no reference kernel; empty if it must have one.
std::string why_excluded(const core::Op& op) {
  if (op.family == std::string_view("primitive"))
    return "on the host it is the operators that it stands for";
  if (op.family == std::string_view("optimizer"))
    return "tests/optim holds it to the ops that it stands for";
  for (const char* family : {"factor", "fft", "special"}) {
    if (op.family == std::string_view(family)) return "stored cases judge what it computes";
  }
  return op.flags & core::kOpRandom ? "its bits are those of the host's generator" : "";
}

TEST(Reference, HasAKernelForEveryOperatorWithoutADecomposition) {
  const core::DeviceSlot slot = core::device_slot(Device("ref").type());
  ASSERT_TRUE(core::ensure_device(slot));
  int operators = 0, served = 0, excluded = 0;
  for (int i = 0; i < core::op_count(); ++i) {
    const core::Op& op = core::op_at(i);
    if (op.kind != core::OpKind::Kernel || (op.flags & core::kOpNoKernel)) continue;
    if (check::needs_layout(op)) continue;
    if (!(op.flags & core::kOpPrimitive) &&
        is_served(core::ServedBy::Decomposition, op, slot,
                  core::op_takes(op, kDouble) ? kDouble : kByte))
      continue;
    ++operators;
    bool any = false;
    for (ScalarType t : kDtypes) {
      if (!core::op_takes(op, t)) continue;
      bool native = is_served(core::ServedBy::Native, op, slot, t);
      any = any || native;
      const std::string why = why_excluded(op);
      EXPECT_EQ(native, why.empty())
          << op.name << " of " << dtype_name(t) << (native ? " is excluded: " + why : "");
    }
    served += any;
    excluded += !any && !why_excluded(op).empty();
    EXPECT_TRUE(any || !why_excluded(op).empty()) << op.name << " has no kernel of any dtype";
  }
  EXPECT_GT(operators, 200);
  EXPECT_GE(served + excluded, operators);
}

}  // namespace
