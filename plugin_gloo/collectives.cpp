// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/collectives.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include <cstring>

#include "tenon/sdk/collective_reduce.h"

namespace tenon::gloo_engine {
namespace {

using Buffer = sdk::CollectiveBuffer;

struct Call {
  Context context;
  Buffer in, out;
  int root;
  uint32_t tag;
  std::chrono::milliseconds timeout;
  int32_t reduction;
  std::vector<int64_t> in_counts, out_counts;

  template <class Options>
  void fill(Options& o) const {
    o.setTag(tag);
    o.setTimeout(timeout);
  }
};

// Types of the sizes that elements have, as gloo asks for one.
template <size_t N>
struct Item {
  char bytes[N];
};

template <class F>
void of_size(size_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(Item<1>{});
    case 2:
      return f(Item<2>{});
    case 4:
      return f(Item<4>{});
    case 8:
      return f(Item<8>{});
    default:
      return f(Item<16>{});
  }
}

void divide(const Call& c, void* data, size_t n) {
  if (c.reduction == TN_COLLECTIVE_AVG) sdk::divide_of(c.out.dtype)(data, n, c.context->size);
}

// Trees take fewer messages than the ring, where these are short. They add in the order of ranks,
// and wait for the group's timeout, whatever that of the call is.
bool takes_trees(const Call& c) {
  const size_t bytes = c.out.bytes(), ranks = static_cast<size_t>(c.context->size);
  return c.out.elements >= 4 * ranks && bytes >= 1024 && bytes <= size_t{1} << 20 &&
         c.timeout >= c.context->getTimeout();
}

void all_reduce(const Call& c) {
  if (c.in.data != c.out.data) std::memcpy(c.out.data, c.in.data, c.in.bytes());
  if (c.context->size > 1 && c.out.elements) {
    gloo::AllreduceOptions o(c.context);
    of_size(c.out.item_bytes(), [&](auto item) {
      o.setOutput(reinterpret_cast<decltype(item)*>(c.out.data), c.out.elements);
    });
    o.setReduceFunction(sdk::combine_of(c.out.dtype, c.reduction));
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    o.setAlgorithm(takes_trees(c) ? Algorithm::BCUBE : Algorithm::RING);
    c.fill(o);
    gloo::allreduce(o);
  }
  divide(c, c.out.data, c.out.elements);
}

void reduce(const Call& c) {
  std::vector<char> mine(c.in.data, c.in.data + c.in.bytes());  // gloo writes on all ranks
  if (c.context->size > 1 && c.in.elements) {
    gloo::ReduceOptions o(c.context);
    of_size(c.in.item_bytes(), [&](auto item) {
      o.setOutput(reinterpret_cast<decltype(item)*>(mine.data()), c.in.elements);
    });
    o.setRoot(c.root);
    o.setReduceFunction(sdk::combine_of(c.in.dtype, c.reduction));
    c.fill(o);
    gloo::reduce(o);
  }
  if (c.context->rank != c.root) return;
  std::memcpy(c.out.data, mine.data(), mine.size());
  divide(c, c.out.data, c.out.elements);
}

void broadcast(const Call& c) {
  if (c.context->size == 1 || c.out.elements == 0) return;
  gloo::BroadcastOptions o(c.context);
  o.setOutput(c.out.data, c.out.bytes());
  o.setRoot(c.root);
  c.fill(o);
  gloo::broadcast(o);
}

void all_gather(const Call& c) {
  if (c.in.elements == 0) return;
  gloo::AllgatherOptions o(c.context);
  o.setInput(c.in.data, c.in.bytes());
  o.setOutput(c.out.data, c.out.bytes());
  c.fill(o);
  gloo::allgather(o);
}

void gather(const Call& c) {
  if (c.in.elements == 0) return;
  gloo::GatherOptions o(c.context);
  o.setInput(c.in.data, c.in.bytes());
  if (c.context->rank == c.root) o.setOutput(c.out.data, c.out.bytes());
  o.setRoot(c.root);
  c.fill(o);
  gloo::gather(o);
}

void scatter(const Call& c) {
  if (c.out.elements == 0) return;
  gloo::ScatterOptions o(c.context);
  std::vector<char*> parts;
  for (int r = 0; c.context->rank == c.root && r < c.context->size; ++r)
    parts.push_back(c.in.data + static_cast<size_t>(r) * c.out.bytes());
  if (!parts.empty()) o.setInputs(parts, c.out.bytes());
  o.setOutput(c.out.data, c.out.bytes());
  o.setRoot(c.root);
  c.fill(o);
  gloo::scatter(o);
}

// Slots of messages between two ranks, apart from those of collectives, whose highest byte in use
// is the sixth. Note "messages that do not fit": a message that is longer than the receiver's
// buffer makes gloo throw on a thread of its own, which ends the process. So the slot tells the
// length (24 bits of a hash), and both sides of a pair that does not fit wait until their timeout.
enum class Sent : uint8_t { kMessage = 1, kPart = 2 };
uint64_t slot_of(Sent kind, uint32_t tag, tn_dtype dtype, size_t bytes) {
  const uint64_t fit =
      sdk::collective_hash({dtype.code, dtype.bits, static_cast<int64_t>(bytes)}) >> 8;
  return static_cast<uint64_t>(kind) << 56 | fit << 32 | tag;
}

// gloo's own has one slot for all parts, see "messages that do not fit".
void all_to_all(const Call& c) {
  const size_t item = c.in.item_bytes();
  const int size = c.context->size, rank = c.context->rank;
  const auto in = c.context->createUnboundBuffer(c.in.data, c.in.bytes());
  const auto out = c.context->createUnboundBuffer(c.out.data, c.out.bytes());
  std::vector<size_t> in_at(1, 0), out_at(1, 0);
  for (int r = 0; r < size; ++r) {
    in_at.push_back(in_at.back() + item * static_cast<size_t>(c.in_counts[r]));
    out_at.push_back(out_at.back() + item * static_cast<size_t>(c.out_counts[r]));
  }
  int sent = 0, received = 0;
  for (int step = 1; step < size; ++step) {
    const int to = (rank + step) % size, from = (rank + size - step) % size;
    const size_t there = in_at[to + 1] - in_at[to], here = out_at[from + 1] - out_at[from];
    const auto slot = [&](size_t bytes) { return slot_of(Sent::kPart, c.tag, c.in.dtype, bytes); };
    if (here > 0) out->recv(from, slot(here), out_at[from], here), ++received;
    if (there > 0) in->send(to, slot(there), in_at[to], there), ++sent;
  }
  const size_t mine = in_at[rank + 1] - in_at[rank];
  if (mine > 0) std::memcpy(c.out.data + out_at[rank], c.in.data + in_at[rank], mine);
  for (; received > 0; --received) out->waitRecv(c.timeout);
  for (; sent > 0; --sent) in->waitSend(c.timeout);
}

void barrier(const Call& c) {
  gloo::BarrierOptions o(c.context);
  c.fill(o);
  gloo::barrier(o);
}

using Function = void (*)(const Call&);
constexpr Function kFunctions[] = {all_reduce, reduce,  broadcast,  all_gather, gather,
                                   scatter,    nullptr, all_to_all, barrier};

Call read(const Context& context, const tn_collective_call& call, uint32_t tag) {
  Call c{context,
         Buffer(call.in),
         Buffer(call.out),
         call.root,
         tag,
         std::chrono::milliseconds(std::max<int64_t>(call.timeout_ms, 1)),
         call.reduction,
         {},
         {}};
  if (call.operation == TN_COLLECTIVE_ALL_TO_ALL) {
    c.in_counts.assign(call.in_counts, call.in_counts + context->size);
    c.out_counts.assign(call.out_counts, call.out_counts + context->size);
  }
  return c;
}

// The number of a collective, and a hash of what must be the same on all ranks: where it is not,
// ranks wait until their timeout, and nothing is mixed up (see "messages that do not fit").
uint32_t tag_of(const tn_collective_call& call, uint16_t number) {
  const bool reduces = call.operation <= TN_COLLECTIVE_REDUCE;
  const bool rooted =
      call.operation == TN_COLLECTIVE_REDUCE || call.operation == TN_COLLECTIVE_BROADCAST ||
      call.operation == TN_COLLECTIVE_GATHER || call.operation == TN_COLLECTIVE_SCATTER;
  const bool by_out =
      call.operation == TN_COLLECTIVE_SCATTER || call.operation == TN_COLLECTIVE_BROADCAST;
  const Buffer b(by_out ? call.out : call.in);
  const bool equal_parts = call.operation != TN_COLLECTIVE_ALL_TO_ALL;
  const uint32_t hash = sdk::collective_hash({call.operation, reduces ? call.reduction : 0,
                                              rooted ? call.root : 0, b.dtype.code, b.dtype.bits,
                                              equal_parts ? static_cast<int64_t>(b.elements) : 0});
  return hash << 16 | number;
}

}  // namespace

