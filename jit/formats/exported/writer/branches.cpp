// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches by data.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"

namespace tenon::jit::formats {

// bool(tensor), which a branch may go by.
bool ProgramWriter::visit_truth(const Node& n) {
  if (!n.is("aten::Bool") || !n.input(0)->type()->is(TypeKind::Tensor)) return false;
  Item* made = result_of_run(call(n), 0);
  made->truth = &at(n.input(0));
  items_[n.output()] = made;
  return true;
}

namespace {

bool raises(const Block& b) {
  const auto nodes = b.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node* n) { return n->is("prim::RaiseException"); });
}

}  // namespace

ProgramWriter::Part ProgramWriter::visit_side(const Block& side,
                                              std::vector<const Item*>& results) {
  return visit_part([&] {
    visit(side);
    for (const Value* v : side.outputs()) {
      const Item& item = at(v);
      if (!item.example.isTensor() || !item.example.toTensor().defined())
        refuse(*side.owning_node(), "a branch by data gives a value that is not a tensor");
      const bool made_here = is_of_part(*v, side) && item.number.empty();
      results.push_back(made_here ? &item : copied(item));
    }
  });
}

void ProgramWriter::visit_branch(const Node& n, const Item& condition) {
  for (const std::size_t side : {0, 1})
    if (raises(*n.blocks()[side])) return visit_taken(n, *n.blocks()[1 - side]);
  if (writes(*n.blocks()[0]) || writes(*n.blocks()[1]))
    refuse(n, "a branch by data writes to a tensor or a list");
  const Json predicate = tensor_argument(*condition.truth);
  std::vector<const Item*> yes, no;
  const Part then = visit_side(*n.blocks()[0], yes), otherwise = visit_side(*n.blocks()[1], no);
  Json outputs = Json::array();
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    std::vector<Stack> runs(std::max({condition.runs(), yes[k]->runs(), no[k]->runs()}));
    for (std::size_t r = 0; r < runs.size(); ++r) {
      check_same_kind(n, yes[k]->in_run(r), no[k]->in_run(r));
      runs[r].push_back((condition.in_run(r).toBool() ? yes : no)[k]->in_run(r));
    }
    Item* made = result_of_run(runs, 0);
    add_tensor("cond_result", *made);
    outputs.push_back(tensor_argument(*made));
    items_[n.output(k)] = made;
  }
  const std::vector<std::string> taken = outside_values({&then, &otherwise});
  Json operands = Json::array();
  for (const std::string& name : taken) operands.push_back({{"name", name}});
  const std::string number = std::to_string(parts_++);
  add_higher("cond",
             {predicate, part_argument("true_graph_" + number, then, yes, taken),
              part_argument("false_graph_" + number, otherwise, no, taken),
              Json{{"as_tensors", std::move(operands)}}},
             std::move(outputs));
}

}  // namespace tenon::jit::formats
