// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches by data.
#include <algorithm>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

// `and` and `or` of bools by data and of others, as loops of archives have them.
bool ProgramWriter::visit_joined_truth(const Node& n) {
  const bool both = n.is("aten::__and__");
  if ((!both && !n.is("aten::__or__")) || n.inputs().size() != 2) return false;
  const Item *a = &at(n.input(0)), *b = &at(n.input(1));
  if (!a->truth) std::swap(a, b);
  if (!a->truth || !(b->truth || (b->example.isBool() && is_known(*b)))) return false;
  if (b->constant) {
    items_[n.output()] = b->example.toBool() == both ? a : b;
    return true;
  }
  Item* made = result_of_run(call(n), 0);
  made->truth =
      emit(both ? "aten::logical_and" : "aten::logical_or", {a->truth, carried_as_tensor(n, *b)});
  items_[n.output()] = made;
  return true;
}

// bool(tensor), which a branch may go by, and its opposite.
bool ProgramWriter::visit_truth(const Node& n) {
  if (visit_joined_truth(n)) return true;
  const bool opposite = n.is("aten::__not__") && at(n.input(0)).truth;
  if (!opposite && !(n.is("aten::Bool") && n.input(0)->type()->is(TypeKind::Tensor))) return false;
  Item* made = result_of_run(call(n), 0);
  made->truth = opposite ? emit("aten::logical_not", {at(n.input(0)).truth}) : &at(n.input(0));
  items_[n.output()] = made;
  return true;
}

// int(t), float(t) and t.item() of a tensor that is known when the written program runs.
bool ProgramWriter::visit_value(const Node& n) {
  static const std::set<std::string, std::less<>> kReads = {
      "aten::Int",         "aten::Float",         "aten::item",  "aten::ScalarImplicit",
      "aten::IntImplicit", "aten::FloatImplicit", "aten::Scalar"};
  if (!kReads.count(n.kind()) || !n.input(0)->type()->is(TypeKind::Tensor)) return false;
  const Item& tensor = at(n.input(0));
  const Tensor t = tensor.example.toTensor();
  const IValue wanted = call(n)[0].at(0);
  if (!wanted.isInt() && !wanted.isDouble() && !wanted.isBool()) return false;
  const bool real = t.is_floating_point();
  if (t.scalar_type() == kBool && !wanted.isBool()) return false;
  const Item* read = number_in_tensor(tensor, wanted.isBool() ? wanted
                                              : real          ? IValue(t.item<double>())
                                                              : t.item<int64_t>());
  items_[n.output()] = read;
  if (wanted.isBool() || real == wanted.isDouble()) return true;
  Item* made = result_of_run(call(n), 0);
  items_[n.output()] = made;
  convert(*made, *read);
  return true;
}

// t.tolist() of a tensor whose one dimension does not vary: a number for each element.
bool ProgramWriter::visit_values(const Node& n) {
  if (!n.is("prim::tolist")) return false;
  const Item& tensor = at(n.input(0));
  const std::vector<Stack> runs = call(n);
  if (tensor.example.toTensor().dim() != 1 || has_sizes_by_data(tensor)) return false;
  const auto& values = runs[0].at(0).toListRef().items;
  for (const Stack& run : runs)
    if (run.at(0).toListRef().items.size() != values.size()) return false;
  std::vector<const Item*> parts;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Item* one = emit("aten::select.int",
                           {&tensor, make(int64_t{0}, true), make(static_cast<int64_t>(k), true)});
    parts.push_back(number_in_tensor(*one, values[k]));
  }
  items_[n.output()] = construct(parts, *n.output()->type());
  return true;
}

// A bool that a tensor holds, or that follows from numbers which tensors hold.
bool ProgramWriter::is_by_data(const Item& condition) const {
  return condition.truth ||
         (!condition.number.empty() && depends_on_data(expression_of(condition)));
}

namespace {

bool raises(const Block& b) {
  const auto nodes = b.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node* n) { return n->is("prim::RaiseException"); });
}