Task::Run make_collective(const Context& context, const tn_collective_call& call, uint16_t number) {
  const Function f = kFunctions[call.operation];
  const uint32_t tag = tag_of(call, number);
  return [f, c = read(context, call, tag)](Task&) { f(c); };
}

Task::Run make_transfer(const Context& context, const tn_collective_call& call) {
  const bool sends = call.operation == TN_COLLECTIVE_SEND;
  const Buffer b(sends ? call.in : call.out);
  std::shared_ptr<gloo::transport::UnboundBuffer> buffer =
      context->createUnboundBuffer(b.data, b.bytes());
  const std::chrono::milliseconds timeout(std::max<int64_t>(call.timeout_ms, 1));
  const uint64_t slot = slot_of(Sent::kMessage, call.tag, b.dtype, b.bytes());
  if (sends) {
    buffer->send(call.root, slot);
    return [context, buffer, timeout](Task&) { buffer->waitSend(timeout); };
  }
  if (call.root != TN_COLLECTIVE_ANY_SOURCE) {
    buffer->recv(call.root, slot);
  } else {
    std::vector<int> others;
    for (int r = 0; r < context->size; ++r) {
      if (r != context->rank) others.push_back(r);
    }
    buffer->recv(others, slot);
  }
  return [context, buffer, timeout](Task& op) { buffer->waitRecv(&op.source, timeout); };
}

}  // namespace tenon::gloo_engine
