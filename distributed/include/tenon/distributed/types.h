// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reductions, options of operations, timeouts and errors, with c10d's names.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::distributed {

// An option of this value means: that of the group.
constexpr std::chrono::milliseconds kUnsetTimeout{-1};
constexpr std::chrono::milliseconds kNoTimeout = kUnsetTimeout;
constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);
constexpr int kAnySource = -1;

// An operation failed because of other ranks, or their words do not match. ranks(): those of the
// group that are known to be the cause, ascending; empty where nobody knows.
class TENON_API DistributedError : public BackendError {
 public:
  explicit DistributedError(std::string message, std::vector<int> ranks = {},
                            SourceSite site = SourceSite::current())
      : BackendError(std::move(message), site), ranks_(std::move(ranks)) {}
  const std::vector<int>& ranks() const noexcept { return ranks_; }

 private:
  std::vector<int> ranks_;
};
// A wait of a store or of a group ended without what it waited for.
class TENON_API TimeoutError : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

// The bitwise ones are for integers and bool, AVG for floating dtypes.
struct ReduceOp {
  enum RedOpType : uint8_t { SUM = 0, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR };
  ReduceOp() = default;
  ReduceOp(RedOpType op) : op_(op) {}
  operator RedOpType() const { return op_; }
  RedOpType op_ = SUM;
};
TENON_API std::string text(ReduceOp op);  // "sum"

struct BroadcastOptions {
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct AllreduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  // false: the caller is going to wait at once, and the operation may run on its thread
  bool asyncOp = true;
};
struct AllreduceCoalescedOptions : AllreduceOptions {};
struct ReduceOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  int64_t rootRank = 0;
  int64_t rootTensor = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct AllgatherOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct GatherOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct ScatterOptions {
  int64_t rootRank = 0;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct ReduceScatterOptions {
  ReduceOp reduceOp = ReduceOp::SUM;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct AllToAllOptions {
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};
struct BarrierOptions {
  std::vector<int64_t> device_ids;
  std::chrono::milliseconds timeout = kUnsetTimeout;
  bool asyncOp = true;
};

}  // namespace tenon::distributed