// The side that the example does not take may fail with it.
template <class F>
bool succeeds(const F& f) {
  try {
    return f();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool ProgramWriter::write_both_sides(const Node& n, const std::vector<Append>& appends,
                                     Part (&sides)[2], std::vector<const Item*> (&results)[2]) {
  const std::vector<const Item*> kinds = kinds_of_appended(n, appends);
  for (const std::size_t side : {0, 1}) {
    const Block& block = *n.blocks()[side];
    sides[side] = visit_part([&] {
      visit(block);
      for (const Value* v : block.outputs()) results[side].push_back(result_of_part(*v, block));
      for (std::size_t k = 0; k < appends.size(); ++k) {
        const Node* append = appends[k].nodes[side];
        results[side].push_back(append ? result_of_part(*append->input(1), block)
                                       : zeros_like(*kinds[k]));
      }
    });
  }
  return are_same_kind(results[0], results[1]);
}

// The sides' results, but for sizes that data decide.
bool ProgramWriter::are_same_kind(const std::vector<const Item*>& yes,
                                  const std::vector<const Item*>& no) {
  for (std::size_t k = 0; k < yes.size(); ++k) {
    const bool varies = yes[k]->sizes_by_data || no[k]->sizes_by_data;
    for (std::size_t r = 0; r < std::max(yes[k]->runs(), no[k]->runs()); ++r) {
      const Tensor x = yes[k]->in_run(r).toTensor(), y = no[k]->in_run(r).toTensor();
      const bool sizes = varies ? x.dim() == y.dim() : x.sizes() == y.sizes();
      if (x.scalar_type() != y.scalar_type() || !sizes) return false;
    }
  }
  return true;
}

// Where the sides give tensors of different kinds, which the file's cond cannot, or one of them
// cannot be written or run with the example, the written program takes the side of the example, and
// checks that it may.
void ProgramWriter::visit_branch(const Node& n, const Item& condition) {
  for (const std::size_t side : {0, 1})
    if (raises(*n.blocks()[side])) return visit_taken(n, *n.blocks()[1 - side]);
  std::vector<Append> appends = appends_of_branch(n);
  const auto writes_any = [&] {
    std::vector<const Node*> but;
    for (const Append& a : appends) but.insert(but.end(), std::begin(a.nodes), std::end(a.nodes));
    return writes(*n.blocks()[0], but) || writes(*n.blocks()[1], but);
  };
  if (writes_any()) carry_writes(const_cast<Node&>(n));
  if (writes_any()) refuse(n, "a branch by data writes to a tensor or a list");
  const Item* flag = appends.empty() ? nullptr : carried_as_tensor(n, condition);
  const Json predicate =
      condition.truth ? tensor_argument(*condition.truth) : number_argument(condition);
  Part sides[2];
  std::vector<const Item*> results[2];
  const auto &yes = results[0], &no = results[1];
  const std::set<const Node*> skipped = appends_;
  for (const Append& a : appends) appends_.insert(std::begin(a.nodes), std::end(a.nodes));
  const bool both = succeeds([&] { return write_both_sides(n, appends, sides, results); });
  appends_ = skipped;
  if (!both) return visit_taken(n, *n.blocks()[decide(n, condition) ? 0 : 1]);
  Json outputs = Json::array();
  std::vector<const Item*> ends;
  for (std::size_t k = 0; k < yes.size(); ++k) {
    std::vector<Stack> runs(std::max({condition.runs(), yes[k]->runs(), no[k]->runs()}));
    for (std::size_t r = 0; r < runs.size(); ++r)
      runs[r].push_back((condition.in_run(r).toBool() ? yes : no)[k]->in_run(r));
    const bool varies = yes[k]->sizes_by_data || no[k]->sizes_by_data;
    Item* made = result_of_run(runs, 0);
    made->sizes_by_data = varies;
    if (varies) note_unknown_sizes(*made);
    add_tensor("cond_result", *made);
    outputs.push_back(tensor_argument(*made));
    ends.push_back(made);
  }
  const std::vector<std::string> taken = outside_values({&sides[0], &sides[1]});
  Json operands = Json::array();
  for (const std::string& name : taken) operands.push_back({{"name", name}});
  const std::string number = std::to_string(parts_++);
  add_higher("cond",
             {predicate, part_argument("true_graph_" + number, sides[0], yes, taken),
              part_argument("false_graph_" + number, sides[1], no, taken),
              Json{{"as_tensors", std::move(operands)}}},
             std::move(outputs));
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    items_[n.output(k)] = number_in_tensor(*ends[k], at(n.blocks()[0]->outputs()[k]).example);
  if (flag) append_flagged(appends, *flag, ends);
}

}  // namespace tenon::jit::formats
