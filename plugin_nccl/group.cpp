// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/group.h"

#include "plugin_nccl/types.h"
#include "tenon/sdk/error.h"

namespace tenon::nccl_engine {
namespace {

using Buffer = sdk::CollectiveBuffer;

struct Call {
  const tn_collective_call& what;
  Buffer in, out;
  const Communicator& group;
  ncclComm_t comm;
  cudaStream_t stream;
};

#define NCCL_CALL(comm, f, ...) check(nccl().f(__VA_ARGS__), #f, comm)

// Sends and receives that go on at the same time.
class Parts {
 public:
  explicit Parts(const Call& c) : call_(c) { NCCL_CALL(c.comm, ncclGroupStart); }
  // After a fault NCCL drops them.
  ~Parts() {
    if (!ended_) nccl().ncclGroupEnd();
  }
  Parts(const Parts&) = delete;

  void send(int to, const char* data, size_t bytes) const {
    if (bytes)
      NCCL_CALL(call_.comm, ncclSend, data, bytes, ncclUint8, to, call_.comm, call_.stream);
  }
  void receive(int from, char* data, size_t bytes) const {
    if (bytes)
      NCCL_CALL(call_.comm, ncclRecv, data, bytes, ncclUint8, from, call_.comm, call_.stream);
  }
  void end() {
    ended_ = true;
    NCCL_CALL(call_.comm, ncclGroupEnd);
  }

 private:
  const Call& call_;
  bool ended_ = false;
};

void reduce(const Call& c) {
  const Reduction r = reduction_of(c.in.dtype, c.what.reduction).value();
  const size_t n = r.per_element * c.in.elements;
  switch (c.what.operation) {
    case TN_COLLECTIVE_ALL_REDUCE:
      return NCCL_CALL(c.comm, ncclAllReduce, c.in.data, c.out.data, n, r.type, r.op, c.comm,
                       c.stream);
    case TN_COLLECTIVE_REDUCE:
      return NCCL_CALL(c.comm, ncclReduce, c.in.data, c.out.data, n, r.type, r.op, c.what.root,
                       c.comm, c.stream);
    default:
      return NCCL_CALL(c.comm, ncclReduceScatter, c.in.data, c.out.data,
                       r.per_element * c.out.elements, r.type, r.op, c.comm, c.stream);
  }
}

void gather(const Call& c) {
  Parts parts(c);
  parts.send(c.what.root, c.in.data, c.in.bytes());
  for (int r = 0; c.group.rank() == c.what.root && r < c.group.size(); ++r)
    parts.receive(r, c.out.data + static_cast<size_t>(r) * c.in.bytes(), c.in.bytes());
  parts.end();
}

void scatter(const Call& c) {
  Parts parts(c);
  for (int r = 0; c.group.rank() == c.what.root && r < c.group.size(); ++r)
    parts.send(r, c.in.data + static_cast<size_t>(r) * c.out.bytes(), c.out.bytes());
  parts.receive(c.what.root, c.out.data, c.out.bytes());
  parts.end();
}

void all_to_all(const Call& c) {
  Parts parts(c);
  const char* from = c.in.data;
  char* to = c.out.data;
  for (int r = 0; r < c.group.size(); ++r) {
    const size_t sent = static_cast<size_t>(c.what.in_counts[r]) * c.in.item_bytes();
    const size_t received = static_cast<size_t>(c.what.out_counts[r]) * c.out.item_bytes();
    parts.send(r, from, sent);
    parts.receive(r, to, received);
    from += sent;
    to += received;
  }
  parts.end();
}

void transfer(const Call& c) {
  if (c.what.operation == TN_COLLECTIVE_SEND)
    NCCL_CALL(c.comm, ncclSend, c.in.data, c.in.bytes(), ncclUint8, c.what.root, c.comm, c.stream);
  else
    NCCL_CALL(c.comm, ncclRecv, c.out.data, c.out.bytes(), ncclUint8, c.what.root, c.comm,
              c.stream);
}

void run(const Call& c) {
  if (c.what.operation == TN_COLLECTIVE_BARRIER)
    return NCCL_CALL(c.comm, ncclAllReduce, c.group.scratch(), c.group.scratch(), 1, ncclInt32,
                     ncclSum, c.comm, c.stream);
  if (c.what.operation == TN_COLLECTIVE_ALL_TO_ALL) return all_to_all(c);
  if (c.in.elements + c.out.elements == 0) return;  // on all ranks
  switch (c.what.operation) {
    case TN_COLLECTIVE_BROADCAST:
      return NCCL_CALL(c.comm, ncclBroadcast, c.out.data, c.out.data, c.out.bytes(), ncclUint8,
                       c.what.root, c.comm, c.stream);
    case TN_COLLECTIVE_ALL_GATHER:
      return NCCL_CALL(c.comm, ncclAllGather, c.in.data, c.out.data, c.in.bytes(), ncclUint8,
                       c.comm, c.stream);
    case TN_COLLECTIVE_GATHER:
      return gather(c);
    case TN_COLLECTIVE_SCATTER:
      return scatter(c);
    case TN_COLLECTIVE_SEND:
    case TN_COLLECTIVE_RECV:
      return transfer(c);
    default:
      return reduce(c);
  }
}

// NCCL matches the messages of two ranks by their order alone.
void check_transfer(const tn_collective_call& call) {
  if (!sdk::is_to_one(call.operation)) return;
  if (call.tag != 0)
    throw std::runtime_error(sdk::join("NCCL has no tags: got tag ", call.tag, ", expected 0"));
  if (call.root == TN_COLLECTIVE_ANY_SOURCE)
    throw std::runtime_error("NCCL receives from a rank that is named; got any source");
}

}  // namespace

std::shared_ptr<sdk::CollectiveWork> Group::start(const tn_collective_call& call) {
  check_transfer(call);
  return communicator_.start(call, [&](ncclComm_t comm, cudaStream_t stream) {
    run({call, Buffer(call.in), Buffer(call.out), communicator_, comm, stream});
  });
}

}  // namespace tenon::nccl_engine
