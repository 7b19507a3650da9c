// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops of a program as If and Loop. Lists of outside that they change are results of
// theirs, too.
#include "onnx/export/exporter.h"
#include "onnx/export/optionals.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;

// What a value is outside of the graph that made it.
ItemPtr outside(const Item& inside, std::string name) {
  auto out = std::make_shared<Item>();
  out->example = inside.example;
  out->grows = inside.grows;
  out->present = inside.present;
  out->is_present = inside.is_present;
  out->name = std::move(name);
  return out;
}

bool is_empty_list(const IValue& v) { return is_tensor_list(v) && v.toListRef().items.empty(); }

// The list as one value, which the graph that is entered may change.
void enter(Item& list, const IValue& example, std::string name, std::size_t depth) {
  list = Item{};
  list.example = example;
  list.name = std::move(name);
  list.depth = depth;
  list.grows = true;
}

// Who else has the list is not followed through a loop.
void enter_carried(Item& list, bool shared) {
  list.shared = shared;
  list.grows = true;
}

bool same_shapes(const IValue& a, const IValue& b) {
  if (a.isTensor() && b.isTensor())
    return a.toTensor().defined() == b.toTensor().defined() &&
           (!a.toTensor().defined() || a.toTensor().sizes() == b.toTensor().sizes());
  if (!a.isList() || !b.isList()) return true;
  if (!is_tensor_list(a)) return a.toListRef().items.size() == b.toListRef().items.size();
  const IValue* first = nullptr;  // elements may be asked for by any position
  for (const IValue* list : {&a, &b})
    for (const IValue& v : list->toListRef().items) {
      if (first && !same_shapes(*first, v)) return false;
      first = &v;
    }
  return true;
}

void add_graph(pb::NodeProto* n, const char* name, pb::GraphProto& graph) {
  pb::AttributeProto* to = n->add_attribute();
  to->set_name(name);
  to->set_type(pb::AttributeProto::GRAPH);
  to->mutable_g()->Swap(&graph);
}

}  // namespace

struct Exporter::OpenGraph {
  OpenGraph(Exporter& e, pb::GraphProto* graph, const char* name) : exporter(e) {
    graph->set_name(e.fresh(name));
    e.graphs_.push_back({graph, {}});
  }
  ~OpenGraph() { exporter.graphs_.pop_back(); }
  OpenGraph(const OpenGraph&) = delete;
  Exporter& exporter;
};

void Exporter::write_steps(pb::GraphProto* graph, const std::vector<Scanned>& inputs,
                           const Body& body, const std::vector<Scanned>& results) {
  const auto add = [](pb::ValueInfoProto* info, const std::string& name, const Scanned& like) {
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx_type(like.dtype));
    auto* shape = type->mutable_shape();
    for (int64_t d = 0; d < like.rank; ++d) shape->add_dim();
  };
  const OpenGraph open(*this, graph, "body");
  Names inner;
  for (const Scanned& s : inputs) {
    inner.push_back(fresh("scanned"));
    add(graph->add_input(), inner.back(), s);
  }
  const Names given = body(inner);
  for (std::size_t k = 0; k < given.size(); ++k)
    add(graph->add_output(), node("Identity", {given[k]}).front(), results.at(k));
}

Names Exporter::scan(const std::vector<Scanned>& states, const std::vector<Scanned>& sequences,
                     bool backward, const Body& body) {
  std::vector<Scanned> all = states;
  all.insert(all.end(), sequences.begin(), sequences.end());
  Names names;
  for (const Scanned& s : all) names.push_back(s.name);
  std::vector<Scanned> results = states;
  results.insert(results.end(), states.begin(), states.end());
  pb::GraphProto graph;
  write_steps(&graph, all, body, results);
  const auto outputs = static_cast<std::size_t>(graph.output_size());
  Attrs attrs{{"num_scan_inputs", static_cast<int64_t>(sequences.size())}};
  if (backward) {
    const std::vector<int64_t> taken(sequences.size(), 1), given(outputs - states.size(), 1);
    attrs.push_back({"scan_input_directions", taken});
    attrs.push_back({"scan_output_directions", given});
  }
  const Names made = node("Scan", names, attrs, outputs);
  add_graph(graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1), "body",
            graph);
  return made;
}

