// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that the plugin calls, between processes of this machine.
#include <unistd.h>

#include <cstring>

#include "comm.h"
#include "settings.h"
#include "tenon/sdk/collective_reduce.h"

using namespace tenon;
using namespace tenon::fake;
using Held = std::shared_ptr<Operation>;

namespace {

// Of the calls between ncclGroupStart and ncclGroupEnd of this thread.
struct Group {
  int depth = 0;
  ncclResult_t fault = ncclSuccess;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  Held operation;
};
thread_local Group t_group;
thread_local std::string t_error;

// The code of a call that was told to fail, else ncclSuccess.
ncclResult_t enter(const char* function) {
  const int code = take_code("fail", function);
  t_error = code ? std::string(function) + " was told to fail" : "";
  if (code && t_group.depth > 0) t_group.fault = static_cast<ncclResult_t>(code);
  return static_cast<ncclResult_t>(code);
}
#define ENTER() \
  if (const ncclResult_t code_ = enter(__func__); code_ != ncclSuccess) return code_

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

tn_dtype dtype_of(ncclDataType_t type) {
  const auto bits = static_cast<uint8_t>(bytes_of(type) * 8);
  switch (type) {
    case ncclUint8:
      return {TN_UINT, bits, 1};
    case ncclInt8:
    case ncclInt32:
    case ncclInt64:
      return {TN_INT, bits, 1};
    case ncclBfloat16:
      return {TN_BFLOAT, bits, 1};
    default:
      return {TN_FLOAT, bits, 1};
  }
}

int32_t reduction_of(ncclRedOp_t op) {
  switch (op) {
    case ncclProd:
      return TN_COLLECTIVE_PRODUCT;
    case ncclMax:
      return TN_COLLECTIVE_MAX;
    case ncclMin:
      return TN_COLLECTIVE_MIN;
    case ncclAvg:
      return TN_COLLECTIVE_AVG;
    default:
      return TN_COLLECTIVE_SUM;
  }
}

uint64_t kind_of(const char* name, int a = 0, int b = 0, int c = 0) {
  uint64_t hash = 14695981039346656037u;
  const std::string text = std::string(name) + "/" + std::to_string(a) + "/" + std::to_string(b) +
                           "/" + std::to_string(c);
  for (const char letter : text) hash = (hash ^ static_cast<uint8_t>(letter)) * 1099511628211u;
  return hash;
}

char* plain(const void* p) { return static_cast<char*>(const_cast<void*>(p)); }

// Of n elements of each rank, in the order of ranks, which this rank has in its operation's room.
ncclResult_t finish_by_reducing(const Held& o, void* out, std::size_t n, ncclDataType_t type,
                                ncclRedOp_t op) {
  const sdk::Combine combine = sdk::combine_of(dtype_of(type), reduction_of(op));
  if (!combine) return ncclInvalidArgument;
  o->finish = [operation = o.get(), out, n, type, op, combine] {
    std::vector<char> sum = operation->room[0];
    for (std::size_t r = 1; r < operation->room.size(); ++r)
      combine(sum.data(), sum.data(), operation->room[r].data(), n);
    if (op == ncclAvg)
      sdk::divide_of(dtype_of(type))(sum.data(), n, static_cast<int>(operation->room.size()));
    std::memcpy(out, sum.data(), sum.size());
  };
  return ncclSuccess;
}

// This rank gets `bytes` of each rank in its operation's room.
void receive_from_all(const Held& o, const ncclComm& comm, std::size_t bytes, uint64_t kind) {
  o->room.assign(static_cast<std::size_t>(comm.size), std::vector<char>(bytes));
  for (int r = 0; r < comm.size; ++r)
    o->messages.push_back({r, false, o->room[static_cast<std::size_t>(r)].data(), bytes, kind});
}

ncclResult_t transfer(ncclComm_t comm, cudaStream_t stream, const Message& message) {
  const bool is_alone = t_group.depth == 0;
  Held o = is_alone || !t_group.operation ? std::make_shared<Operation>() : t_group.operation;
  o->messages.push_back(message);
  if (!message.sends) o->overwritten.emplace_back(message.data, message.bytes);
  if (is_alone) return comm->enqueue(o, stream);
  t_group = {t_group.depth, t_group.fault, comm, stream, o};
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  ENTER();
  *version = NCCL_VERSION_CODE;
  if (const int other = std::atoi(setting("version").c_str())) *version = other;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t code) {
  static thread_local std::string text;
  return (text = "fake error " + std::to_string(code)).c_str();
}
const char* ncclGetLastError(ncclComm_t) { return t_error.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  ENTER();
  static std::atomic<int> count{0};
  const std::string name =
      "tenon-fake-nccl-" + std::to_string(getpid()) + "-" + std::to_string(++count);
  std::memcpy(id->internal, name.c_str(), name.size() + 1);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  ENTER();
  *comm = new ncclComm(id.internal, rank, size);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  ENTER();
  const int told = take_code("async", "");
  *state = told ? static_cast<ncclResult_t>(told) : comm->state();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  ENTER();
  comm->finalize();
  return ncclInProgress;
}

// What releases something does so, and then says that it failed.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return enter(__func__);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return enter(__func__);
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  const auto o = std::make_shared<Operation>();
  const std::size_t bytes = n * bytes_of(type);
  const uint64_t kind = kind_of(__func__, type, op);
  for (int r = 0; r < comm->size; ++r) o->messages.push_back({r, true, plain(in), bytes, kind});
  receive_from_all(o, *comm, bytes, kind);
  if (in != out) o->overwritten.emplace_back(out, bytes);
  if (finish_by_reducing(o, out, n, type, op) != ncclSuccess) return ncclInvalidArgument;
  return comm->enqueue(o, stream);
}

