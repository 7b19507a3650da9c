// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/distributed/functions.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "distributed/group/meeting.h"
#include "runtime/base/leaf_mutex.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::distributed {
namespace {

struct World {
  core::LeafMutex lock;
  bool starting = false;
  int groups = 0;
  ProcessGroupPtr group;
};

World& world() {
  static World* w = new World();
  return *w;
}

// Takes the place of the default group while it is made.
struct Starting {
  Starting() {
    std::lock_guard held(world().lock);
    TENON_CHECK(!world().group && !world().starting, ValueError,
                "init_process_group: the process group is already initialized");
    world().starting = true;
  }
  ~Starting() {
    std::lock_guard held(world().lock);
    world().starting = false;
  }
};

void start(const std::string& backend, std::shared_ptr<Store> store, int size, int rank,
           const std::string& name, std::chrono::milliseconds timeout) {
  ProcessGroupOptions o;
  o.backend = backend;
  o.timeout = timeout;
  o.group_name = name;
  auto group = std::make_shared<ProcessGroup>(std::move(store), rank, size, std::move(o));
  std::lock_guard held(world().lock);
  world().group = std::move(group);
  world().groups = 0;
}

ProcessGroupPtr of(const ProcessGroupPtr& group) { return group ? group : default_group(); }

WorkPtr done(WorkPtr work, bool async_op) {
  if (async_op) return work;
  work->wait();
  return nullptr;
}

// Rank 0 serves the store, so that ranks leave together where all are in order.
void leave_together(ProcessGroup& group) {
  try {
    auto store = group.getStore()->clone();
    const std::string prefix = core::join("ended/", group.getGroupName(), "/");
    store->setTimeout(std::chrono::seconds(1));
    store->set(core::join(prefix, group.getRank()), "1");
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(group.getSize()));
    for (int r = 0; r < group.getSize(); ++r) all.push_back(core::join(prefix, r));
    store->wait(all, std::chrono::seconds(2));
  } catch (const Error&) {
  }
}

}  // namespace

void init_process_group(const std::string& backend, const std::string& init_method, int world_size,
                        int rank, const std::string& group_name,
                        std::chrono::milliseconds timeout) {
  Starting mark;
  // As with c10d, MPI's ranks are taken where nothing else gives any.
  const bool of_mpi = backend == "mpi" && init_method == "env://" && !std::getenv("MASTER_ADDR");
  Meeting m = meet(of_mpi ? "mpi://" : init_method, world_size, rank, group_name, timeout);
  start(backend, std::move(m.store), m.size, m.rank, group_name, timeout);
}

void init_process_group(const std::string& backend, std::shared_ptr<Store> store, int world_size,
                        int rank, const std::string& group_name,
                        std::chrono::milliseconds timeout) {
  Starting mark;
  TENON_CHECK(world_size > 0 && rank >= 0 && rank < world_size, ValueError,
              "init_process_group: rank ", rank, " of world_size ", world_size);
  start(backend, std::move(store), world_size, rank, group_name, timeout);
}

bool is_initialized() {
  std::lock_guard held(world().lock);
  return world().group != nullptr;
}

void destroy_process_group(const ProcessGroupPtr& group) {
  if (group && group != default_group()) return leave_together(*group);
  ProcessGroupPtr mine = default_group();
  leave_together(*mine);
  std::lock_guard held(world().lock);
  world().group.reset();
}

ProcessGroupPtr default_group() {
  std::lock_guard held(world().lock);
  TENON_CHECK(world().group, ValueError,
              "distributed: the process group is not initialized; call init_process_group first");
  return world().group;
}

