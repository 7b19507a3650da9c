// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/exchange.h"

#include <algorithm>
#include <cstring>

#include "plugin_mpi/process.h"
#include "tenon/sdk/collective_reduce.h"

namespace tenon::mpi_engine {
namespace {

// Two ranks exchange halves from 1 KiB on; more ranks have more messages, which pays later.
constexpr size_t kMinBytesOfTwo = 1 << 10, kMinBytesPerRank = 16 << 10;
// What a rank sends to all others together, where each combines everything: one round instead of
// two or more, as ranks that share cores wait for their turn in each.
constexpr size_t kMaxBytesToAll = 24 << 10;
constexpr int kMaxRanksToAll = 8;
// Open MPI sends a message of 4 KiB between processes of a machine when its receiver has answered.
constexpr size_t kPieceToAll = 3 << 10;
// Bounds the memory. Smaller segments are slower between cores without a common cache, where what
// the other core has just written takes long to read.
constexpr size_t kSegment = 16 << 20;
constexpr uint32_t kNumbers = 1 << 12;  // more are never under way at once

size_t segment_of(size_t total, size_t item, size_t parts) {
  return std::min(total, std::max(kSegment / item / parts, size_t{1}));
}

bool goes_to_all(int32_t operation, size_t bytes, int size) {
  return operation == TN_COLLECTIVE_ALL_REDUCE && size <= kMaxRanksToAll &&
         bytes * static_cast<size_t>(size - 1) <= kMaxBytesToAll;
}

// The number of an exchange, and a hash of what must be the same on all ranks: see "messages that
// do not fit".
int tag_of(Communicator& group, const Exchange::Reduction& r, size_t elements) {
  const uint32_t hash = sdk::collective_hash({r.operation, r.reduction, r.root, r.in.dtype.code,
                                              r.in.dtype.bits, static_cast<int64_t>(elements)});
  const uint32_t hashes = (static_cast<uint32_t>(group.max_tag) + 1) / kNumbers;
  return static_cast<int>(hash % hashes * kNumbers + group.begun++ % kNumbers);
}

}  // namespace

bool Exchange::serves(int32_t operation, size_t bytes, int size) {
  if (size < 2) return false;
  if (goes_to_all(operation, bytes, size)) return true;
  return bytes >= (size == 2 ? kMinBytesOfTwo : kMinBytesPerRank * static_cast<size_t>(size));
}

Exchange::Exchange(Communicator& group, const Reduction& what)
    : group_(group),
      what_(what),
      scatters_(what.operation == TN_COLLECTIVE_REDUCE_SCATTER),
      whole_(goes_to_all(what.operation, what.in.bytes(), group.size)),
      item_(what.in.item_bytes()),
      total_(scatters_ ? what.out.elements : what.in.elements),
      segment_(segment_of(total_, item_, scatters_ ? static_cast<size_t>(group.size) : 1)),
      message_(whole_ ? std::max(kPieceToAll / item_, size_t{1}) : segment_),
      tag_(tag_of(group, what, total_)) {
  const auto ranks = static_cast<size_t>(group_.size);
  const size_t max_part = scatters_ || whole_ ? segment_ : segment_ / ranks + 1;
  const bool keeps_result = what_.operation == TN_COLLECTIVE_REDUCE && group_.rank != what_.root;
  scratch_ = group_.scratch.take(bytes_of(max_part * (keeps_result ? ranks : ranks - 1)));
  const size_t pieces = whole_ ? total_ / message_ + 1 : 1, count = 2 * (ranks - 1) * pieces;
  Messages& m = messages();
  m.requests.clear();
  m.expected.clear();
  m.indices.resize(count);
  m.statuses.resize(count);
  begin_segment();
  left_ = m.requests.size();
}

Exchange::~Exchange() { group_.scratch.give_back(std::move(scratch_)); }

Exchange::Part Exchange::part_of(int rank) const {
  const auto r = static_cast<size_t>(rank), ranks = static_cast<size_t>(group_.size);
  if (scatters_) return {r * total_ + at_, length_};
  if (whole_) return {at_, length_};
  const size_t begin = length_ * r / ranks, end = length_ * (r + 1) / ranks;
  return {at_ + begin, end - begin};
}

// Of a rank of the others, in their order; this rank's own is the last.
char* Exchange::slot_of(int rank) {
  const int me = group_.rank, at = rank == me ? group_.size - 1 : rank - (rank > me);
  return scratch_.memory.get() + static_cast<size_t>(at) * bytes_of(part_of(me).elements);
}

// Where this rank's part of the segment is combined.
char* Exchange::result() {
  if (scatters_) return what_.out.data + bytes_of(at_);
  if (what_.operation == TN_COLLECTIVE_REDUCE && group_.rank != what_.root)
    return slot_of(group_.rank);
  return what_.out.data + bytes_of(part_of(group_.rank).at);
}

void Exchange::check(int code, const char* what) {
  if (code != MPI_SUCCESS && fault_.empty()) fault_ = text_of(code, what);
}

void Exchange::receive(int from, char* to, size_t elements) {
  for (size_t at = 0, n = 0; at < elements && fault_.empty(); at += n) {
    n = std::min(elements - at, message_);
    MPI_Request request = MPI_REQUEST_NULL;
    const int count = static_cast<int>(n);
    check(MPI_Irecv(to + bytes_of(at), count, what_.type, from, tag_, group_.exchanges, &request),
          "MPI_Irecv");
    if (fault_.empty()) add(request, {from, count});
  }
}

void Exchange::send(int to, const char* from, size_t elements) {
  for (size_t at = 0, n = 0; at < elements && fault_.empty(); at += n) {
    n = std::min(elements - at, message_);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(from + bytes_of(at), static_cast<int>(n), what_.type, to, tag_,
                    group_.exchanges, &request),
          "MPI_Isend");
    if (fault_.empty()) add(request, {to, -1});
  }
}

