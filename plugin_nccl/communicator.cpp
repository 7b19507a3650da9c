// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_nccl/communicator.h"

#include <algorithm>
#include <cstring>

#include "tenon/sdk/collective_task.h"
#include "tenon/sdk/error.h"

namespace tenon::nccl_engine {
namespace {

constexpr size_t kScratch = 64;
constexpr std::chrono::milliseconds kPeriod(20);  // of the watch

int device_of(const tn_group_options& o) {
  if (!TN_HAS(&o, tn_group_options, device) || o.device.type != TN_CUDA)
    throw std::runtime_error("the group is not of a CUDA device");
  return o.device.index;
}

}  // namespace

Communicator::Communicator(const tn_group_options& o)
    : rank_(o.rank),
      size_(o.size),
      device_(device_of(o)),
      timeout_ms_(std::max<int64_t>(o.timeout_ms, 1)) {
  const DeviceGuard on(device_);
  const sdk::BlockSignals blocked;  // in NCCL's threads, too
  check(cudaMalloc(&scratch_, kScratch), "cudaMalloc");
  try {
    join(o);
  } catch (...) {
    if (comm_) nccl().ncclCommAbort(comm_);
    cudaFree(scratch_);
    throw;
  }
  watcher_ = std::thread([this] { watch(); });
}

Communicator::~Communicator() {
  {
    std::lock_guard held(lock_);
    stop_ = true;
    changed_.notify_all();
  }
  watcher_.join();
  leave();
}

// Rank 0 makes the id, or says why it cannot.
ncclUniqueId Communicator::meet(const tn_group_options& o) const {
  if (!o.rendezvous) throw std::runtime_error("NCCL's ranks need a store to meet in");
  const sdk::Rendezvous place(*o.rendezvous, timeout_ms_);
  ncclUniqueId id{};
  if (rank_ == 0) {
    try {
      check(nccl().ncclGetUniqueId(&id), "ncclGetUniqueId");
    } catch (const Failure& e) {
      place.set("nccl", e.what());
      throw;
    }
    place.set("nccl", {id.internal, sizeof id.internal});
    return id;
  }
  const std::string came = place.get("nccl");
  if (came.size() != sizeof id.internal)
    throw std::runtime_error("rank 0 could not begin: " + came);
  std::memcpy(id.internal, came.data(), sizeof id.internal);
  return id;
}

void Communicator::join(const tn_group_options& o) {
  const ncclUniqueId id = meet(o);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  check(nccl().ncclCommInitRankConfig(&comm_, size_, id, rank_, &config), "ncclCommInitRankConfig",
        comm_);
  settle("ncclCommInitRankConfig", end, timeout_ms_);
}

// A call of a communicator that does not block goes on after its return.
void Communicator::settle(const char* call, Clock::time_point end, int64_t timeout_ms) {
  for (auto pause = std::chrono::microseconds(10);;
       pause = std::min(pause * 2, std::chrono::microseconds(1000))) {
    ncclResult_t state = ncclSuccess;
    check(nccl().ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError", comm_);
    if (state != ncclInProgress) return check(state, call, comm_);
    if (aborting_)
      throw Failure(sdk::join(std::string_view(call), ": the group was aborted"), false);
    if (Clock::now() > end)
      throw Failure(sdk::join(std::string_view(call), ": not done within ", timeout_ms, " ms"),
                    true);
    std::this_thread::sleep_for(pause);
  }
}

std::shared_ptr<Operation> Communicator::start(const tn_collective_call& call, const Calls& f) {
  const DeviceGuard on(device_);
  const cudaStream_t stream = native_stream(device_, call.stream);
  auto operation = std::make_shared<Operation>(call);
  bool is_taken = false;  // what follows is an error of an operation that is under way
  try {
    std::lock_guard held(calls_);
    check_alive();
    f(comm_, stream);
    is_taken = true;
    const int64_t ms = operation->timeout_ms();
    settle("NCCL", Clock::now() + std::chrono::milliseconds(ms), ms);
    operation->record(stream);
    check_alive(operation);
  } catch (const Failure& e) {
    if (e.ends_group || is_taken) abort(e.what());
    throw;
  } catch (const std::exception& e) {
    if (is_taken) abort(e.what());
    throw;
  }
  return operation;
}

// Throws after an abort, which then finds what is added here, or is found here.
void Communicator::check_alive(std::shared_ptr<Operation> added) {
  std::lock_guard held(lock_);
  if (aborting_) throw std::runtime_error("the group was aborted: " + why_aborted_);
  if (!added) return;
  under_way_.push_back(std::move(added));
  changed_.notify_one();
}

void Communicator::abort(const std::string& why) {
  std::vector<std::shared_ptr<Operation>> doomed;
  {
    std::lock_guard held(lock_);
    if (aborting_.exchange(true)) return;
    why_aborted_ = why;
    for (const auto& operation : under_way_) {
      if (operation->doom(why)) doomed.push_back(operation);
    }
  }
  {
    std::lock_guard held(calls_);
    if (comm_) nccl().ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  for (const auto& operation : doomed) operation->fail();
}

// What is wrong with the communicator or what is under way there; empty: nothing.
std::string Communicator::find_fault() {
  {
    std::unique_lock held(calls_, std::try_to_lock);
    if (!held || !comm_) return "";
    ncclResult_t state = ncclSuccess;
    try {
      check(nccl().ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError", comm_);
      check(state, "NCCL", comm_);
    } catch (const Failure& e) {
      return e.what();
    }
  }
  std::lock_guard held(lock_);
  for (const auto& operation : under_way_) {
    if (operation->is_late() && !operation->is_done())
      return sdk::join("not done within ", operation->timeout_ms(), " ms");
  }
  return "";
}

// Until the end: asks NCCL about errors, and ends what is late.
void Communicator::watch() {
  cudaSetDevice(device_);
  std::unique_lock held(lock_);
  while (!stop_) {
    changed_.wait(held, [&] { return stop_ || !under_way_.empty(); });
    if (stop_) return;
    const auto ended = [&](const auto& operation) { return aborting_ || operation->is_done(); };
    under_way_.erase(std::remove_if(under_way_.begin(), under_way_.end(), ended), under_way_.end());
    if (under_way_.empty()) continue;
    held.unlock();
    if (const std::string fault = find_fault(); !fault.empty()) abort(fault);
    held.lock();
    changed_.wait_for(held, kPeriod, [&] { return stop_; });
  }
}

// The ranks leave together; where one does not come, the others abort. What fails after that nobody
// can be told.
void Communicator::leave() {
  cudaSetDevice(device_);
  if (comm_) {
    try {
      check(nccl().ncclCommFinalize(comm_), "ncclCommFinalize", comm_);
      settle("ncclCommFinalize", Clock::now() + std::chrono::milliseconds(timeout_ms_),
             timeout_ms_);
      nccl().ncclCommDestroy(comm_);
    } catch (...) {
      nccl().ncclCommAbort(comm_);
    }
  }
  cudaFree(scratch_);
}

}  // namespace tenon::nccl_engine
