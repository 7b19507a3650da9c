// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The last step of every loss. Private to libtenon.
#pragma once

#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

enum Reduction : int64_t { kReduceNone, kReduceMean, kReduceSum };

inline Tensor reduced(const char* name, const Tensor& loss, int64_t reduction) {
  TENON_CHECK(reduction >= kReduceNone && reduction <= kReduceSum, ValueError, name,
              ": reduction must be 0 (none), 1 (mean) or 2 (sum), got ", reduction);
  return reduction == kReduceNone ? loss : reduction == kReduceMean ? loss.mean() : loss.sum();
}

}  // namespace tenon::composite
