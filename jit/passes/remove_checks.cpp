// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "jit/passes/passes.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

bool is_check(const Node& n) {
  static const std::set<std::string, std::less<>> kKinds{
      "exported::grad_mode",       "exported::end_mode",
      "aten::set_grad_enabled",    "aten::_assert_async",
      "aten::_assert_scalar",      "aten::_linalg_check_errors",
      "aten::sym_constrain_range", "aten::sym_constrain_range_for_size"};
  return n.kind().rfind("exported::check_", 0) == 0 || kKinds.count(n.kind()) != 0;
}

// Hands the token on that keeps it in its place.
bool is_check_with_token(const Node& n) {
  return n.is("aten::_functional_assert_async") || n.is("aten::_functional_assert_scalar");
}

// A program of another format runs without them.
bool asks_mode(const Node& n) {
  return n.is("aten::is_grad_enabled") || n.is("aten::is_autocast_enabled") ||
         n.is("aten::is_autocast_cpu_enabled");
}
void use_false(Graph& g, Node& n) {
  g.set_insert_point(&n);
  n.output()->replace_all_uses_with(g.insert_constant(false, n.range));
}

// Whether the mode, or one around it, lets operators cast.
bool casts(const Value* mode) {
  const Node& n = *mode->node();
  if (n.is("exported::grad_mode")) return casts(n.input(1));
  if (!n.is("exported::autocast_mode")) return false;
  const auto enabled = to_constant(n.input(2));
  return !enabled || !enabled->isBool() || enabled->toBool() || casts(n.input(3));
}
bool ends_casts(const Node& n) {
  return n.is("exported::end_mode") && n.input(0)->node()->is("exported::autocast_mode") &&
         casts(n.input(0));
}
bool is_mode_without_casts(const Node& n) {
  return n.is("exported::autocast_mode") && !casts(n.output());
}

// What a check gives is the sizes that it looked at.
void use_sizes(Graph& g, Node& n) {
  g.set_insert_point(&n);
  Node* sizes = insert_call(g, "aten::size", {n.input(0)}, n);
  sizes->output()->set_type(n.output()->type());
  n.output()->replace_all_uses_with(sizes->output());
}

// Backwards: a mode is used by what ends it.
bool remove(Graph& g, Block& b) {
  bool changed = false;
  const std::vector<Node*> nodes = b.nodes();
  std::for_each(nodes.rbegin(), nodes.rend(), [&](Node* n) {
    for (Block* inner : n->blocks()) changed |= remove(g, *inner);
    const bool token = is_check_with_token(*n);
    const bool mode = asks_mode(*n);
    if (!token && !mode && !is_check(*n) && !is_mode_without_casts(*n)) return;
    if (ends_casts(*n)) return;
    if (n->is("exported::grad_mode")) n->output()->replace_all_uses_with(n->input(1));
    if (mode) use_false(g, *n);
    if (token) n->output()->replace_all_uses_with(n->inputs().back());
    if (n->is("exported::check_sizes") && !n->output()->uses().empty()) use_sizes(g, *n);
    n->destroy();
    changed = true;
  });
  return changed;
}

// Loops of vmap, without what an empty batch is computed for.
bool lower_batches(Graph& g, Block& b) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) changed |= lower_batches(g, *inner);
    const bool times = n->is("exported::batch_times"), of = n->is("exported::batch_of");
    if (!times && !of && !n->is("exported::batch_element")) continue;
    g.set_insert_point(n);
    Value* made = n->input(0);
    if (of) made = insert_call(g, "aten::stack", {made, n->input(1)}, *n)->output();
    if (!of && !times)
      made = insert_call(g, "aten::select.int", {made, n->input(1), n->input(2)}, *n)->output();
    n->output()->replace_all_uses_with(made);
    n->destroy();
    changed = true;
  }
  return changed;
}

// What a functional program computed for its buffers is copied into them.
bool lower_write_backs(Graph& g) {
  bool changed = false;
  for (Node* n : g.block()->nodes()) {
    if (!n->is("exported::write_back")) continue;
    g.set_insert_point(n);
    if (n->input(0) != n->input(1))
      insert_call(g, "aten::copy_", {n->input(0), n->input(1), g.insert_constant(false)}, *n);
    n->destroy();
    changed = true;
  }
  return changed;
}

// Numbers by data, as decomposed programs read them.
bool lower_reads(Graph& g, Block& b) {
  bool changed = false;
  for (Node* n : b.nodes()) {
    for (Block* inner : n->blocks()) changed |= lower_reads(g, *inner);
    if (!n->is("aten::_local_scalar_dense")) continue;
    g.set_insert_point(n);
    Value* read = insert_call(g, "aten::item", {n->input(0)}, *n)->output();
    read->set_type(n->output()->type());
    n->output()->replace_all_uses_with(read);
    n->destroy();
    changed = true;
  }
  return changed;
}

}  // namespace

bool remove_checks(Graph& g) {
  const Graph::InsertPoint restored(g, g.insert_point());
  return remove(g, *g.block()) | lower_batches(g, *g.block()) | lower_write_backs(g) |
         lower_reads(g, *g.block());
}

}  // namespace tenon::jit