Names Exporter::loop(const std::string& condition, const std::vector<Scanned>& states,
                     const Body& body) {
  std::vector<Scanned> all{{"", kInt64, 0}, {condition, kBool, 0}};
  all.insert(all.end(), states.begin(), states.end());
  Names names;
  for (const Scanned& s : all) names.push_back(s.name);
  pb::GraphProto graph;
  const auto step = [&body](const Names& given) { return body({given.begin() + 2, given.end()}); };
  write_steps(&graph, all, step, {all.begin() + 1, all.end()});
  const Names made = node("Loop", names, {}, states.size());
  add_graph(graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1), "body",
            graph);
  return made;
}

// Writes a block as a graph of its own; what its results and the lists are there.
std::vector<ItemPtr> Exporter::walk_branch(const jit::Block& b, const std::vector<ItemPtr>& lists,
                                           pb::GraphProto* to) {
  const OpenGraph open(*this, to, "graph");
  walk(b);
  std::vector<ItemPtr> results, outputs = lists;
  for (std::size_t k = 0; k < b.outputs().size(); ++k)
    outputs.insert(outputs.begin() + static_cast<std::ptrdiff_t>(k), item(b.outputs()[k]));
  for (const ItemPtr& i : outputs) {
    if (i->unset || i->example.isNone()) {  // the other branch tells what it is of
      to->add_output()->set_name(fresh("unset"));
      results.push_back(i);
      continue;
    }
    Item value = *i;
    value.present.clear();
    const std::string name = own(i->present.empty() ? *i : value);
    add_value_info(to->add_output(), name, *i, true);
    results.push_back(outside(*i, name));
  }
  return results;
}

// A result of the branch that nobody reads, as the other branch has it.
void Exporter::fill_unset(pb::GraphProto* graph, int at, const pb::ValueInfoProto& other,
                          const Item& like) {
  pb::NodeProto* n = graph->add_node();
  n->set_name(fresh("unset"));
  n->add_output(graph->output(at).name());
  if (is_tensor_list(like.example)) {
    n->set_op_type("SequenceEmpty");
    pb::AttributeProto* dtype = n->add_attribute();
    dtype->set_name("dtype");
    dtype->set_type(pb::AttributeProto::INT);
    dtype->set_i(other.type().sequence_type().elem_type().tensor_type().elem_type());
  } else {
    n->set_op_type("Identity");
    const bool none = like.unset || like.example.isNone();
    n->add_input(initializer(none ? full({}, false, TensorOptions(kBool))
                                  : zeros_like(as_tensor(like.example))));
  }
  *graph->mutable_output(at)->mutable_type() = other.type();
}

// The size of a dimension that the tensor does not have: ranks are the same in every run.
bool Exporter::is_out_of_range(const Node& n) const {
  if (!n.is("aten::size") || n.inputs().size() != 2) return false;
  const auto find = [&](const jit::Value* v) {  // of the block itself nothing is known yet
    return v->node()->owning_block() == n.owning_block() ? items_.end() : items_.find(v);
  };
  const auto self = find(n.input(0)), at = find(n.input(1));
  const std::optional<IValue> dim = at != items_.end() && at->second->constant
                                        ? std::optional(at->second->example)
                                        : jit::to_constant(n.input(1));
  if (self == items_.end() || !self->second->example.isTensor() || !dim || !dim->isInt())
    return false;
  const int64_t rank = self->second->example.toTensor().dim();
  return dim->toInt() >= rank || dim->toInt() < -rank;
}

bool Exporter::raises(const jit::Block& b) const {
  const std::vector<Node*> nodes = b.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [this](const Node* n) {
    return n->is("prim::RaiseException") || is_out_of_range(*n);
  });
}

