// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists that a loop by data appends a tensor to in each turn. The file has the appended tensors
// stacked, as results of while_loop_stack_output: what comes later may stack or concatenate the
// list, or ask for its length or its last element.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

// One append per list, in the body itself, so that each turn does it; the loop does nothing else
// with the list.
std::vector<const Node*> ProgramWriter::appends_of(const Node& loop) const {
  const Block& body = *loop.blocks()[0];
  std::vector<const Node*> out;
  for (const Node* n : body.nodes()) {
    if (!n->is("aten::append") || !n->input(1)->type()->is(TypeKind::Tensor)) continue;
    const Value& list = *n->input(0);
    if (is_in(list.node(), loop) || grown_.count(items_.at(&list))) continue;
    const bool used = std::any_of(list.uses().begin(), list.uses().end(),
                                  [&](const Use& u) { return u.user != n && is_in(u.user, loop); });
    const bool given = std::any_of(n->outputs().begin(), n->outputs().end(),
                                   [](const Value* v) { return !v->uses().empty(); });
    if (!used && !given) out.push_back(n);
  }
  return out;
}

// After the loop: of all turns, the last ones of what it carries, and the lists. Without a turn the
// file's loop gives what it was given, as one turn; the turn is then the first.
void ProgramWriter::grow_lists(const Carried& c, std::vector<const Item*>& ends) {
  const Item* counted = emit("aten::gt.Scalar", {ends[1], make(c.first, true)});
  const std::size_t first = ends.size() - c.appends.size();
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (k >= first) {
      Item& list = const_cast<Item&>(at(c.appends[k - first]->input(0)));
      give_parts(list);
      list.constant = false;
      const Item* mask = construct({counted}, *Type::list(Type::optional(Type::tensor())));
      const Item* stacked = emit("aten::index.Tensor", {ends[k], mask});
      const_cast<Item*>(stacked)->sizes_by_data = true;
      note_unknown_sizes(*stacked);
      grown_[&list] = stacked;
    } else if (k > 0) {
      const Item* last =
          emit("aten::select.int", {ends[k], make(int64_t{0}, true), make(int64_t{-1}, true)});
      const_cast<Item*>(last)->sizes_by_data = c.items[k]->sizes_by_data;
      ends[k] = last;
    }
  }
}

// What is stacked in dimension 0, as stack or cat of `dim` give it.
const ProgramWriter::Item* ProgramWriter::move_stacked(const Item& stacked, int64_t dim,
                                                       bool concatenate) {
  const Item* all = &stacked;
  const int64_t rank = all->example.toTensor().dim();
  if (dim < 0) dim += concatenate ? rank - 1 : rank;
  std::vector<int64_t> order;  // dimension 0 becomes `dim`
  for (int64_t d = 1; d < rank; ++d) order.push_back(d);
  order.insert(order.begin() + dim, 0);
  if (dim != 0) all = emit("aten::permute", {all, make(IValue(order), true)});
  if (!concatenate) return all;
  return emit("aten::flatten.using_ints", {all, make(dim, true), make(dim + 1, true)});
}

// What takes a grown list. The parts that it had before the loop come first.
bool ProgramWriter::visit_grown(const Node& n) {
  const auto is_grown = [&](const Value* v) { return grown_.count(items_.at(v)) != 0; };
  if (std::none_of(n.inputs().begin(), n.inputs().end(), is_grown)) return false;
  const Item& list = at(n.input(0));
  const auto it = grown_.find(&list);
  const Item* zero = make(int64_t{0}, true);
  if (it != grown_.end() && (n.is("aten::stack") || n.is("aten::cat"))) {
    const Item* all = it->second;
    if (!list.parts.empty()) {
      const Item* before = emit("aten::stack", {construct(list.parts, *n.input(0)->type()), zero});
      all = emit("aten::cat", {construct({before, all}, *n.input(0)->type()), zero});
    }
    if (!at(n.input(1)).constant) refuse(n, "its dimension depends on data");
    items_[n.output()] = move_stacked(*all, at(n.input(1)).example.toInt(), n.is("aten::cat"));
    return true;
  }
  if (it != grown_.end() && n.is("aten::__getitem__") && at(n.input(1)).constant &&
      at(n.input(1)).example.toInt() == -1) {
    items_[n.output()] = emit("aten::select.int", {it->second, zero, make(int64_t{-1}, true)});
    return true;
  }
  refuse(n, "a list that a loop by data has grown can only be stacked or concatenated");
}

}  // namespace tenon::jit::formats
