// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/exchange.h"

#include <algorithm>
#include <cstring>

#include "tenon/sdk/collective_reduce.h"

namespace tenon::mpi_engine {
namespace {

// From so many bytes per rank on, of at most four, parts are combined by different ranks: fewer
// bytes. Below that each gets everything: one round instead of two, as ranks that share cores wait
// for their turn in each.
constexpr size_t kMinBytesPerRank = 16 << 10;
constexpr int kMaxRanksToAll = 8;
// Open MPI sends a message of 4 KiB between processes of a machine when its receiver has answered:
// so few bytes go in pieces.
constexpr size_t kMaxBytesInPieces = 8 << 10, kPiece = 3 << 10;
// Bounds the memory. Smaller segments are slower between cores without a common cache, where what
// the other core has just written takes long to read.
constexpr size_t kSegment = 16 << 20;

bool goes_whole(size_t bytes, int size) {
  return size <= kMaxRanksToAll &&
         bytes < kMinBytesPerRank * static_cast<size_t>(std::min(size, 4));
}

uint32_t hash_of(const Exchange::Reduction& r, size_t elements) {
  return sdk::collective_hash({r.operation, r.reduction, r.root, r.in.dtype.code, r.in.dtype.bits,
                               static_cast<int64_t>(elements)});
}

}  // namespace

bool Exchange::serves(size_t bytes, int size) {
  return size > 1 &&
         (goes_whole(bytes, size) || bytes >= kMinBytesPerRank * static_cast<size_t>(size));
}

Exchange::Plan Exchange::plan(const Communicator& group, const Reduction& what) {
  const bool scatters = what.operation == TN_COLLECTIVE_REDUCE_SCATTER;
  const size_t item = what.in.item_bytes(), ranks = static_cast<size_t>(group.size);
  const bool whole = !scatters && goes_whole(what.in.bytes(), group.size);
  const size_t total = scatters ? what.out.elements : what.in.elements;
  const size_t segment =
      std::min(total, std::max(kSegment / item / (scatters ? ranks : 1), size_t{1}));
  const size_t part = scatters || whole ? segment : segment / ranks + 1;
  const bool in_pieces = whole && what.in.bytes() <= kMaxBytesInPieces;
  const bool keeps_result = what.operation == TN_COLLECTIVE_REDUCE && group.rank != what.root;
  return {whole, total, segment, in_pieces ? kPiece / item : segment,
          part * item * (keeps_result ? ranks : ranks - 1)};
}

Exchange::Exchange(Communicator& group, const Reduction& what)
    : Exchange(group, what, plan(group, what)) {}

Exchange::Exchange(Communicator& group, const Reduction& what, const Plan& plan)
    : Messages(group, what.type, what.in.item_bytes(), plan.message, hash_of(what, plan.total),
               plan.scratch),
      what_(what),
      plan_(plan),
      scatters_(what.operation == TN_COLLECTIVE_REDUCE_SCATTER) {
  advance();
}

// Few elements of a reduce go to the root alone.
bool Exchange::combines(int rank) const {
  return !plan_.whole || what_.operation != TN_COLLECTIVE_REDUCE || rank == what_.root;
}

Exchange::Part Exchange::part_of(int rank) const {
  const auto r = static_cast<size_t>(rank), ranks = static_cast<size_t>(group_.size);
  if (scatters_) return {r * plan_.total + at_, length_};
  if (plan_.whole) return {at_, length_};
  const size_t begin = length_ * r / ranks, end = length_ * (r + 1) / ranks;
  return {at_ + begin, end - begin};
}

// Of a rank of the others, in their order; this rank's own is the last.
char* Exchange::slot_of(int rank) {
  const int me = group_.rank, at = rank == me ? group_.size - 1 : rank - (rank > me);
  return scratch() + static_cast<size_t>(at) * bytes_of(part_of(me).elements);
}

// Where this rank's part of the segment is combined.
char* Exchange::result() {
  if (scatters_) return what_.out.data + bytes_of(at_);
  if (what_.operation == TN_COLLECTIVE_REDUCE && group_.rank != what_.root)
    return slot_of(group_.rank);
  return what_.out.data + bytes_of(part_of(group_.rank).at);
}

// Ranks begin with different ones, so that not all send to the same.
void Exchange::begin_segment() {
  phase_ = Phase::kElements;
  length_ = std::min(plan_.segment, plan_.total - at_);
  const int size = group_.size, me = group_.rank;
  for (int step = 1; step < size; ++step) {
    const int from = (me + size - step) % size;
    if (combines(me)) receive(from, slot_of(from), part_of(me).elements);
  }
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    const Part theirs = part_of(to);
    if (combines(to)) send(to, what_.in.data + bytes_of(theirs.at), theirs.elements);
  }
}

// (a op b) op c ... from rank 0 on. An operation has the bits of its operands in the other order.
void Exchange::combine() {
  if (!combines(group_.rank)) return;
  const Part mine = part_of(group_.rank);
  const int count = static_cast<int>(mine.elements);
  char* const to = result();
  const char* const own = what_.in.data + bytes_of(mine.at);
  if (to != own) std::memcpy(to, own, bytes_of(mine.elements));
  const auto add = [&](int rank, char* sum) {
    check(MPI_Reduce_local(slot_of(rank), sum, count, type_, what_.op), "MPI_Reduce_local");
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
  if (scatters_ || plan_.whole) return;
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

bool Exchange::go_on() {
  if (phase_ == Phase::kElements) {
    combine();
    give_results();
    return true;
  }
  at_ += length_;
  if (at_ < plan_.total) begin_segment();
  return at_ < plan_.total;
}

}  // namespace tenon::mpi_engine