void Exporter::visit_if(const Node& n) {
  const ItemPtr condition = item(n.input(0));
  const bool value = condition->example.isTensor() ? condition->example.toTensor().item<bool>()
                                                   : condition->example.toBool();
  const bool checks = raises(*n.block(0)) != raises(*n.block(1));  // models do not
  if (condition->constant || checks) {
    const bool first = condition->constant ? value : raises(*n.block(1));
    const jit::Block& taken = *n.block(first ? 0 : 1);
    walk(taken);
    for (std::size_t k = 0; k < n.outputs().size(); ++k) set(n.output(k), item(taken.outputs()[k]));
    return;
  }
  const std::string name = name_of(*condition);
  const std::vector<ItemPtr> lists = changed_lists(n);
  std::vector<Item> before;
  Names given;  // an empty list is made when the branches have told what it is of
  for (const ItemPtr& l : lists) {
    before.push_back(*l);
    given.push_back(is_empty_list(l->example) && l->name.empty() ? fresh("list") : value_of(*l));
  }
  pb::GraphProto branches[2];
  std::vector<ItemPtr> results[2];
  for (int k = 0; k < 2; ++k) {
    for (std::size_t i = 0; i < lists.size(); ++i)
      enter(*lists[i], before[i].example, given[i], graphs_.size() + 1);
    results[k] = walk_branch(*n.block(k), lists, &branches[k]);
  }
  const std::size_t outs = n.outputs().size();
  if (outs + lists.size() == 0) return;  // what it only does, as raising an error, has no form
  std::vector<bool> none(outs);
  std::vector<std::size_t> maybe;  // results that may be None
  std::vector<std::pair<int, Item>> late;
  for (std::size_t i = 0; i < outs; ++i) {
    const auto at = static_cast<int>(i);
    const bool unset[] = {is_missing(*results[0].at(i)), is_missing(*results[1].at(i))};
    none[i] = unset[0] && unset[1];
    const auto may_lack = [&](const ItemPtr& r) {
      return !r->present.empty() || (!none[i] && r->example.isNone() && !r->unset);
    };
    if (may_lack(results[0].at(i)) || may_lack(results[1].at(i))) {
      maybe.push_back(i);
      for (int k = 0; k < 2; ++k) late.emplace_back(k, *results[k].at(i));
    }
    for (int k = 0; k < 2; ++k) {
      if (!unset[k]) continue;
      const ItemPtr &mine = results[k].at(i), &other = results[1 - k].at(i);
      need(mine->unset || none[i] || other->example.isTensor() || is_number(other->example),
           "a result that is None in one branch and neither tensor nor number in the other");
      fill_unset(&branches[k], at, branches[1 - k].output(at), *other);
      if (!none[i]) results[k].at(i) = std::make_shared<Item>(Item{other->example});
    }
    if (none[i])
      for (pb::GraphProto& g : branches)
        g.mutable_output(at)->mutable_type()->mutable_tensor_type()->set_elem_type(pb::BOOL);
  }
  for (std::size_t i = 0; i < outs + lists.size(); ++i) {
    for (int k = 0; k < 2; ++k) {  // of an empty list the other branch tells what it is of
      if (!is_empty_list(results[k].at(i)->example)) continue;
      const auto at = static_cast<int>(i);
      *branches[k].mutable_output(at)->mutable_type() = branches[1 - k].output(at).type();
    }
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    *lists[i] = before[i];
    const ItemPtr& one = results[is_empty_list(results[0].at(outs + i)->example)].at(outs + i);
    if (!is_empty_list(before[i].example) || !before[i].name.empty()) continue;
    value_of(*lists[i], one->example);
    pb::NodeProto* made = graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1);
    made->set_output(0, given[i]);
    graphs_.back().made.insert(given[i]);
  }
  for (const auto& [k, result] : late) add_present(&branches[k], result);
  const Names outputs = node("If", {name}, {}, outs + lists.size() + maybe.size());
  pb::NodeProto* made = graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1);
  add_graph(made, "then_branch", branches[0]);
  add_graph(made, "else_branch", branches[1]);
  const auto& taken = results[value ? 0 : 1];
  for (std::size_t k = 0; k < outs; ++k) {
    if (none[k]) {
      set(n.output(k), std::make_shared<Item>(*taken.at(k)));
      continue;
    }
    const ItemPtr result = outside(*taken.at(k), outputs[k]);
    result->grows = !same_shapes(results[0].at(k)->example, results[1].at(k)->example) ||
                    results[0].at(k)->grows || results[1].at(k)->grows;
    const auto at = std::find(maybe.begin(), maybe.end(), k);
    result->present.clear();
    if (at != maybe.end()) {
      const auto m = static_cast<std::size_t>(at - maybe.begin());
      const Item& told = late.at(2 * m + (value ? 0 : 1)).second;
      result->present = outputs.at(outs + lists.size() + m);
      result->is_present = told.present.empty() ? !is_missing(told) : told.is_present;
    }
    result->shared =
        !is_only_name(*n.block(0)->outputs()[k]) || !is_only_name(*n.block(1)->outputs()[k]);
    set(n.output(k), result);
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const ItemPtr& longer =
        results[is_empty_list(taken.at(outs + i)->example) != !value].at(outs + i);
    enter(*lists[i], longer->example, outputs[outs + i], graphs_.size());
  }
}