void Exchange::add(MPI_Request request, std::pair<int, int> expected) {
  messages().requests.push_back(request);
  messages().expected.push_back(expected);
}

// Ranks begin with different ones, so that not all send to the same.
void Exchange::begin_segment() {
  phase_ = Phase::kElements;
  length_ = std::min(segment_, total_ - at_);
  const int size = group_.size, me = group_.rank;
  for (int step = 1; step < size; ++step) {
    const int from = (me + size - step) % size;
    receive(from, slot_of(from), part_of(me).elements);
  }
  for (int step = 1; step < size; ++step) {
    const Part theirs = part_of((me + step) % size);
    send((me + step) % size, what_.in.data + bytes_of(theirs.at), theirs.elements);
  }
}

// (a op b) op c ... from rank 0 on. An operation has the bits of its operands in the other order.
void Exchange::combine() {
  const Part mine = part_of(group_.rank);
  const int count = static_cast<int>(mine.elements);
  char* const to = result();
  const char* const own = what_.in.data + bytes_of(mine.at);
  if (to != own) std::memcpy(to, own, bytes_of(mine.elements));
  const auto add = [&](int rank, char* sum) {
    check(MPI_Reduce_local(slot_of(rank), sum, count, what_.type, what_.op), "MPI_Reduce_local");
  };
  for (int r = 1; r < group_.rank; ++r) add(r, slot_of(0));
  if (group_.rank > 0) add(0, to);
  for (int r = group_.rank + 1; r < group_.size; ++r) add(r, to);
  if (what_.reduction == TN_COLLECTIVE_AVG)
    sdk::divide_of(what_.in.dtype)(to, mine.elements, group_.size);
}

void Exchange::give_results() {
  phase_ = Phase::kResults;
  const int size = group_.size, me = group_.rank;
  if (scatters_ || whole_) return;
  const bool to_all = what_.operation == TN_COLLECTIVE_ALL_REDUCE;
  for (int step = 1; step < size && (to_all || me == what_.root); ++step) {
    const int from = (me + size - step) % size;
    const Part theirs = part_of(from);
    receive(from, what_.out.data + bytes_of(theirs.at), theirs.elements);
  }
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    if (to_all || to == what_.root) send(to, result(), part_of(me).elements);
  }
}

// A message that is shorter than expected is no error of MPI's.
void Exchange::look_at(const MPI_Status& status, std::pair<int, int> expected) {
  const auto [from, count] = expected;
  int came = count;
  if (count >= 0) MPI_Get_count(&status, what_.type, &came);
  if (came != count && fault_.empty())
    fault_ = "rank " + std::to_string(from) + " sent " + std::to_string(came) +
             " elements of a part; expected " + std::to_string(count);
}

void Exchange::ask() {
  int completed = 0;
  const int code =
      MPI_Testsome(static_cast<int>(messages().requests.size()), messages().requests.data(),
                   &completed, messages().indices.data(), messages().statuses.data());
  if (completed == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
    check(code, "MPI_Testsome");
    left_ = 0;
    return;
  }
  for (size_t i = 0; i < static_cast<size_t>(completed); ++i) {
    if (code == MPI_ERR_IN_STATUS) check(messages().statuses[i].MPI_ERROR, "MPI_Testsome");
    if (fault_.empty())
      look_at(messages().statuses[i],
              messages().expected[static_cast<size_t>(messages().indices[i])]);
  }
  left_ -= static_cast<size_t>(completed);
  steps_ += completed > 0;
}

void Exchange::go_on() {
  const bool have_elements = phase_ == Phase::kElements;
  messages().requests.clear();
  messages().expected.clear();
  if (have_elements) {
    combine();
    give_results();
  }
  if (messages().requests.empty()) {
    at_ += length_;
    if (at_ < total_) begin_segment();
  }
  left_ = messages().requests.size();
}

bool Exchange::cancel(bool is_given_up) {
  if (is_given_up && fault_.empty()) fault_ = "given up";
  if (fault_.empty()) return false;
  for (size_t i = 0; i < messages().requests.size(); ++i) {
    if (messages().expected[i].second >= 0 && messages().requests[i] != MPI_REQUEST_NULL)
      MPI_Cancel(&messages().requests[i]);
  }
  return true;
}

bool Exchange::advance() {
  if (left_ > 0) ask();
  if (left_ == 0 && fault_.empty() && at_ < total_) go_on();
  return left_ == 0 && (at_ >= total_ || !fault_.empty());
}

}  // namespace tenon::mpi_engine
