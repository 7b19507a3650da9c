// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "distributed/parallel/comm.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::distributed {
namespace {

// Tensors of one kind, one after the other in one, while it is sent.
struct Coalesced {
  std::vector<Tensor> tensors;
  Tensor flat;
  Pending pending;
};

std::vector<Coalesced> coalesce(const std::vector<Tensor>& tensors) {
  std::map<std::pair<std::string, ScalarType>, std::size_t> places;
  std::vector<Coalesced> out;
  for (const Tensor& t : tensors) {
    if (t.numel() == 0) continue;
    const auto place =
        places.insert({{t.device().str(), t.scalar_type()}, out.size()}).first->second;
    if (place == out.size()) out.emplace_back();
    out[place].tensors.push_back(t);
  }
  for (Coalesced& c : out) {
    std::vector<Tensor> parts;
    for (const Tensor& t : c.tensors) parts.push_back(t.reshape({-1}));
    c.flat = cat(parts);
  }
  return out;
}

void copy_back(Coalesced& c) {
  c.pending.wait();
  int64_t at = 0;
  for (const Tensor& t : c.tensors) {
    t.copy_(c.flat.narrow(0, at, t.numel()).view(t.sizes()));
    at += t.numel();
  }
}

}  // namespace

void broadcast_from_owners(const Comm& comm, const std::vector<std::vector<Tensor>>& of_rank) {
  const NoGradGuard no_grad;
  std::vector<std::vector<Coalesced>> lists;
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    lists.push_back(coalesce(of_rank[r]));
    for (Coalesced& c : lists.back()) c.pending = comm.broadcast(c.flat, static_cast<int>(r));
  }
  for (std::size_t r = 0; r < lists.size(); ++r) {
    for (Coalesced& c : lists[r]) {
      if (static_cast<int>(r) == comm.rank()) {
        c.pending.wait();
      } else {
        copy_back(c);
      }
    }
  }
}

void broadcast_coalesced(const Comm& comm, const std::vector<Tensor>& tensors, int root) {
  std::vector<std::vector<Tensor>> of_rank(static_cast<std::size_t>(comm.size()));
  of_rank[static_cast<std::size_t>(root)] = tensors;
  broadcast_from_owners(comm, of_rank);
}

}  // namespace tenon::distributed