// The body as a graph, written with the examples of the first turn.
std::vector<ItemPtr> Exporter::write_body(const Node& n, const std::vector<ItemPtr>& lists,
                                          pb::GraphProto* graph) {
  const jit::Block& body = *n.block(0);
  const OpenGraph open(*this, graph, "body");
  std::vector<ItemPtr> inputs;
  const auto add_input = [&](const jit::Value* v, const IValue& example) {
    auto i = std::make_shared<Item>();
    i->example = example;
    i->name = fresh(v ? "carried" : "condition");
    graphs_.back().made.insert(i->name);
    graph->add_input();
    if (v) set(v, i);
    inputs.push_back(i);
    return i;
  };
  std::vector<std::size_t> maybe, none;  // what is carried that may be None, or was before
  add_input(body.inputs().at(0), int64_t{0});
  add_input(nullptr, true);
  for (std::size_t k = 2; k < n.inputs().size(); ++k) {
    const Item& before = *item(n.input(k));
    const ItemPtr in = add_input(body.inputs().at(k - 1), before.example);
    enter_carried(*in, !is_only_name(*n.input(k)));
    in->unset = before.unset;
    if (!before.present.empty()) maybe.push_back(k - 2);
    if (before.example.isNone()) none.push_back(k - 2);
  }
  for (const ItemPtr& l : lists) {
    const ItemPtr in = add_input(nullptr, l->example);
    enter(*l, in->example, in->name, graphs_.size());
  }
  for (const std::size_t k : maybe) {
    const ItemPtr carried = item(body.inputs().at(k + 1));
    carried->is_present = item(n.input(k + 2))->is_present;
    carried->present = add_input(nullptr, carried->is_present)->name;
  }
  const std::vector<ItemPtr> given = inputs;
  std::vector<Item> first;
  for (const ItemPtr& i : given) first.push_back(*i);
  walk(body);
  std::vector<ItemPtr> results;
  for (const jit::Value* v : body.outputs()) results.push_back(item(v));
  results.insert(results.end(), lists.begin(), lists.end());
  for (const std::size_t k : maybe) {
    results.push_back(told_of(*results.at(k + 1)));
    results.at(k + 1) = without_presence(*results.at(k + 1), first.at(k + 2).example);
  }
  for (const std::size_t k : none)
    results.at(k + 1) = without_presence(*results.at(k + 1), IValue());
  Item nothing{full({}, false, TensorOptions(kBool)), true};  // for None that nobody replaces
  for (std::size_t k = 0; k < results.size(); ++k) {
    Item& result = results[k]->example.isNone() && !results[k]->unset ? nothing : *results[k];
    const std::string name = own(result, first.at(k + 1).example);
    add_value_info(graph->add_output(), name, result, true);
  }
  for (std::size_t k = 0; k < first.size(); ++k) {
    const bool empty = k > 0 && (is_empty_list(first[k].example) || first[k].unset);
    const bool none = first[k].example.isNone() && !first[k].unset;
    const Item& typed = none ? nothing : empty ? *results[k - 1] : first[k];
    add_value_info(graph->mutable_input(static_cast<int>(k)), first[k].name, typed, true);
  }
  return results;
}

bool Exporter::shapes_vary(const Node& n, const std::vector<IValue>& results) const {
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    if (!same_shapes(item(n.input(k + 2))->example, results.at(k))) return true;
  return std::any_of(results.begin() + static_cast<std::ptrdiff_t>(n.outputs().size()),
                     results.end(), [](const IValue& v) { return !same_shapes(v, v); });
}

// Writes the body, again if its shapes turn out to change from turn to turn. What the loop gives
// with the examples is in `examples`, one turn of it if it could not be run.
std::vector<ItemPtr> Exporter::write_loop(const Node& n, const std::vector<ItemPtr>& lists,
                                          std::optional<std::vector<IValue>>& examples,
                                          pb::GraphProto* graph) {
  std::vector<Item> before;
  for (const ItemPtr& l : lists) before.push_back(*l);
  varying_ = varying_ || (examples && shapes_vary(n, *examples));
  for (;;) {
    graph->Clear();
    std::vector<ItemPtr> results;
    for (const ItemPtr& i : write_body(n, lists, graph))
      results.push_back(std::make_shared<Item>(*i));
    std::vector<IValue> turn;
    for (std::size_t k = 1; k < results.size(); ++k) turn.push_back(results[k]->example);
    for (std::size_t i = 0; i < lists.size(); ++i) *lists[i] = before[i];
    const bool again = is_static() && shapes_vary(n, turn);
    if (!examples) examples = std::move(turn);
    if (!again) return results;
    varying_ = true;
  }
}

