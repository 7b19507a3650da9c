// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "tenon/distributed/types.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// What an engine is asked for. `in` and `out` are row-major, of a device that it serves.
struct Request {
  int32_t operation;
  ReduceOp op = ReduceOp::SUM;
  int64_t root = 0;
  int tag = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool async = true;
  Tensor in, out;
  Device device = Device("cpu");  // of `in` and `out`
  std::vector<int64_t> in_counts, out_counts;
  std::function<void()> finish;  // once the engine is done: copies to the caller's tensors
  std::vector<Tensor> results;
};

}  // namespace tenon::distributed
