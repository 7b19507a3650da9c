// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops whose turns depend on data, or on sizes that vary: the file's while_loop carries tensors,
// so that numbers are carried in tensors of one element. The first one says whether there is one
// more turn, the second one which turn it is.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

// A node of the operator, which has one result. The program itself did not call it.
const ProgramWriter::Item* ProgramWriter::emit(const char* full_name,
                                               const std::vector<const Item*>& arguments) {
  const Operator* op = find_operator(full_name);
  Json inputs = Json::array();
  std::size_t runs = 1;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    inputs.push_back({{"name", op->schema.arguments.at(k).name},
                      {"arg", argument(*op, k, *arguments[k])},
                      {"kind", 1}});
    runs = std::max(runs, arguments[k]->runs());
  }
  std::vector<Stack> results(runs);
  for (std::size_t r = 0; r < runs; ++r) {
    for (const Item* a : arguments) results[r].push_back(a->in_run(r));
    for (std::size_t k = arguments.size(); k < op->schema.arguments.size(); ++k)
      results[r].push_back(*op->schema.arguments[k].default_value);
    op->call(results[r], op->schema.arguments.size());
  }
  Item* made = result_of_run(results, 0);
  for (const Item* a : arguments)
    made->sizes_by_data = made->sizes_by_data || has_sizes_by_data(*a);
  const std::string name = op->schema.name.substr(6), &overload = op->schema.overload;
  add_tensor(name, *made);
  add_node("torch.ops.aten." + name + "." + (overload.empty() ? "default" : overload),
           std::move(inputs), Json::array({tensor_argument(*made)}), made->name);
  return made;
}

const ProgramWriter::Item* ProgramWriter::go_on(const Node& n, const Item& turn, const Item* limit,
                                                const Item& condition) {
  const Item* go = limit ? emit("aten::lt.Tensor", {&turn, limit}) : nullptr;
  if (go && condition.constant && condition.example.toBool()) return go;
  const Item* more = carried_as_tensor(n, condition);
  return go ? emit("aten::logical_and", {go, more}) : more;
}

void ProgramWriter::visit_data_loop(const Node& n) {
  const Block& body = *n.blocks()[0];
  if (writes(body)) carry_writes(const_cast<Node&>(n));
  if (writes(body)) refuse(n, "a loop by data or varying sizes writes to a tensor or a list");
  const Item& most = at(n.input(0));
  const bool endless = most.constant && most.example.toInt() == INT64_MAX;
  const Item* limit = endless ? nullptr : carried_as_tensor(n, most);
  const Item* first = carried_as_tensor(n, *make(int64_t{0}, true));
  std::vector<const Item*> carried = {go_on(n, *first, limit, at(n.input(1))), first};
  std::vector<IValue> kinds = {IValue(Tensor()), int64_t{0}};
  for (std::size_t k = 2; k < n.inputs().size(); ++k) {
    kinds.push_back(at(n.input(k)).example);
    carried.push_back(carried_as_tensor(n, at(n.input(k))));
  }
  std::vector<const Item*> inside, results;
  const Part part = visit_part([&] {
    for (const Item* c : carried) {
      Item* made = make(c->example);
      made->others = c->others;
      made->sizes_by_data = c->sizes_by_data;
      add_tensor("carried", *made);
      inside.push_back(made);
    }
    for (std::size_t k = 1; k < inside.size(); ++k)
      items_[body.inputs()[k - 1]] = number_in_tensor(*inside[k], kinds[k]);
    visit(body);
    const Item* next = emit("aten::add.Scalar", {inside[1], make(int64_t{1}, true)});
    results = {go_on(n, *next, limit, at(body.outputs()[0])), next};
    for (std::size_t k = 1; k < body.outputs().size(); ++k) {
      const Item* item = result_of_part(*body.outputs()[k], body);
      for (std::size_t r = 0; r < item->runs(); ++r)
        check_same_kind(n, item->in_run(r), carried[k + 1]->in_run(r));
      results.push_back(item);
    }
    if (std::find(inside.begin(), inside.end(), results[0]) != inside.end())
      results[0] = copied(*results[0]);
  });
  // Whether to go on is known when a turn ends.
  const Item* again = nullptr;
  const Part condition = visit_part([&] {
    for (const Item* i : inside) graph_.tensors[i->name] = part.tensors.at(i->name);
    again = copied(*inside[0]);
  });
  std::vector<std::string> taken;
  for (const Item* i : inside) taken.push_back(i->name);
  Json initial = Json::array(), further = Json::array(), outputs = Json::array();
  for (const Item* c : carried) initial.push_back({{"name", name_of(*c)}});
  for (const std::string& name : outside_values({&part})) {
    further.push_back({{"name", name}});
    taken.push_back(name);
  }
  std::vector<const Item*> ends;
  for (std::size_t k = 0; k < carried.size(); ++k) {
    Item* made = make(results[k]->example);
    made->others = results[k]->others;
    made->sizes_by_data = results[k]->sizes_by_data;
    add_tensor("while_loop_result", *made);
    outputs.push_back(tensor_argument(*made));
    ends.push_back(made);
  }
  const std::string number = std::to_string(parts_++);
  add_higher("while_loop",
             {part_argument("while_loop_cond_graph_" + number, condition, {again}, taken, true),
              part_argument("while_loop_body_graph_" + number, part, results, taken),
              Json{{"as_tensors", std::move(initial)}}, Json{{"as_tensors", std::move(further)}}},
             std::move(outputs));
  for (std::size_t k = 2; k < carried.size(); ++k)
    items_[n.output(k - 2)] = number_in_tensor(*ends[k], kinds[k]);
}

}  // namespace tenon::jit::formats
