// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/collectives.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include <cstring>

#include "plugin_gloo/reduce.h"

namespace tenon::gloo_engine {
namespace {

struct Buffer {
  char* data = nullptr;
  size_t elements = 0;
  tn_dtype dtype{TN_UINT, 8, 1};

  explicit Buffer(const tn_tensor* t) {
    if (!t) return;
    data = static_cast<char*>(t->data) + t->byte_offset;
    dtype = t->dtype;
    elements = 1;
    for (int32_t d = 0; d < t->ndim; ++d) elements *= static_cast<size_t>(t->sizes[d]);
  }
  size_t bytes() const { return elements * item_bytes(dtype); }
};

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
  if (c.reduction == TN_COLLECTIVE_AVG) divide_of(c.out.dtype)(data, n, c.context->size);
}

void all_reduce(const Call& c) {
  if (c.in.data != c.out.data) std::memcpy(c.out.data, c.in.data, c.in.bytes());
  if (c.context->size > 1 && c.out.elements) {
    gloo::AllreduceOptions o(c.context);
    of_size(item_bytes(c.out.dtype), [&](auto item) {
      o.setOutput(reinterpret_cast<decltype(item)*>(c.out.data), c.out.elements);
    });
    o.setReduceFunction(combine_of(c.out.dtype, c.reduction));
    c.fill(o);
    gloo::allreduce(o);
  }
  divide(c, c.out.data, c.out.elements);
}

void reduce(const Call& c) {
  std::vector<char> mine(c.in.data, c.in.data + c.in.bytes());  // gloo writes on all ranks
  if (c.context->size > 1 && c.in.elements) {
    gloo::ReduceOptions o(c.context);
    of_size(item_bytes(c.in.dtype), [&](auto item) {
      o.setOutput(reinterpret_cast<decltype(item)*>(mine.data()), c.in.elements);
    });
    o.setRoot(c.root);
    o.setReduceFunction(combine_of(c.in.dtype, c.reduction));
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

void all_to_all(const Call& c) {
  gloo::AlltoallvOptions o(c.context);
  of_size(item_bytes(c.in.dtype), [&](auto item) {
    using T = decltype(item);
    o.setInput(reinterpret_cast<T*>(c.in.data), c.in_counts);
    o.setOutput(reinterpret_cast<T*>(c.out.data), c.out_counts);
  });
  c.fill(o);
  gloo::alltoallv(o);
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

// Apart from the slots of collectives, whose highest byte in use is the sixth.
uint64_t slot_of(uint32_t tag) { return uint64_t{1} << 56 | tag; }

}  // namespace

std::function<void(Operation&)> make_collective(const Context& context,
                                                const tn_collective_call& call, uint32_t tag) {
  const Function f = kFunctions[call.operation];
  return [f, c = read(context, call, tag)](Operation&) { f(c); };
}

std::function<void(Operation&)> make_transfer(const Context& context,
                                              const tn_collective_call& call) {
  const bool sends = call.operation == TN_COLLECTIVE_SEND;
  const Buffer b(sends ? call.in : call.out);
  std::shared_ptr<gloo::transport::UnboundBuffer> buffer =
      context->createUnboundBuffer(b.data, b.bytes());
  const std::chrono::milliseconds timeout(std::max<int64_t>(call.timeout_ms, 1));
  if (sends) {
    buffer->send(call.root, slot_of(call.tag));
    return [context, buffer, timeout](Operation&) { buffer->waitSend(timeout); };
  }
  if (call.root != TN_COLLECTIVE_ANY_SOURCE) {
    buffer->recv(call.root, slot_of(call.tag));
  } else {
    std::vector<int> others;
    for (int r = 0; r < context->size; ++r) {
      if (r != context->rank) others.push_back(r);
    }
    buffer->recv(others, slot_of(call.tag));
  }
  return [context, buffer, timeout](Operation& op) { buffer->waitRecv(&op.source, timeout); };
}

}  // namespace tenon::gloo_engine