ProcessGroupPtr new_group(std::vector<int> ranks, std::chrono::milliseconds timeout,
                          const std::string& backend) {
  const ProcessGroupPtr all = default_group();
  if (ranks.empty()) ranks = all->getOptions().global_ranks;
  std::sort(ranks.begin(), ranks.end());
  TENON_CHECK(std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end(), ValueError,
              "new_group: a rank is listed twice");
  TENON_CHECK(ranks.front() >= 0 && ranks.back() < all->getSize(), ValueError, "new_group: rank ",
              ranks.front() < 0 ? ranks.front() : ranks.back(), " is not in a group of ",
              all->getSize());
  ProcessGroupOptions o = all->getOptions();
  {
    std::lock_guard held(world().lock);
    o.group_name = core::join(all->getGroupName(), "/", ++world().groups);
  }
  if (timeout != kUnsetTimeout) o.timeout = timeout;
  if (!backend.empty()) o.backend = backend;
  o.global_ranks = ranks;
  const auto mine = std::find(ranks.begin(), ranks.end(), all->getRank());
  if (mine == ranks.end()) return nullptr;
  return std::make_shared<ProcessGroup>(all->getStore(), static_cast<int>(mine - ranks.begin()),
                                        static_cast<int>(ranks.size()), std::move(o));
}

int get_rank(const ProcessGroupPtr& group) { return of(group)->getRank(); }
int get_world_size(const ProcessGroupPtr& group) { return of(group)->getSize(); }
std::string get_backend(const ProcessGroupPtr& group) { return of(group)->getBackendName(); }

WorkPtr isend(const Tensor& tensor, int dst, const ProcessGroupPtr& group, int tag) {
  std::vector<Tensor> list = {tensor};
  return of(group)->send(list, dst, tag);
}
WorkPtr irecv(const Tensor& tensor, int src, const ProcessGroupPtr& group, int tag) {
  std::vector<Tensor> list = {tensor};
  return of(group)->recv(list, src, tag);
}
void send(const Tensor& tensor, int dst, const ProcessGroupPtr& group, int tag) {
  isend(tensor, dst, group, tag)->wait();
}
int recv(const Tensor& tensor, int src, const ProcessGroupPtr& group, int tag) {
  const WorkPtr work = irecv(tensor, src, group, tag);
  work->wait();
  return work->sourceRank();
}

