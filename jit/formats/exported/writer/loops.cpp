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

namespace {

struct Inside {
  explicit Inside(int& depth) : depth(depth) { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  int& depth;
};

}  // namespace

// One turn as a graph. `inside` is what it carries, `results` what the next turn gets.
ProgramWriter::Part ProgramWriter::visit_turn(const Node& n, const Carried& c,
                                              std::vector<const Item*>& inside,
                                              std::vector<const Item*>& results) {
  const Block& body = *n.blocks()[0];
  return visit_part([&] {
    for (const Item* from : c.items) {
      Item* made = make(from->example);
      made->others = from->others;
      made->sizes_by_data = from->sizes_by_data;
      add_tensor("carried", *made);
      inside.push_back(made);
    }
    for (std::size_t k = 1; k <= body.inputs().size(); ++k)
      items_[body.inputs()[k - 1]] = number_in_tensor(*inside[k], c.kinds[k]);
    appends_.insert(c.appends.begin(), c.appends.end());
    {
      const Inside turn(turns_);
      visit(body);
    }
    const Item* next = emit("aten::add.Scalar", {inside[1], make(int64_t{1}, true)});
    results = {go_on(n, *next, c.limit, at(body.outputs()[0])), next};
    for (std::size_t k = 1; k < body.outputs().size(); ++k)
      results.push_back(result_of_part(*body.outputs()[k], body));
    for (const Node* append : c.appends) results.push_back(result_of_part(*append->input(1), body));
    for (std::size_t k = 2; k < c.items.size(); ++k)
      for (std::size_t r = 0; r < results[k]->runs(); ++r)
        check_same_kind(n, results[k]->in_run(r), c.items[k]->in_run(r));
    if (std::find(inside.begin(), inside.end(), results[0]) != inside.end())
      results[0] = copied(*results[0]);
  });
}

// Of a turn after the one with these results; none if it cannot run.
std::vector<const ProgramWriter::Item*> ProgramWriter::results_of_next_turn(
    const Node& n, Carried c, const std::vector<const Item*>& results) {
  c.items.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(c.items.size()));
  std::vector<const Item*> inside, next;
  try {
    (void)visit_turn(n, c, inside, next);
  } catch (const Error&) {
    return {};
  }
  return next;
}

// What each turn appends to lists is carried, too. Its kind is known after a turn.
void ProgramWriter::carry_appended(const Node& n, Carried& c) {
  if (c.appends.empty()) return;
  std::vector<const Item*> inside, results;
  (void)visit_turn(n, c, inside, results);
  const std::vector<const Item*> second = results_of_next_turn(n, c, results);
  for (std::size_t k = c.items.size(); k < results.size(); ++k) {
    const bool differs = k < second.size() && second[k]->example.toTensor().sizes() !=
                                                  results[k]->example.toTensor().sizes();
    if (!results[k]->others.empty() || differs)
      refuse(n, "a loop by data appends tensors whose sizes vary to a list");
    const Tensor& t = results[k]->example.toTensor();
    const Item* zero = emit("aten::zeros", {make(IValue(t.sizes()), true)});
    c.items.push_back(emit("aten::to.dtype", {zero, make(IValue(t.scalar_type()), true)}));
    c.kinds.emplace_back(Tensor());
  }
}

// Whether there is a first turn: the file checks it where data or sizes decide.
bool ProgramWriter::enter_loop(const Node& n, const Item* limit) {
  const Item &most = at(n.input(0)), &condition = at(n.input(1));
  if (most.constant && most.example.toInt() <= 0) return false;
  const Item* zero = make(int64_t{0}, true);
  if (most.constant && condition.constant) return condition.example.toBool();
  const Item* go =
      go_on(n, *carried_as_tensor(n, *zero), most.constant ? nullptr : limit, condition);
  return decide(n, *number_in_tensor(*go, true));
}