ncclResult_t ncclReduce(const void* in, void* out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  const auto o = std::make_shared<Operation>();
  const std::size_t bytes = n * bytes_of(type);
  const uint64_t kind = kind_of(__func__, type, op, root);
  o->messages.push_back({root, true, plain(in), bytes, kind});
  if (comm->rank == root) {
    receive_from_all(o, *comm, bytes, kind);
    if (in != out) o->overwritten.emplace_back(out, bytes);
    if (finish_by_reducing(o, out, n, type, op) != ncclSuccess) return ncclInvalidArgument;
  }
  return comm->enqueue(o, stream);
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  const auto o = std::make_shared<Operation>();
  const std::size_t bytes = n * bytes_of(type);
  const uint64_t kind = kind_of(__func__, type, op);
  for (int r = 0; r < comm->size; ++r)
    o->messages.push_back({r, true, plain(in) + static_cast<std::size_t>(r) * bytes, bytes, kind});
  receive_from_all(o, *comm, bytes, kind);
  o->overwritten.emplace_back(out, bytes);
  if (finish_by_reducing(o, out, n, type, op) != ncclSuccess) return ncclInvalidArgument;
  return comm->enqueue(o, stream);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t n, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  const auto o = std::make_shared<Operation>();
  const std::size_t bytes = n * bytes_of(type);
  const uint64_t kind = kind_of(__func__, type, root);
  for (int r = 0; comm->rank == root && r < comm->size; ++r)
    o->messages.push_back({r, true, plain(in), bytes, kind});
  o->messages.push_back({root, false, plain(out), bytes, kind});
  if (comm->rank != root) o->overwritten.emplace_back(out, bytes);
  return comm->enqueue(o, stream);
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t n, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  ENTER();
  const auto o = std::make_shared<Operation>();
  const std::size_t bytes = n * bytes_of(type);
  const uint64_t kind = kind_of(__func__, type);
  for (int r = 0; r < comm->size; ++r) {
    o->messages.push_back({r, true, plain(in), bytes, kind});
    o->messages.push_back(
        {r, false, plain(out) + static_cast<std::size_t>(r) * bytes, bytes, kind});
  }
  o->overwritten.emplace_back(out, bytes * static_cast<std::size_t>(comm->size));
  return comm->enqueue(o, stream);
}

ncclResult_t ncclSend(const void* in, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  ENTER();
  return transfer(comm, stream, {peer, true, plain(in), n * bytes_of(type), kind_of("message")});
}

ncclResult_t ncclRecv(void* out, size_t n, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  ENTER();
  return transfer(comm, stream, {peer, false, plain(out), n * bytes_of(type), kind_of("message")});
}

ncclResult_t ncclGroupStart() {
  ENTER();
  ++t_group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const ncclResult_t told = enter(__func__);
  if (--t_group.depth > 0) return told;
  const Group group = std::exchange(t_group, {});
  if (told != ncclSuccess || group.fault != ncclSuccess)
    return told != ncclSuccess ? told : group.fault;
  return group.operation ? group.comm->enqueue(group.operation, group.stream) : ncclSuccess;
}
}