WorkPtr all_reduce(const Tensor& tensor, ReduceOp op, const ProcessGroupPtr& group, bool async_op) {
  std::vector<Tensor> list = {tensor};
  return done(of(group)->allreduce(list, {op, kUnsetTimeout, async_op}), async_op);
}
WorkPtr all_reduce_coalesced(const std::vector<Tensor>& tensors, ReduceOp op,
                             const ProcessGroupPtr& group, bool async_op) {
  std::vector<Tensor> list = tensors;
  AllreduceCoalescedOptions o;
  o.reduceOp = op;
  o.asyncOp = async_op;
  return done(of(group)->allreduce_coalesced(list, o), async_op);
}
WorkPtr reduce(const Tensor& tensor, int dst, ReduceOp op, const ProcessGroupPtr& group,
               bool async_op) {
  std::vector<Tensor> list = {tensor};
  return done(of(group)->reduce(list, {op, dst, 0, kUnsetTimeout, async_op}), async_op);
}
WorkPtr broadcast(const Tensor& tensor, int src, const ProcessGroupPtr& group, bool async_op) {
  std::vector<Tensor> list = {tensor};
  return done(of(group)->broadcast(list, {src, 0, kUnsetTimeout, async_op}), async_op);
}
WorkPtr all_gather(const std::vector<Tensor>& tensor_list, const Tensor& tensor,
                   const ProcessGroupPtr& group, bool async_op) {
  std::vector<std::vector<Tensor>> outputs = {tensor_list};
  std::vector<Tensor> inputs = {tensor};
  return done(of(group)->allgather(outputs, inputs, {kUnsetTimeout, async_op}), async_op);
}
WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input,
                               const ProcessGroupPtr& group, bool async_op) {
  Tensor out = output, in = input;
  return done(of(group)->_allgather_base(out, in, {kUnsetTimeout, async_op}), async_op);
}
WorkPtr gather(const Tensor& tensor, const std::vector<Tensor>& gather_list, int dst,
               const ProcessGroupPtr& group, bool async_op) {
  std::vector<std::vector<Tensor>> outputs;
  if (!gather_list.empty()) outputs.push_back(gather_list);
  std::vector<Tensor> inputs = {tensor};
  return done(of(group)->gather(outputs, inputs, {dst, kUnsetTimeout, async_op}), async_op);
}
WorkPtr scatter(const Tensor& tensor, const std::vector<Tensor>& scatter_list, int src,
                const ProcessGroupPtr& group, bool async_op) {
  std::vector<std::vector<Tensor>> inputs;
  if (!scatter_list.empty()) inputs.push_back(scatter_list);
  std::vector<Tensor> outputs = {tensor};
  return done(of(group)->scatter(outputs, inputs, {src, kUnsetTimeout, async_op}), async_op);
}
WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& input_list, ReduceOp op,
                       const ProcessGroupPtr& group, bool async_op) {
  std::vector<std::vector<Tensor>> inputs = {input_list};
  std::vector<Tensor> outputs = {output};
  return done(of(group)->reduce_scatter(outputs, inputs, {op, kUnsetTimeout, async_op}), async_op);
}
WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op,
                              const ProcessGroupPtr& group, bool async_op) {
  Tensor out = output, in = input;
  return done(of(group)->_reduce_scatter_base(out, in, {op, kUnsetTimeout, async_op}), async_op);
}
WorkPtr all_to_all(const std::vector<Tensor>& output_list, const std::vector<Tensor>& input_list,
                   const ProcessGroupPtr& group, bool async_op) {
  std::vector<Tensor> outputs = output_list, inputs = input_list;
  return done(of(group)->alltoall(outputs, inputs, {kUnsetTimeout, async_op}), async_op);
}
WorkPtr all_to_all_single(const Tensor& output, const Tensor& input,
                          const std::vector<int64_t>& output_split_sizes,
                          const std::vector<int64_t>& input_split_sizes,
                          const ProcessGroupPtr& group, bool async_op) {
  Tensor out = output, in = input;
  return done(of(group)->alltoall_base(out, in, output_split_sizes, input_split_sizes,
                                       {kUnsetTimeout, async_op}),
              async_op);
}
WorkPtr barrier(const ProcessGroupPtr& group, bool async_op) {
  return done(of(group)->barrier({{}, kUnsetTimeout, async_op}), async_op);
}

namespace {
Tensor bytes_of(const std::string& s, int64_t room) {
  Tensor t = zeros({room}, kByte);
  std::copy(s.begin(), s.end(), t.data_ptr<uint8_t>());
  return t;
}
std::string string_of(const Tensor& t, int64_t n) {
  const auto* p = t.const_data_ptr<uint8_t>();
  return std::string(p, p + n);
}
}  // namespace

std::vector<std::string> all_gather_object(const std::string& object,
                                           const ProcessGroupPtr& group) {
  const int size = get_world_size(group);
  Tensor lengths = zeros({size}, kLong);
  all_gather_into_tensor(lengths, full({1}, static_cast<int64_t>(object.size()), kLong), group);
  const auto most = lengths.max().item<int64_t>();
  Tensor all = zeros({size, most}, kByte);
  all_gather_into_tensor(all, bytes_of(object, most), group);
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) out.push_back(string_of(all[r], lengths[r].item<int64_t>()));
  return out;
}

std::string broadcast_object(const std::string& object, int src, const ProcessGroupPtr& group) {
  Tensor length = full({1}, static_cast<int64_t>(object.size()), kLong);
  broadcast(length, src, group);
  const auto n = length.item<int64_t>();
  Tensor bytes = get_rank(group) == src ? bytes_of(object, n) : zeros({n}, kByte);
  broadcast(bytes, src, group);
  return string_of(bytes, n);
}

}  // namespace tenon::distributed
