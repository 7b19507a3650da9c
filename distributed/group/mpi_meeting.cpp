// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "distributed/group/engine.h"
#include "distributed/group/meeting.h"
#include "runtime/base/settings.h"
#include "tenon/distributed/tcp_store.h"
#include "tenon/ops.h"

namespace tenon::distributed {
namespace {

constexpr int64_t kText = 256;

// What rank 0 has.
std::string broadcast_text(const tn_ext_collective& engine, int rank, int size,
                           const std::string& text, std::chrono::milliseconds timeout) {
  const Membership all(engine, nullptr, rank, size, "meeting", timeout, Device("cpu"));
  Tensor bytes = zeros({kText}, kByte);
  auto* data = reinterpret_cast<char*>(bytes.data_ptr<uint8_t>());
  std::copy_n(text.data(), std::min<std::size_t>(text.size(), kText - 1), data);
  tn_collective_call call{};
  call.struct_size = sizeof call;
  call.operation = TN_COLLECTIVE_BROADCAST;
  call.flags = TN_COLLECTIVE_BLOCKING;
  call.timeout_ms = timeout.count();
  call.out = &bytes.unsafeGetTensorImpl()->view;
  call.in = rank == 0 ? call.out : nullptr;
  tn_work* work = nullptr;
  int32_t done = 0;
  tn_status status = engine.start(engine.context, all.group(), &call, &work);
  if (status == TN_OK) status = engine.wait(engine.context, work, INT64_MAX, &done);
  const std::string why = status == TN_OK ? "" : error_of(engine);
  std::string out(data);
  if (work && !engine.release(engine.context, work)) new Tensor(bytes);  // MPI goes on using it
  if (status != TN_OK)
    throw DistributedError(core::join("init_process_group: mpi://: rank ", rank,
                                      " did not get the store's address: ", why));
  return out;
}

}  // namespace

Meeting meet_by_mpi(int world_size, int rank, std::chrono::milliseconds timeout) {
  const tn_ext_collective& engine = find_engine("mpi");
  int32_t mine = 0, size = 0;
  if (!TN_HAS(&engine.head, tn_ext_collective, world) || !engine.world ||
      engine.world(engine.context, &mine, &size) != TN_OK)
    throw BackendError(core::join("init_process_group: mpi://: ", error_of(engine)));
  TENON_CHECK((world_size < 0 || world_size == size) && (rank < 0 || rank == mine), ValueError,
              "init_process_group: mpi:// makes this process rank ", mine, " of ", size,
              "; expected are rank ", rank, " and world_size ", world_size);
  if (size == 1) return {std::make_shared<HashStore>(timeout), 0, 1};
  TCPStoreOptions o;
  o.port = 0;
  o.isServer = mine == 0;
  o.timeout = timeout;
  o.secret = core::setting("DISTRIBUTED_SECRET");
  std::string host = core::setting("DISTRIBUTED_INTERFACE");
  if (host.empty()) host = "127.0.0.1";
  std::shared_ptr<TCPStore> store;
  if (mine == 0) store = std::make_shared<TCPStore>(host, o);
  const std::string place = broadcast_text(
      engine, mine, size, store ? core::join(host, " ", int{store->getPort()}) : "", timeout);
  if (store) return {store, mine, size};
  const std::size_t space = place.find(' ');
  host = place.substr(0, space);
  o.port = static_cast<uint16_t>(std::stoi(place.substr(space + 1)));
  return {std::make_shared<TCPStore>(host, o), mine, size};
}

}  // namespace tenon::distributed
