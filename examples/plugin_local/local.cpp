// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// An engine of collectives: every operation by messages between two ranks.
#include <atomic>
#include <cstring>

#include "links.h"
#include "tenon/sdk/collective_reduce.h"
#include "tenon/sdk/plugin.h"

namespace local {
namespace {

namespace sdk = tenon::sdk;
using Buffer = sdk::CollectiveBuffer;

// A call whose buffers are read later; what is borrowed is copied.
struct Call {
  Call(Links& l, const tn_collective_call& c, uint64_t channel)
      : links(l),
        operation(c.operation),
        reduction(c.reduction),
        root(c.root),
        channel(channel),
        in(c.in),
        out(c.out),
        end(Clock::now() + std::chrono::milliseconds(std::min<int64_t>(c.timeout_ms, 1ll << 40))) {
    if (c.operation != TN_COLLECTIVE_ALL_TO_ALL) return;
    in_counts.assign(c.in_counts, c.in_counts + l.size());
    out_counts.assign(c.out_counts, c.out_counts + l.size());
  }
  void send(int to, const void* data, size_t bytes) const { links.send(to, channel, data, bytes); }
  int receive(int from, void* data, size_t bytes) const {
    return links.receive(from, channel, data, bytes, end);
  }
  bool is_root() const { return links.rank() == root; }

  Links& links;
  int32_t operation, reduction, root;
  uint64_t channel;
  Buffer in, out;
  Clock::time_point end;
  std::vector<int64_t> in_counts, out_counts;
};

// Parts of `in` go out to the ranks, and theirs come into the parts of `out`.
template <class InPart, class OutPart>
void exchange(const Call& c, bool sends, bool receives, InPart in_part, OutPart out_part) {
  const int size = c.links.size(), me = c.links.rank();
  for (int r = 0; sends && r < size; ++r) {
    const auto [data, bytes] = in_part(r);
    if (r != me) c.send(r, data, bytes);
    if (r == me && receives && bytes) std::memmove(out_part(r).first, data, bytes);
  }
  for (int r = 0; receives && r < size; ++r) {
    const auto [data, bytes] = out_part(r);
    if (r != me) c.receive(r, data, bytes);
  }
}

// In the order of ranks, so that every run gives the same bits.
void reduce_at(const Call& c, int root) {
  if (c.links.rank() != root) return c.send(root, c.in.data, c.in.bytes());
  std::string sum, next(c.in.bytes(), '\0');
  for (int r = 0; r < c.links.size(); ++r) {
    if (r == root)
      next.assign(c.in.data, c.in.bytes());
    else
      c.receive(r, next.data(), next.size());
    if (r == 0) sum = next;
    if (r > 0)
      sdk::combine_of(c.in.dtype, c.reduction)(sum.data(), sum.data(), next.data(), c.in.elements);
  }
  if (c.reduction == TN_COLLECTIVE_AVG)
    sdk::divide_of(c.in.dtype)(sum.data(), c.in.elements, c.links.size());
  if (!sum.empty()) std::memcpy(c.out.data, sum.data(), sum.size());
}

void broadcast(const Call& c, int root) {
  if (c.links.rank() != root) return void(c.receive(root, c.out.data, c.out.bytes()));
  for (int r = 0; r < c.links.size(); ++r) {
    if (r != root) c.send(r, c.out.data, c.out.bytes());
  }
}

void run(const Call& c, sdk::CollectiveTask& task) {
  const auto part = [](const Buffer& b, size_t at, size_t n) {
    return std::pair(b.data + at * b.item_bytes(), n * b.item_bytes());
  };
  const auto all_in = [&](int) { return part(c.in, 0, c.in.elements); };
  const auto nth_out = [&](int r) { return part(c.out, r * c.in.elements, c.in.elements); };
  const auto counted = [&](const Buffer& b, const std::vector<int64_t>& counts, int r) {
    size_t at = 0;
    for (int i = 0; i < r; ++i) at += static_cast<size_t>(counts[i]);
    return part(b, at, static_cast<size_t>(counts[r]));
  };
  switch (c.operation) {
    case TN_COLLECTIVE_ALL_REDUCE:
    case TN_COLLECTIVE_BARRIER:
      reduce_at(c, 0);
      return broadcast(c, 0);
    case TN_COLLECTIVE_REDUCE:
      return reduce_at(c, c.root);
    case TN_COLLECTIVE_BROADCAST:
      return broadcast(c, c.root);
    case TN_COLLECTIVE_ALL_GATHER:
      return exchange(c, true, true, all_in, nth_out);
    case TN_COLLECTIVE_GATHER:
      if (!c.is_root()) return c.send(c.root, c.in.data, c.in.bytes());
      if (c.in.bytes()) std::memcpy(nth_out(c.root).first, c.in.data, c.in.bytes());
      return exchange(c, false, true, all_in, nth_out);
    case TN_COLLECTIVE_SCATTER:
      if (!c.is_root()) return void(c.receive(c.root, c.out.data, c.out.bytes()));
      exchange(
          c, true, false, [&](int r) { return part(c.in, r * c.out.elements, c.out.elements); },
          nth_out);
      if (c.out.bytes()) std::memcpy(c.out.data, c.in.data + c.root * c.out.bytes(), c.out.bytes());
      return;
    case TN_COLLECTIVE_ALL_TO_ALL:
      return exchange(
          c, true, true, [&](int r) { return counted(c.in, c.in_counts, r); },
          [&](int r) { return counted(c.out, c.out_counts, r); });
    case TN_COLLECTIVE_SEND:
      return c.send(c.root, c.in.data, c.in.bytes());
    case TN_COLLECTIVE_RECV:
      task.source = c.receive(c.root, c.out.data, c.out.bytes());
  }
}

class Group {
 public:
  explicit Group(const tn_group_options& options) : links_(options) {}
  void abort() { links_.abort(); }
  // Messages of an operation are told apart by its number, those of sends and receives by their
  // tag.
  std::shared_ptr<sdk::CollectiveWork> start(const tn_collective_call& call) {
    const uint64_t channel =
        sdk::is_to_one(call.operation) ? uint64_t{1} << 63 | call.tag : number_++;
    auto task = std::make_shared<sdk::CollectiveTask>(
        [c = Call(links_, call, channel)](sdk::CollectiveTask& t) { run(c, t); });
    if (call.operation != TN_COLLECTIVE_SEND) return queue_.start(task, call);
    task->execute();  // sends keep their order; the peer reads at all times
    return task;
  }

 private:
  Links links_;
  std::atomic<uint64_t> number_{0};
  sdk::CollectiveQueue queue_;
};

struct Engine : sdk::CollectiveEngine<Group> {
  // Core makes the operations that are missing from these.
  static bool supports(int32_t operation, int32_t reduction, tn_dtype dtype,
                       std::string_view device) {
    if (device != "cpu" || operation == TN_COLLECTIVE_REDUCE_SCATTER) return false;
    return operation > TN_COLLECTIVE_REDUCE || sdk::combine_of(dtype, reduction);
  }
};

constexpr tn_ext_collective kCollective = sdk::collective_functions<Engine>();

}  // namespace
}  // namespace local

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("local").device("none").host_memory().ext(
    &local::kCollective.head));
