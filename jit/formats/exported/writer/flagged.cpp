// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists that a branch by data appends a tensor to. The branch gives the tensor, or zeros in its
// place, and the condition says whether it is an element. What comes later may stack or concatenate
// the list, or ask for its length.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "jit/passes/nodes.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

// In the sides themselves, one per list and side, to lists of outside that no side reads.
std::vector<ProgramWriter::Append> ProgramWriter::appends_of_branch(const Node& n) const {
  std::vector<Append> out;
  for (const std::size_t side : {0, 1})
    for (const Node* m : n.blocks()[side]->nodes()) {
      if (!m->is("aten::append") || !m->input(1)->type()->is(TypeKind::Tensor)) continue;
      const Value* list = m->input(0);
      if (is_in(list->node(), n) || grown_.count(items_.at(list))) continue;
      auto it = std::find_if(out.begin(), out.end(),
                             [&](const Append& a) { return a.list == items_.at(list); });
      if (it == out.end()) it = out.insert(it, Append{items_.at(list), {}});
      const bool alone = std::all_of(list->uses().begin(), list->uses().end(), [&](const Use& u) {
        return u.user == m || !is_in(u.user, *n.blocks()[side]);
      });
      if (it->nodes[side] || !alone) return {};
      it->nodes[side] = m;
    }
  return out;
}

// What they append, from visits of the sides that are given up: both sides give such tensors.
std::vector<const ProgramWriter::Item*> ProgramWriter::kinds_of_appended(
    const Node& n, const std::vector<Append>& appends) {
  std::vector<const Item*> kinds(appends.size());
  for (std::size_t side = 0; side < 2 && !appends.empty(); ++side)
    (void)visit_part([&] {
      visit(*n.blocks()[side]);
      for (std::size_t k = 0; k < appends.size(); ++k)
        if (const Node* m = appends[k].nodes[side]) kinds[k] = &at(m->input(1));
    });
  return kinds;
}

const ProgramWriter::Item* ProgramWriter::zeros_like(const Item& kind) {
  TENON_CHECK(kind.others.empty() && !kind.sizes_by_data, NotImplementedError,
              "export_program: one side of a branch appends a tensor whose sizes vary");
  const Tensor& t = kind.example.toTensor();
  const Item* zeros = emit("aten::zeros", {make(IValue(t.sizes()), true)});
  return emit("aten::to.dtype", {zeros, make(IValue(t.scalar_type()), true)});
}

// After the branch, whose condition is in a tensor.
void ProgramWriter::append_flagged(const std::vector<Append>& appends, const Item& condition,
                                   const std::vector<const Item*>& ends) {
  for (std::size_t k = 0; k < appends.size(); ++k) {
    Item& list = const_cast<Item&>(*appends[k].list);
    give_parts(list);
    const auto& nodes = appends[k].nodes;
    auto& flags = flags_[&list];
    flags.resize(list.parts.size());
    flags.push_back(nodes[0] && nodes[1] ? nullptr
                    : nodes[0]           ? &condition
                                         : emit("aten::logical_not", {&condition}));
    list.parts.push_back(ends[ends.size() - appends.size() + k]);
    list.constant = false;
    set_parts(list, *Type::list(Type::tensor()));
  }
}

// The elements of the list, stacked.
const ProgramWriter::Item* ProgramWriter::stack_flagged(const Item& list) {
  const TypePtr tensors = Type::list(Type::tensor());
  const Item *zero = make(int64_t{0}, true), *mask = emit_flags(list);
  const Item* all = emit("aten::stack", {construct(list.parts, *tensors), zero});
  const Item* kept = emit("aten::index.Tensor",
                          {all, construct({mask}, *Type::list(Type::optional(Type::tensor())))});
  const_cast<Item*>(kept)->sizes_by_data = true;
  note_unknown_sizes(*kept);
  return kept;
}

const ProgramWriter::Item* ProgramWriter::emit_flags(const Item& list) {
  std::vector<const Item*> flags = flags_.at(&list);
  flags.resize(list.parts.size());
  for (const Item*& f : flags)
    if (!f) f = make(IValue(full({}, true, TensorOptions(kBool))), true);
  return emit("aten::stack",
              {construct(flags, *Type::list(Type::tensor())), make(int64_t{0}, true)});
}

bool ProgramWriter::visit_flagged(const Node& n) {
  const auto is_flagged = [&](const Value* v) { return flags_.count(items_.at(v)) != 0; };
  if (std::none_of(n.inputs().begin(), n.inputs().end(), is_flagged)) return false;
  const Item& list = at(n.input(0));
  if (n.is("aten::append") && !is_flagged(n.input(1))) return false;
  if (is_flagged(n.input(0)) && n.is("aten::len")) {
    const Item* length = emit("aten::sum", {emit_flags(list)});
    items_[n.output()] = number_in_tensor(*length, int64_t{0});
    return true;
  }
  if (is_flagged(n.input(0)) && (n.is("aten::stack") || n.is("aten::cat"))) {
    if (!at(n.input(1)).constant) refuse(n, "its dimension depends on data");
    items_[n.output()] =
        move_stacked(*stack_flagged(list), at(n.input(1)).example.toInt(), n.is("aten::cat"));
    return true;
  }
  refuse(n, "a list that a branch by data has appended to can only be stacked or concatenated");
}

}  // namespace tenon::jit::formats
