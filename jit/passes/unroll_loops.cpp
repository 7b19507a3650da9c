// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/passes.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

constexpr int64_t kMaxTrips = 8;
constexpr std::size_t kMaxNodes = 2048;  // of all turns together

bool is_true(const Value* v) {
  std::optional<IValue> c = to_constant(v);
  return c && c->isBool() && c->toBool();
}

bool can_unroll(const Node& n) {
  std::optional<IValue> trips = to_constant(n.input(0));
  if (!trips || !trips->isInt() || trips->toInt() > kMaxTrips) return false;
  const Block& body = *n.block(0);
  if (!is_true(n.input(1)) || !is_true(body.outputs()[0])) return false;
  return trips->toInt() <= 1 ||
         count_nodes(body) * static_cast<std::size_t>(trips->toInt()) <= kMaxNodes;
}

void unroll(Graph& g, Node& n) {
  const Block& body = *n.block(0);
  Graph::InsertPoint at(g, &n);
  std::vector<Value*> carried(n.inputs().begin() + 2, n.inputs().end());
  int64_t trips = to_constant(n.input(0))->toInt();
  for (int64_t i = 0; i < trips; ++i) {
    std::map<const Value*, Value*> map;
    map[body.inputs()[0]] = g.insert_constant(i, n.range);
    for (std::size_t k = 0; k < carried.size(); ++k) map[body.inputs()[k + 1]] = carried[k];
    std::vector<Value*> results = g.inline_block(body, map);
    carried.assign(results.begin() + 1, results.end());
  }
  for (std::size_t k = 0; k < carried.size(); ++k) n.output(k)->replace_all_uses_with(carried[k]);
  n.destroy();
}

// Inner loops first.
bool unroll(Graph& g, Block& b) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) changed |= unroll(g, *inner);
    if (!n->is("prim::Loop") || !can_unroll(*n)) continue;
    unroll(g, *n);
    changed = true;
  }
  return changed;
}

}  // namespace

bool unroll_loops(Graph& g) { return unroll(g, *g.block()); }

}  // namespace tenon::jit