// A file's loop carries no None. A loop that begins with one is written with its first turn before
// it, which gives a tensor in its place.
bool ProgramWriter::visit_first_turn(const Node& n, Carried& c, Start& start) {
  const Block& body = *n.blocks()[0];
  const auto is_none = [](const Item* i) { return i->example.isNone(); };
  if (std::none_of(start.carried.begin(), start.carried.end(), is_none)) return true;
  if (!enter_loop(n, c.limit)) return false;
  items_[body.inputs()[0]] = make(int64_t{0}, true);
  for (std::size_t k = 0; k < start.carried.size(); ++k)
    items_[body.inputs()[k + 1]] = start.carried[k];
  visit(body);
  start.condition = &at(body.outputs()[0]);
  for (std::size_t k = 0; k < start.carried.size(); ++k)
    start.carried[k] = &at(body.outputs()[k + 1]);
  c.first = 1;
  return !start.condition->constant || start.condition->example.toBool();
}

void ProgramWriter::visit_data_loop(const Node& n) {
  const Block& body = *n.blocks()[0];
  Carried c;
  c.appends = appends_of(n);
  if (writes(body, c.appends)) carry_writes(const_cast<Node&>(n));
  if (writes(body, c.appends))
    refuse(n, "a loop by data or varying sizes writes to a tensor or a list");
  const Item& most = at(n.input(0));
  const bool endless = most.constant && most.example.toInt() == INT64_MAX;
  c.limit = endless ? nullptr : carried_as_tensor(n, most);
  Start start{&at(n.input(1)), {}};
  for (std::size_t k = 2; k < n.inputs().size(); ++k) start.carried.push_back(&at(n.input(k)));
  if (!visit_first_turn(n, c, start)) {
    for (std::size_t k = 0; k < start.carried.size(); ++k) items_[n.output(k)] = start.carried[k];
    return;
  }
  const Item* first = carried_as_tensor(n, *make(c.first, true));
  c.items = {go_on(n, *first, c.limit, *start.condition), first};
  c.kinds = {IValue(Tensor()), int64_t{0}};
  for (const Item* each : start.carried) {
    c.kinds.push_back(each->example);
    c.items.push_back(carried_as_tensor(n, *each));
  }
  carry_appended(n, c);
  const std::vector<const Item*> ends = add_while_loop(n, c);
  for (std::size_t k = 2; k < n.inputs().size(); ++k)
    items_[n.output(k - 2)] = number_in_tensor(*ends[k], c.kinds[k]);
}

// Gives what is carried at its end.
std::vector<const ProgramWriter::Item*> ProgramWriter::add_while_loop(const Node& n,
                                                                      const Carried& c) {
  std::vector<const Item*> inside, results;
  const Part part = visit_turn(n, c, inside, results);
  // Whether to go on is known when a turn ends.
  const Item* again = nullptr;
  const Part condition = visit_part([&] {
    for (const Item* i : inside) graph_.tensors[i->name] = part.tensors.at(i->name);
    again = copied(*inside[0]);
  });
  std::vector<std::string> taken;
  for (const Item* i : inside) taken.push_back(i->name);
  Json initial = Json::array(), further = Json::array(), outputs = Json::array();
  for (const Item* from : c.items) initial.push_back({{"name", name_of(*from)}});
  for (const std::string& name : outside_values({&part})) {
    further.push_back({{"name", name}});
    taken.push_back(name);
  }
  const bool stacks = !c.appends.empty();  // then the results are those of all turns
  std::vector<const Item*> ends;
  for (const Item* r : results) {
    Item* made = make(stacks ? IValue(r->example.toTensor().unsqueeze(0)) : r->example);
    for (const IValue& run : r->others)
      made->others.push_back(stacks ? IValue(run.toTensor().unsqueeze(0)) : run);
    made->sizes_by_data = r->sizes_by_data || stacks;
    if (stacks) note_unknown_sizes(*made);
    add_tensor("while_loop_result", *made);
    outputs.push_back(tensor_argument(*made));
    ends.push_back(made);
  }
  const std::string number = std::to_string(parts_++);
  add_higher(stacks ? "while_loop_stack_output" : "while_loop",
             {part_argument("while_loop_cond_graph_" + number, condition, {again}, taken, true),
              part_argument("while_loop_body_graph_" + number, part, results, taken),
              Json{{"as_tensors", std::move(initial)}}, Json{{"as_tensors", std::move(further)}}},
             std::move(outputs));
  if (stacks) grow_lists(c, ends);
  return ends;
}

}  // namespace tenon::jit::formats
