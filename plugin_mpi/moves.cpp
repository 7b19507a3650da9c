// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/moves.h"

#include <algorithm>
#include <cstring>

namespace tenon::mpi_engine {
namespace {

constexpr size_t kMessage = 1 << 30;  // bytes: MPI counts elements by int
// So few get a broadcast from the root itself. Ranks of a tree pass a segment on while the next one
// comes.
constexpr int kMaxRanksFromRoot = 4;
constexpr size_t kSegment = 1 << 20;

uint32_t hash_of(const tn_collective_call& call, tn_dtype dtype) {
  return sdk::collective_hash({call.operation, call.root, dtype.code, dtype.bits});
}

sdk::CollectiveBuffer any_of(const tn_collective_call& call) {
  return sdk::CollectiveBuffer(call.in ? call.in : call.out);
}

}  // namespace

Moves::Moves(Communicator& group, const tn_collective_call& call, MPI_Datatype type)
    : Messages(group, type, any_of(call).item_bytes(), kMessage / any_of(call).item_bytes(),
               hash_of(call, any_of(call).dtype), /*scratch=*/0),
      in_(call.in),
      out_(call.out),
      operation_(call.operation),
      root_(call.root) {
  if (operation_ == TN_COLLECTIVE_ALL_TO_ALL) {
    const auto parts = [&](const int64_t* counts, std::vector<Part>& to) {
      size_t at = 0;
      for (int r = 0; r < group_.size; ++r) {
        to.push_back({at, static_cast<size_t>(counts[r])});
        at += to.back().elements;
      }
    };
    parts(call.in_counts, to_);
    parts(call.out_counts, from_);
  }
  advance();
}

Moves::Part Moves::sent_to(int rank) const {
  const auto r = static_cast<size_t>(rank);
  switch (operation_) {
    case TN_COLLECTIVE_ALL_TO_ALL:
      return to_[r];
    case TN_COLLECTIVE_ALL_GATHER:
      return {0, in_.elements};
    case TN_COLLECTIVE_GATHER:
      return {0, rank == root_ ? in_.elements : 0};
    default:
      return {r * out_.elements, group_.rank == root_ ? out_.elements : 0};
  }
}

Moves::Part Moves::received_from(int rank) const {
  const auto r = static_cast<size_t>(rank);
  switch (operation_) {
    case TN_COLLECTIVE_ALL_TO_ALL:
      return from_[r];
    case TN_COLLECTIVE_ALL_GATHER:
      return {r * in_.elements, in_.elements};
    case TN_COLLECTIVE_GATHER:
      return {r * in_.elements, group_.rank == root_ ? in_.elements : 0};
    default:
      return {0, rank == root_ ? out_.elements : 0};
  }
}

// Ranks begin with different ones, so that not all send to the same.
void Moves::move_parts() {
  const int size = group_.size, me = group_.rank;
  for (int step = 1; step < size; ++step) {
    const int from = (me + size - step) % size;
    const Part part = received_from(from);
    receive(from, out_.data + bytes_of(part.at), part.elements);
  }
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    const Part part = sent_to(to);
    send(to, in_.data + bytes_of(part.at), part.elements);
  }
  const Part own = sent_to(me), place = received_from(me);
  const char* const from = in_.data + bytes_of(own.at);
  char* const to = out_.data + bytes_of(place.at);
  if (own.elements > 0 && from != to) std::memcpy(to, from, bytes_of(own.elements));
}

bool Moves::is_from_root() const { return group_.size <= kMaxRanksFromRoot; }

// Ranks are counted from the root. One of a binomial tree has the bits of its parent and a lower
// one.
void Moves::receive_segment() {
  const int me = (group_.rank + group_.size - root_) % group_.size;
  const int parent = is_from_root() ? 0 : me & (me - 1);
  if (me > 0) receive((parent + root_) % group_.size, out_.data + bytes_of(at_), length_);
}

void Moves::send_segment() {
  const int size = group_.size, me = (group_.rank + size - root_) % size;
  const auto give = [&](int rank) {
    if (rank < size) send((rank + root_) % size, out_.data + bytes_of(at_), length_);
  };
  if (is_from_root()) {
    for (int r = 1; me == 0 && r < size; ++r) give(r);
  } else {
    for (int bit = 1; bit < size && !(me & bit); bit *= 2) give(me + bit);
  }
}

bool Moves::broadcast() {
  has_segment_ = !has_segment_;
  if (!has_segment_) {
    send_segment();
    at_ += length_;
    return true;
  }
  length_ = std::min(out_.elements - at_, is_from_root() ? out_.elements : kSegment / bytes_of(1));
  if (length_ > 0) receive_segment();
  return length_ > 0;
}

bool Moves::meet() {
  const int size = group_.size, me = group_.rank, distance = distance_;
  if (distance >= size) return false;
  distance_ *= 2;
  receive((me + size - distance) % size, &nothing_[0], 1);
  send((me + distance) % size, &nothing_[1], 1);
  return true;
}

bool Moves::go_on() {
  if (operation_ == TN_COLLECTIVE_BARRIER) return meet();
  if (operation_ == TN_COLLECTIVE_BROADCAST) return broadcast();
  if (begun_) return false;
  begun_ = true;
  move_parts();
  return true;
}

}  // namespace tenon::mpi_engine
