// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/messages.h"

#include <algorithm>

#include "plugin_mpi/process.h"
#include "tenon/sdk/collective.h"

namespace tenon::mpi_engine {
namespace {

constexpr uint32_t kNumbers = 1 << 12;  // more are never under way at once

}  // namespace

Messages::Messages(Communicator& group, MPI_Datatype type, size_t item, size_t max_elements,
                   uint32_t hash, size_t scratch)
    : group_(group),
      type_(type),
      item_(item),
      max_elements_(std::max(max_elements, size_t{1})),
      hash_(hash),
      number_(group.begun++ % kNumbers),
      scratch_(group.scratch.take(scratch)) {}

Messages::~Messages() {
  scratch_.lists.clear();
  group_.scratch.give_back(std::move(scratch_));
}

// The number of the operation, and a hash of what must be the same on both sides.
int Messages::tag_of(size_t elements) const {
  const uint32_t hashes = (static_cast<uint32_t>(group_.max_tag) + 1) / kNumbers;
  const uint32_t hash = sdk::collective_hash({hash_, static_cast<int64_t>(elements)});
  return static_cast<int>(hash % hashes * kNumbers + number_);
}

void Messages::check(int code, const char* what) {
  if (code != MPI_SUCCESS && fault_.empty()) fault_ = text_of(code, what);
}

void Messages::receive(int from, char* to, size_t elements) {
  const int tag = tag_of(elements);
  for (size_t at = 0, n = 0; at < elements && fault_.empty(); at += n) {
    n = std::min(elements - at, max_elements_);
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(n);
    check(MPI_Irecv(to + bytes_of(at), count, type_, from, tag, group_.exchanges, &request),
          "MPI_Irecv");
    if (fault_.empty()) add(request, {from, count});
  }
}

void Messages::send(int to, const char* from, size_t elements) {
  const int tag = tag_of(elements);
  for (size_t at = 0, n = 0; at < elements && fault_.empty(); at += n) {
    n = std::min(elements - at, max_elements_);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(from + bytes_of(at), static_cast<int>(n), type_, to, tag, group_.exchanges,
                    &request),
          "MPI_Isend");
    if (fault_.empty()) add(request, {to, -1});
  }
}

void Messages::add(MPI_Request request, std::pair<int, int> expected) {
  scratch_.lists.requests.push_back(request);
  scratch_.lists.expected.push_back(expected);
  ++left_;
}

// A message that is shorter than expected is no error of MPI's.
void Messages::look_at(const MPI_Status& status, std::pair<int, int> expected) {
  const auto [from, count] = expected;
  int came = count;
  if (count >= 0) MPI_Get_count(&status, type_, &came);
  if (came != count && fault_.empty())
    fault_ = "rank " + std::to_string(from) + " sent " + std::to_string(came) +
             " elements of a part; expected " + std::to_string(count);
}

// Which messages have ended.
void Messages::ask() {
  Scratch::Lists& l = scratch_.lists;
  l.indices.resize(l.requests.size());
  l.statuses.resize(l.requests.size());
  int completed = 0;
  const int code = MPI_Testsome(static_cast<int>(l.requests.size()), l.requests.data(), &completed,
                                l.indices.data(), l.statuses.data());
  if (completed == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
    check(code, "MPI_Testsome");
    left_ = 0;
    return;
  }
  for (size_t i = 0; i < static_cast<size_t>(completed); ++i) {
    if (code == MPI_ERR_IN_STATUS) check(l.statuses[i].MPI_ERROR, "MPI_Testsome");
    if (fault_.empty()) look_at(l.statuses[i], l.expected[static_cast<size_t>(l.indices[i])]);
  }
  left_ -= static_cast<size_t>(completed);
  steps_ += completed > 0;
}

bool Messages::cancel(bool is_given_up) {
  if (is_given_up && fault_.empty()) fault_ = "given up";
  if (fault_.empty()) return false;
  Scratch::Lists& l = scratch_.lists;
  for (size_t i = 0; i < l.requests.size(); ++i) {
    if (l.expected[i].second >= 0 && l.requests[i] != MPI_REQUEST_NULL) MPI_Cancel(&l.requests[i]);
  }
  return true;
}

bool Messages::advance() {
  if (left_ > 0) ask();
  while (left_ == 0 && !done_ && fault_.empty()) {
    scratch_.lists.clear();
    done_ = !go_on();
  }
  return left_ == 0;
}

}  // namespace tenon::mpi_engine
