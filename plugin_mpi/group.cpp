// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/group.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "plugin_mpi/process.h"
#include "plugin_mpi/progress.h"
#include "tenon/sdk/collective_task.h"

namespace tenon::mpi_engine {
namespace {

// The ranks in MPI_COMM_WORLD of the group's members, who tell them to each other.
std::vector<int> members_of(const tn_group_options& o) {
  const auto [rank, size] = world();
  const sdk::Rendezvous place(*o.rendezvous, o.timeout_ms);
  place.set("mpi/" + std::to_string(o.rank), std::to_string(rank) + "/" + std::to_string(size));
  std::vector<int> ranks;
  for (int r = 0; r < o.size; ++r) {
    const std::string theirs = place.get("mpi/" + std::to_string(r));
    const size_t slash = theirs.find('/');
    const int there = std::stoi(theirs), of = std::stoi(theirs.substr(slash + 1));
    const auto same = std::find(ranks.begin(), ranks.end(), there);
    if (same != ranks.end() || of != size)
      throw std::runtime_error("rank " + std::to_string(r) + " of the group is process " +
                               std::to_string(there) + " of " + std::to_string(of) + " of MPI, " +
                               (of != size
                                    ? "and this rank is one of " + std::to_string(size)
                                    : "and so is rank " + std::to_string(same - ranks.begin())) +
                               "; start all by one mpirun");
    ranks.push_back(there);
  }
  return ranks;
}

// Tells groups apart that are made at the same time; MPI has at least so many tags.
int tag_of(tn_str name) {
  return static_cast<int>(std::hash<std::string_view>()({name.ptr, name.len}) & 0x7fff);
}

// MPI has at least 2^15 - 1.
int max_tag() {
  void* most = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
  return found ? *static_cast<int*>(most) : (1 << 15) - 1;
}

// Two of the same ranks.
using Communicators = std::pair<MPI_Comm, MPI_Comm>;

Communicators make_communicators(std::vector<int> ranks, int tag) {
  const ErrorsReturn errors(MPI_COMM_WORLD);
  MPI_Group all = MPI_GROUP_NULL, mine = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL, twin = MPI_COMM_NULL;
  check(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
  const int some = MPI_Group_incl(all, to_int(ranks.size()), ranks.data(), &mine);
  MPI_Group_free(&all);
  check(some, "MPI_Group_incl");
  const int made = MPI_Comm_create_group(MPI_COMM_WORLD, mine, tag, &comm);
  MPI_Group_free(&mine);
  check(made, "MPI_Comm_create_group");
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  check(MPI_Comm_dup(comm, &twin), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
  return {comm, twin};
}

}  // namespace

// MPI's call waits for all members and has no timeout, so that a thread makes it, which is left
// behind if one does not come.
Group::Group(const tn_group_options& o) {
  begin_mpi();
  group_->rank = o.rank;
  group_->size = o.size;
  std::vector<int> ranks;
  if (o.rendezvous)
    ranks = members_of(o);
  else
    for (int r = 0; r < o.size; ++r) ranks.push_back(r);
  std::promise<Communicators> promise;
  auto made = promise.get_future();
  const sdk::BlockSignals blocked;
  std::thread([ranks, tag = tag_of(o.name), promise = std::move(promise)]() mutable {
    try {
      promise.set_value(make_communicators(std::move(ranks), tag));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  if (made.wait_for(std::chrono::milliseconds(o.timeout_ms)) != std::future_status::ready) {
    leave_unfinished();
    throw std::runtime_error("MPI_Comm_create_group: not done within " +
                             std::to_string(o.timeout_ms) + " ms");
  }
  std::tie(group_->comm, group_->exchanges) = made.get();
  group_->max_tag = max_tag();
}

// After an abort MPI_Comm_free might wait for those that are left behind.
Group::~Group() {
  if (group_->comm == MPI_COMM_NULL || group_->aborted || !is_usable()) return;
  MPI_Comm_free(&group_->comm);
  MPI_Comm_free(&group_->exchanges);
}

std::shared_ptr<sdk::CollectiveWork> Group::start(const tn_collective_call& call) {
  if (group_->aborted) throw std::runtime_error("the group was aborted");
  std::shared_ptr<Operation> work;
  {
    std::lock_guard held(starting_);
    work = std::make_shared<Operation>(group_, call);
  }
  if (!(call.flags & TN_COLLECTIVE_BLOCKING)) Progress::instance().add(work);
  return work;
}

}  // namespace tenon::mpi_engine
