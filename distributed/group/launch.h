// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From tensors of any strides and device to an engine's buffers and back.
#pragma once

#include <list>
#include <optional>

#include "distributed/group/engine.h"
#include "distributed/group/liveness.h"
#include "distributed/group/request.h"
#include "tenon/distributed/process_group.h"
#include "tenon/stream.h"

namespace tenon::distributed {

class EngineWork;

struct ProcessGroup::Impl : std::enable_shared_from_this<Impl> {
  Impl(const std::shared_ptr<Store>& store, int rank, int size, const Options& options);
  ~Impl();
  const tn_ext_collective& engine() const { return membership->engine(); }
  WorkPtr launch(Request r, std::chrono::milliseconds group_timeout);
  // The device for the operation's buffers: the tensor's, or the group's, which is counted.
  // ValueError: the engine is for another device of the tensor's type.
  Device device_for(int32_t operation, ReduceOp op, ScalarType dtype, Device device);
  // Whether the engine serves it on the tensor's device or on the group's.
  bool serves_from(int32_t operation, ReduceOp op, ScalarType dtype, const Tensor& t) const;
  // A row-major tensor of the same elements where the engine can read them.
  Tensor packed(int32_t operation, const Tensor& t);
  // Where the engine can write what then goes to t: t itself if that serves.
  Tensor room(int32_t operation, const Tensor& t);
  void compare_fingerprints(const Request& r, uint64_t number, std::chrono::milliseconds timeout);

  void drain();  // before the group ends

  const int rank, size;
  const std::string name, backend;
  std::shared_ptr<Store> store;
  Device device;                 // of the engine's buffers
  std::optional<Stream> stream;  // of operations on such a device
  std::unique_ptr<Membership> membership;
  std::unique_ptr<Liveness> liveness;
  std::atomic<uint64_t> number{0};
  std::atomic<int64_t> staged{0};
  const bool debug;
  std::mutex lock;                                 // fork: groups are of no use to a child
  std::list<std::shared_ptr<EngineWork>> pending;  // a Work that nobody holds goes on
};

}  // namespace tenon::distributed