// Neither carries nor changes tensors.
bool Exporter::only_counts(const Node& n, const std::vector<ItemPtr>& lists) const {
  const auto has_tensors = [](const ItemPtr& i) {
    return i->example.isTensor() || is_tensor_list(i->example);
  };
  for (std::size_t k = 2; k < n.inputs().size(); ++k)
    if (has_tensors(item(n.input(k)))) return false;
  return std::none_of(lists.begin(), lists.end(), has_tensors);
}

void Exporter::forget(const jit::Block& b) {
  for (const jit::Value* v : b.inputs()) items_.erase(v);
  for (const Node* n : b.nodes()) {
    written_.erase(n);
    for (const jit::Value* v : n->outputs()) items_.erase(v);
    for (const jit::Block* inner : n->blocks()) forget(*inner);
  }
}

// Turn by turn, if their number is known: the graph has the turns in place of the loop then, so
// that what they write to memory of outside is written in one block.
bool Exporter::unroll_loop(const Node& n) {
  constexpr int64_t kMaxTurns = 64;
  const jit::Block& body = *n.block(0);
  const ItemPtr trips = item(n.input(0)), condition = item(n.input(1));
  const std::optional<IValue> goes_on = jit::to_constant(body.outputs().at(0));
  if (!trips->constant || trips->example.toInt() > kMaxTurns || !condition->constant ||
      !condition->example.toBool() || !goes_on || !goes_on->toBool())
    return false;
  jit::Graph& graph = *n.graph();
  const Node* before = n.prev();
  Node* loop = before->next();
  std::vector<jit::Value*> carried(n.inputs().begin() + 2, n.inputs().end());
  {
    const jit::Graph::InsertPoint at(graph, loop);
    for (int64_t turn = 0; turn < trips->example.toInt(); ++turn) {
      std::map<const jit::Value*, jit::Value*> values{
          {body.inputs().at(0), graph.insert_constant(turn)}};
      for (std::size_t k = 0; k < carried.size(); ++k) values[body.inputs().at(k + 1)] = carried[k];
      const std::vector<jit::Value*> results = graph.inline_block(body, values);
      carried.assign(results.begin() + 1, results.end());
    }
  }
  for (std::size_t k = 0; k < carried.size(); ++k)
    loop->output(k)->replace_all_uses_with(carried[k]);
  forget(body);
  name_pieces(graph, before->next(), loop);
  std::vector<Node*> turns;
  for (Node* m = before->next(); m != loop; m = m->next()) turns.push_back(m);
  loop->destroy();
  walk(turns);
  return true;
}

// for x in list, of values whose names are known: each turn has the sizes of its own element.
bool Exporter::goes_over_parts(const Node& n) const {
  const auto nodes = n.block(0)->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node* m) {
    if (!m->is("aten::__getitem__") || m->input(1) != n.block(0)->inputs().at(0)) return false;
    const Item* list = find_item(m->input(0));
    return list && list->has_parts && !list->parts.empty() && !list->parts[0]->example.isInt();
  });
}

// A loop that computes numbers alone, as the axes of an operator, is unrolled, as most of it is
// constant then, and so are one that goes over values, and one whose body takes the number of the
// turn where ONNX wants a constant.
void Exporter::visit_loop(const Node& n) {
  const std::vector<ItemPtr> lists = changed_lists(n);
  if (fold_loop(n, lists)) return;
  if ((only_counts(n, lists) || goes_over_parts(n)) && unroll_loop(n)) return;
  std::vector<Item> before;
  for (const ItemPtr& l : lists) before.push_back(*l);
  const std::vector<std::string> refused = refused_;
  const bool varying = varying_;
  const int nodes = graphs_.back().graph->node_size();
  std::optional<Refusal> whole;  // of the loop, not of what is in it
  try {
    keep_loop(n, lists);
  } catch (const Missing&) {
    need(refused_ != refused, "a result that nothing computes");
  } catch (const Refusal& r) {
    whole = r;
  }
  if (refused_ == refused && !whole) return;
  std::vector<std::string> of_body = refused;
  of_body.swap(refused_);
  for (std::size_t i = 0; i < lists.size(); ++i) *lists[i] = before[i];
  varying_ = varying;
  remove_nodes(nodes);
  if (unroll_loop(n)) return;
  refused_ = of_body;
  if (whole) throw Refusal{*whole};
}

