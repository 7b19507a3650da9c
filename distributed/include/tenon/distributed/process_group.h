// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A group of ranks and its collective operations, with c10d's names. An engine, which is a plugin
// with the extension collective, moves the bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/distributed/store.h"
#include "tenon/distributed/work.h"

namespace tenon::distributed {

struct ProcessGroupOptions {
  std::string backend = "gloo";                         // the engine, by its plugin's name
  std::chrono::milliseconds timeout = kDefaultTimeout;  // of each operation
  std::string group_name;
  std::vector<int> global_ranks;  // of its members in the default group; empty: 0, 1, ...
  // How often a rank says that it is alive; one that does not for five times as long is taken for
  // dead once an operation fails.
  std::chrono::milliseconds heartbeat = std::chrono::milliseconds(200);
  // Of an engine for a device's memory; none: the thread's current one (set_device).
  std::optional<Device> device;
};

// The order of operations must be the same on all ranks of a group. Tensors may have any strides
// and be of any device: what the engine does not serve is packed, or staged through the host, which
// stagedCalls() counts; a tensor of another device than the engine's goes through the latter. The
// lists of allreduce and reduce hold one tensor. A class of a program may change an operation and
// call this one's; another engine is a plugin.
class TENON_API ProcessGroup : public std::enable_shared_from_this<ProcessGroup> {
 public:
  using Options = ProcessGroupOptions;
  using Work = distributed::Work;
  // Waits until all ranks have come; TimeoutError names those that did not.
  ProcessGroup(std::shared_ptr<Store> store, int rank, int size, Options options = {});
  virtual ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int getRank() const noexcept { return rank_; }
  int getSize() const noexcept { return size_; }
  const Options& getOptions() const noexcept { return options_; }
  const std::string& getBackendName() const noexcept { return options_.backend; }
  const std::string& getGroupName() const noexcept { return options_.group_name; }
  const std::shared_ptr<Store>& getStore() const noexcept { return store_; }
  void setTimeout(std::chrono::milliseconds timeout) { options_.timeout = timeout; }
  int64_t stagedCalls() const noexcept;  // whose tensors went through the host
  uint64_t getSequenceNumberForGroup() const noexcept;
  // The ranks that are not known to be alive now.
  std::vector<int> deadRanks();

  // Of a list all tensors get the values of that with number rootTensor on the root.
  virtual WorkPtr broadcast(std::vector<Tensor>& tensors, const BroadcastOptions& opts = {});
  virtual WorkPtr allreduce(std::vector<Tensor>& tensors, const AllreduceOptions& opts = {});
  // Of one dtype: one message for all.
  virtual WorkPtr allreduce_coalesced(std::vector<Tensor>& tensors,
                                      const AllreduceCoalescedOptions& opts = {});
  virtual WorkPtr reduce(std::vector<Tensor>& tensors, const ReduceOptions& opts = {});
  // outputs[0][r] becomes the input of rank r.
  virtual WorkPtr allgather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
                            const AllgatherOptions& opts = {});
  virtual WorkPtr _allgather_base(Tensor& output, Tensor& input, const AllgatherOptions& opts = {});
  virtual WorkPtr gather(std::vector<std::vector<Tensor>>& outputs, std::vector<Tensor>& inputs,
                         const GatherOptions& opts = {});
  virtual WorkPtr scatter(std::vector<Tensor>& outputs, std::vector<std::vector<Tensor>>& inputs,
                          const ScatterOptions& opts = {});
  virtual WorkPtr reduce_scatter(std::vector<Tensor>& outputs,
                                 std::vector<std::vector<Tensor>>& inputs,
                                 const ReduceScatterOptions& opts = {});
  virtual WorkPtr _reduce_scatter_base(Tensor& output, Tensor& input,
                                       const ReduceScatterOptions& opts = {});
  virtual WorkPtr alltoall(std::vector<Tensor>& outputs, std::vector<Tensor>& inputs,
                           const AllToAllOptions& opts = {});
  // Sizes of dimension 0 for each rank; empty: equal parts.
  virtual WorkPtr alltoall_base(Tensor& output, Tensor& input,
                                const std::vector<int64_t>& outputSplits,
                                const std::vector<int64_t>& inputSplits,
                                const AllToAllOptions& opts = {});
  virtual WorkPtr send(std::vector<Tensor>& tensors, int dstRank, int tag);
  virtual WorkPtr recv(std::vector<Tensor>& tensors, int srcRank, int tag);
  virtual WorkPtr recvAnysource(std::vector<Tensor>& tensors, int tag);
  virtual WorkPtr barrier(const BarrierOptions& opts = {});
  // Waits for all; DistributedError names every rank that has not come within the timeout, with or
  // without wait_all_ranks, at which libtorch names the first one.
  virtual void monitoredBarrier(const BarrierOptions& opts = {}, bool wait_all_ranks = false);
  // libtorch's ranks agree on a number here. All groups begin with 0.
  void setSequenceNumberForGroup() {}
  // Ends what is under way with an error; the group is of no further use.
  void abort();

  struct Impl;

 private:
  int rank_, size_;
  Options options_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Impl> impl_;
};

using ProcessGroupPtr = std::shared_ptr<ProcessGroup>;

// What an engine says it can do itself, for `tenon plugins` and for programs. What it lacks is
// built from the rest, or goes through the host.
struct Capability {
  std::string engine, operation, device;  // "gloo", "all_reduce", "cpu"
  std::string reduction;                  // "sum"; empty where the operation has none
  std::vector<std::string> dtypes;        // of a barrier: all
};
TENON_API std::vector<Capability> capabilities();  // opens the engines
TENON_API bool is_backend_available(const std::string& name);

}  // namespace tenon::distributed
