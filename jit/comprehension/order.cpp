// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/comprehension/order.h"

#include <algorithm>

namespace tenon::jit::comprehension {
namespace {

namespace lp = sdk::loop_program;

// Adds 1 for a loop that is the last index, takes 1 from those of other indices.
void count(const lp::Affine& index, bool is_last, std::vector<int>& score) {
  for (const auto& [loop, by] : index.loops) score[loop] += is_last && by == 1 ? 1 : -1;
}

void rename(lp::Affine& index, const std::vector<int>& to) {
  for (auto& term : index.loops) term.first = to[term.first];
  std::sort(index.loops.begin(), index.loops.end());
}

}  // namespace

void order_loops(lp::Nest& nest) {
  const int n = static_cast<int>(nest.loops.size());
  if (n < 2) return;
  std::vector<int> score(n, 0), to(n);
  for (const lp::Node& node : nest.nodes)
    for (std::size_t d = 0; d < node.indices.size(); ++d)
      count(node.indices[d].affine, d + 1 == node.indices.size(), score);
  for (const lp::Store& store : nest.stores)
    for (std::size_t d = 0; d < store.indices.size(); ++d)
      count(store.indices[d], d + 1 == store.indices.size(), score);
  int inner = n - 1;
  for (int i = n - 1; i >= 0; --i)
    if (score[i] > score[inner]) inner = i;
  for (int i = 0; i < n; ++i) to[i] = i == inner ? n - 1 : i - (i > inner ? 1 : 0);
  std::rotate(nest.loops.begin() + inner, nest.loops.begin() + inner + 1, nest.loops.end());
  for (lp::Node& node : nest.nodes) {
    if (node.kind == lp::Kind::kLoop) node.source = to[node.source];
    for (lp::Index& it : node.indices) rename(it.affine, to);
  }
  for (lp::Store& store : nest.stores)
    for (lp::Affine& it : store.indices) rename(it, to);
}

}  // namespace tenon::jit::comprehension