// What a loop carries before it has a value is of what the loop gives: zeros, or nothing.
void Exporter::set_unset(const Node& n, const std::vector<ItemPtr>& lists,
                         std::optional<std::vector<IValue>>& examples) {
  std::vector<ItemPtr> turn;
  for (std::size_t k = 2; k < n.inputs().size(); ++k) {
    const Item& before = *item(n.input(k));
    if (examples && examples->at(k - 2).isNone()) examples->at(k - 2) = before.example;
    if (!before.unset) continue;
    IValue like = examples ? examples->at(k - 2) : IValue();
    if (like.isNone()) {
      pb::GraphProto trial;
      std::vector<Item> before;
      for (const ItemPtr& l : lists) before.push_back(*l);
      if (turn.empty()) turn = write_body(n, lists, &trial);
      for (std::size_t i = 0; i < lists.size(); ++i) *lists[i] = before[i];
      like = turn.at(k - 1)->example;
    }
    need(like.isTensor() || like.isInt() || like.isDouble() || like.isBool(),
         "a value that is set in a branch of the loop");
    if (like.isTensor()) like = zeros_like(like.toTensor());
    if (examples && examples->at(k - 2).isNone()) examples->at(k - 2) = like;
    set(n.input(k), std::make_shared<Item>(Item{like, true}));
  }
}

// As a Loop.
void Exporter::keep_loop(const Node& n, const std::vector<ItemPtr>& lists) {
  const ItemPtr trips = item(n.input(0)), condition = item(n.input(1));
  Names inputs{name_of(*trips), name_of(*condition)};
  std::optional<std::vector<IValue>> examples = run_loop(n, lists);
  OptionalInputs optionals(*this, n);
  const std::vector<bool> there = give_optionals(n, lists, examples, optionals);
  set_unset(n, lists, examples);
  const bool was_varying = varying_, ran = examples.has_value();
  pb::GraphProto graph;
  const std::vector<ItemPtr> results = write_loop(n, lists, examples, &graph);
  // A list that no turn of the examples appended to: what another run appends tells of what it is.
  for (std::size_t k = 0; k < examples->size(); ++k)
    if (is_empty_list(examples->at(k))) examples->at(k) = results.at(k + 1)->example;
  // After it, sizes are those of the examples if it runs as often in every run.
  const bool counted = trips->constant && condition->constant && results[0]->constant;
  varying_ = ran && counted ? was_varying : varying_ || !lists.empty();

  const std::size_t outs = n.outputs().size();
  std::vector<std::size_t> maybe;
  for (std::size_t k = 0; k < outs; ++k) {
    Item& given = *item(n.input(k + 2));
    if (!given.present.empty()) maybe.push_back(k);
    if (!given.present.empty())
      inputs.push_back(given.name);
    else if (given.example.isNone() && !given.unset)
      inputs.push_back(initializer(full({}, false, TensorOptions(kBool))));
    else
      inputs.push_back(value_of(given, examples->at(k)));
  }
  for (std::size_t i = 0; i < lists.size(); ++i)
    inputs.push_back(value_of(*lists[i], results.at(1 + outs + i)->example));
  for (const std::size_t k : maybe) inputs.push_back(item(n.input(k + 2))->present);
  const Names outputs = node("Loop", inputs, {}, outs + lists.size() + maybe.size());
  add_graph(graphs_.back().graph->mutable_node(graphs_.back().graph->node_size() - 1), "body",
            graph);
  for (std::size_t k = 0; k < outs; ++k) {
    if (examples->at(k).isNone()) {
      set(n.output(k), std::make_shared<Item>(Item{IValue(), true}));
      continue;
    }
    const ItemPtr result = outside(Item{examples->at(k)}, outputs[k]);
    enter_carried(*result,
                  !is_only_name(*n.input(k + 2)) || !is_only_name(*n.block(0)->outputs()[k + 1]));
    const auto at = std::find(maybe.begin(), maybe.end(), k);
    if (at != maybe.end()) {
      const auto m = static_cast<std::size_t>(at - maybe.begin());
      result->present = outputs[outs + lists.size() + m];
      result->is_present = there[k];
    }
    set(n.output(k), result);
  }
  for (std::size_t i = 0; i < lists.size(); ++i)
    enter(*lists[i], examples->at(outs + i), outputs[outs + i], graphs_.size());
}

}  // namespace tenon::onnx::exporting
