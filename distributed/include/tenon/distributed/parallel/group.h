// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tenon/distributed/process_group.h"
#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// What data parallelism asks of a group of ranks. Operations begin in the order of the calls, which
// is the same on all ranks, and may go on after the call; the function that they return waits, and
// throws what went wrong. Tensors are contiguous; they must not be read or written before that.
class TENON_API CollectiveGroup {
 public:
  using Wait = SharedFunction<void()>;

  virtual ~CollectiveGroup();
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The sum, in place; of the same bits on all ranks.
  virtual Wait all_reduce(const Tensor& tensor) = 0;
  virtual Wait broadcast(const Tensor& tensor, int root) = 0;
  // One-dimensional: `out` has a part of `in`'s size for each rank.
  virtual Wait all_gather(const Tensor& out, const Tensor& in) = 0;
  // One-dimensional: `out` becomes this rank's part of the sum of `in`.
  virtual Wait reduce_scatter(const Tensor& out, const Tensor& in) = 0;
};
using GroupPtr = std::shared_ptr<CollectiveGroup>;

// Of an engine; null: of the default group. Error where there is none.
TENON_API GroupPtr collectives_of(ProcessGroupPtr group = nullptr);

}  // namespace tenon::distributed
