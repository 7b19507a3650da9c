// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/receives.h"

#include <algorithm>

namespace tenon::mpi_engine {
namespace {

bool overlap(const Receive& a, const Receive& b) {
  return a.tag == b.tag &&
         (a.source == b.source || a.source == MPI_ANY_SOURCE || b.source == MPI_ANY_SOURCE);
}

}  // namespace

void Receives::add(Receive& r) {
  std::lock_guard held(lock_);
  waiting_.push_back(&r);
}

void Receives::remove(Receive& r) {
  std::lock_guard held(lock_);
  waiting_.remove(&r);
}

// A message that comes meanwhile is not for one behind another that was asked for in vain.
int Receives::ask(MPI_Comm comm, Receive& r, bool& has_come) {
  std::lock_guard held(lock_);
  int code = MPI_SUCCESS;
  for (auto at = waiting_.begin(); at != waiting_.end() && code == MPI_SUCCESS && !r.has_come;) {
    Receive& next = **at;
    const bool is_behind = std::any_of(waiting_.begin(), at,
                                       [&](const Receive* other) { return overlap(*other, next); });
    int came = 0;
    if (!is_behind)
      code = MPI_Improbe(next.source, next.tag, comm, &came, &next.message, &next.status);
    next.has_come = came != 0;
    at = came ? waiting_.erase(at) : std::next(at);
  }
  has_come = r.has_come;
  return code;
}

}  // namespace tenon::mpi_engine
