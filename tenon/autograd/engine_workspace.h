// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tables of one backward pass, kept by the thread so that a pass allocates nothing once it has run
// at its size.
#pragma once

#include <memory>
#include <vector>

#include "tenon/autograd/node.h"

namespace tenon::autograd {

struct Task {
  Node* node;
  uint32_t waits_for = 0;   // nodes that still send it a gradient
  uint32_t first_grad = 0;  // its gradients in Workspace::grads
  bool runs = true;         // a requested gradient depends on it
};

class Workspace {
 public:
  std::vector<Task> tasks;
  std::vector<Tensor> grads, outs;
  std::vector<uint32_t> ready;
  Workspace* next = nullptr;  // in the thread's free list

  void clear() noexcept {
    // Last in, first out: an entry is found through those that were there before it.
    while (!tasks.empty()) {
      slot(tasks.back().node) = kEmpty;
      tasks.pop_back();
    }
    grads.clear();
    outs.clear();
    ready.clear();
  }
  // The task of a node; `fresh` says whether it was made now.
  uint32_t find_or_add(Node* n, bool& fresh) {
    if (2 * (tasks.size() + 1) > table_.size()) grow();
    uint32_t& s = slot(n);
    fresh = s == kEmpty;
    if (fresh) {
      // The table names the task last: where memory runs out, clear() finds it in order.
      const auto first = static_cast<uint32_t>(grads.size());
      grads.resize(grads.size() + n->n_grads);
      tasks.push_back(Task{n, 0, first, true});
      s = static_cast<uint32_t>(tasks.size() - 1);
    }
    return s;
  }
  uint32_t find(Node* n) { return table_.empty() ? kEmpty : slot(n); }
  static constexpr uint32_t kEmpty = ~0u;

 private:
  uint32_t& slot(Node* n) {
    std::size_t mask = table_.size() - 1;
    std::size_t at =
        (reinterpret_cast<std::uintptr_t>(n) >> 5) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (table_[at] != kEmpty && tasks[table_[at]].node != n) at = (at + 1) & mask;
    return table_[at];
  }
  void grow() {
    table_.assign(table_.empty() ? 64 : 2 * table_.size(), kEmpty);
    for (uint32_t i = 0; i < tasks.size(); ++i) slot(tasks[i].node) = i;
  }
  std::vector<uint32_t> table_;
};

}  // namespace tenon::autograd
