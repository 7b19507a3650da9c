// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The collectives that data parallelism needs, on contiguous tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/distributed/parallel/group.h"
#include "tenon/tensor.h"

namespace tenon::distributed {

// A collective under way. It holds its tensors.
class Pending {
 public:
  Pending() = default;
  Pending(CollectiveGroup::Wait wait, std::vector<Tensor> keep)
      : wait_(std::move(wait)), keep_(std::move(keep)) {}
  void wait();  // nothing happens the second time

 private:
  CollectiveGroup::Wait wait_;
  std::vector<Tensor> keep_;
};

class Comm {
 public:
  // Null: the default group. `device` is where small tensors of its own are sent from.
  explicit Comm(GroupPtr group, Device device = kCPU);

  int rank() const;
  int size() const;
  const GroupPtr& group() const { return group_; }
  Device device() const { return device_; }

  // The sum, in place.
  Pending all_reduce(const Tensor& t) const;
  Pending broadcast(const Tensor& t, int root) const;
  // out: one part of `in`'s size for each rank.
  Pending all_gather(const Tensor& out, const Tensor& in) const;
  // out: this rank's part of the sum of `in`.
  Pending reduce_scatter(const Tensor& out, const Tensor& in) const;
  void barrier() const;

  // Of each rank: equal counts.
  std::vector<std::vector<int64_t>> all_gather_numbers(const std::vector<int64_t>& mine) const;
  // Of each rank; texts may differ in length.
  std::vector<std::string> all_gather_text(const std::string& text) const;
  // That of rank `root`; the others' is not looked at.
  std::string broadcast_text(const std::string& text, int root) const;

 private:
  GroupPtr group_;
  Device device_;
};

// Tensors of one dtype and device are sent as one.
void broadcast_coalesced(const Comm& comm, const std::vector<Tensor>& tensors, int root);
// One list for each rank, which gives it to the others; all under way at once.
void broadcast_from_owners(const Comm& comm, const std::vector<std::vector<Tensor>>& of_rank);

}  // namespace tenon::distributed
