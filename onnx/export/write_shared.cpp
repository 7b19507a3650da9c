// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes to memory that the program has under several names. What is written is a new value; the
// tensor that it is a part of becomes one with that part exchanged, and every other view that is
// used after the write is rebuilt. The examples are written in place, so that they tell which
// values share memory.
#include "onnx/export/call.h"
#include "onnx/export/exporter.h"
#include "onnx/export/size_rules.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;
using jit::Value;

constexpr const char* kOtherNames = "it writes to memory that has other names in the program";

bool shares(const IValue& v, const Tensor& t) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() && t.has_storage() &&
         v.toTensor().is_alias_of(t);
}

// Itself, or in a list.
bool is_used_after(const Value& v, const Node& write) {
  std::set<const Node*> after;
  for (const Node* n = write.next(); n; n = n->next()) after.insert(n);
  return std::any_of(v.uses().begin(), v.uses().end(), [&](const jit::Use& u) {
    const Node* user = u.user;
    if (user->is("prim::Return") && user->owning_block() == write.owning_block()) return true;
    if (user->is("prim::ListConstruct") || user->is("prim::TupleConstruct"))
      if (is_used_after(*user->output(), write)) return true;
    while (user && user->owning_block() != write.owning_block())
      user = user->owning_block()->owning_node();
    return user && after.count(user);
  });
}

bool writes(const Node& n) {
  return n.op && !n.op->schema.arguments.empty() && n.op->schema.arguments[0].alias.write;
}

}  // namespace

// The value whose memory it shows; null: it has memory of its own.
const Value* Exporter::viewed(const Value& v) const {
  const Node& maker = *v.node();
  if (!maker.op || maker.inputs().empty()) return nullptr;
  const Item *from = find_item(maker.input(0)), *i = find_item(&v);
  const bool view =
      from && i && i->example.isTensor() && shares(from->example, i->example.toTensor());
  return view ? maker.input(0) : nullptr;
}

ItemPtr Exporter::call_operator(const std::string& name, const std::vector<ItemPtr>& arguments) {
  const jit::Operator* op = nullptr;
  for (const jit::Operator* o : jit::operators_named(name))
    if (o->schema.arguments.size() == arguments.size()) op = o;
  need(op != nullptr, "there is no operator " + name);
  const auto graph = std::make_shared<jit::Graph>();
  std::vector<Value*> inputs;
  for (const ItemPtr& a : arguments) {
    inputs.push_back(graph->add_input());
    set(inputs.back(), a);
  }
  Node* node = graph->block()->append(graph->create(name, inputs));
  node->op = op;
  parts_.push_back(graph);
  visit(*node);
  return item(node->output());
}

namespace {

ItemPtr constant(IValue v) { return std::make_shared<Item>(Item{std::move(v), true}); }

// dim, start and length of narrow as slice_scatter takes them.
std::vector<ItemPtr> range_of(const std::vector<ItemPtr>& rest) {
  need(rest.size() == 3 && rest[1]->constant && rest[1]->example.isInt() && rest[2]->constant,
       kOtherNames);
  const int64_t start = rest[1]->example.toInt();  // counted from the end if it is negative
  const int64_t end = start + rest[2]->example.toInt();
  return {rest[0], rest[1], constant(start < 0 && end == 0 ? INT64_MAX : end), constant(1)};
}
// The order of dimensions that takes a permutation back.
ItemPtr inverse_of(const std::vector<ItemPtr>& rest) {
  need(rest.size() == 1 && rest[0]->example.isList(), kOtherNames);
  const std::vector<int64_t> order = rest[0]->example.to<std::vector<int64_t>>();
  const auto rank = static_cast<int64_t>(order.size());
  std::vector<int64_t> back(order.size());
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t from = order[static_cast<std::size_t>(d)];
    back.at(static_cast<std::size_t>(from < 0 ? from + rank : from)) = d;
  }
  return constant(IValue(back));
}

}  // namespace

// The tensor that `view` was made of, with its part exchanged.
ItemPtr Exporter::put_part(const Node& view, const ItemPtr& whole, const ItemPtr& part) {
  static const std::map<std::string, const char*> kScatters = {
      {"aten::select", "aten::select_scatter"},
      {"aten::slice", "aten::slice_scatter"},
      {"aten::narrow", "aten::slice_scatter"},
      {"aten::diagonal", "aten::diagonal_scatter"}};
  static const std::set<std::string> kSame = {"aten::alias", "aten::detach",  "aten::contiguous",
                                              "aten::to",    "aten::type_as", "aten::lift_fresh"},
                                     kShapes = {"aten::view",    "aten::reshape",
                                                "aten::flatten", "aten::unflatten",
                                                "aten::squeeze", "aten::unsqueeze",
                                                "aten::view_as", "aten::_unsafe_view"},
                                     kSwaps = {"aten::transpose", "aten::t",  "aten::swapaxes",
                                               "aten::swapdims",  "aten::mT", "aten::numpy_T"},
                                     kMoves = {"aten::movedim", "aten::moveaxis"};
  const std::string& kind = view.kind();
  std::vector<ItemPtr> rest;
  for (std::size_t k = 1; k < view.inputs().size(); ++k) rest.push_back(item(view.input(k)));
  if (writes(view) || kSame.count(kind)) return part;
  if (kind == "aten::narrow") rest = range_of(rest);
  if (kind == "aten::permute") return call_operator(kind, {part, inverse_of(rest)});
  if (kMoves.count(kind)) return call_operator(kind, {part, rest.at(1), rest.at(0)});
  if (kShapes.count(kind)) return call_operator("aten::reshape_as", {part, whole});
  std::vector<ItemPtr> arguments{part};
  if (const auto at = kScatters.find(kind); at != kScatters.end()) {
    arguments.insert(arguments.begin(), whole);
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return call_operator(at->second, arguments);
  }
  need(kSwaps.count(kind), kOtherNames);
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return call_operator(kind, arguments);
}

// All that shows the memory after the write comes from the value that has it, in this block.
void Exporter::check_shared(const Node& n, const Value* base, const Tensor& memory) const {
  const Node& maker = *base->node();
  const bool input = &maker == program_->param_node();  // the model's own input stays as it is
  need((maker.op || input) && maker.owning_block() == n.owning_block(), kOtherNames);
  for (const Tensor& t : program_tensors_) need(!shares(t, memory), kOtherNames);
  for (const Stored& s : stored_) need(!s.weight || !shares(s.tensor, memory), kOtherNames);
  std::set<const Item*> named;  // of values, which are rebuilt if they are views
  for (const auto& [value, i] : items_) named.insert(i.get());
  for (const auto& [value, i] : items_) {
    for (const ItemPtr& part : i->parts)
      need(named.count(part.get()) || !shares(part->example, memory) || !is_used_after(*value, n),
           kOtherNames);
    if (i->example.isList() && !i->has_parts && is_tensor_list(i->example))
      for (const IValue& t : i->example.toListRef().items) need(!shares(t, memory), kOtherNames);
    if (!shares(i->example, memory) || !is_used_after(*value, n)) continue;
    const Value* root = value;
    while (const Value* v = viewed(*root)) root = v;
    need(root == base && value->node()->owning_block() == n.owning_block(), kOtherNames);
  }
}

// From the value that it is a view of, which is another one by now.
void Exporter::remake(const Value* v) {
  const Node& maker = *v->node();
  const ItemPtr old = item(v);
  if (writes(maker)) {
    if (old != item(maker.input(0))) *old = *item(maker.input(0));
    return;
  }
  items_.erase(v);
  visit(maker);
  *old = *item(v);  // lists have it, too
  items_[v] = old;
}

void Exporter::write_shared(const Node& n) {
  std::vector<const Value*> chain{n.input(0)};
  while (const Value* v = viewed(*chain.back())) chain.push_back(v);
  const Tensor memory = item(chain.back())->example.toTensor();
  for (const Value* v : chain) need(item(v)->depth == graphs_.size(), kOtherNames);
  check_shared(n, chain.back(), memory);
  for (const Value* v : chain) (void)name_of(*item(v));  // as they are before the write
  for (Stored& s : stored_)
    if (shares(s.tensor, memory)) s.tensor = s.tensor.clone();

  Call call(*this, n);
  const auto* rule = find_rule(call.name);
  call.results = compute(n);
  call.given.resize(1);
  if (!(rule ? follow(*rule, call) : give_by_code(call)) && !visit_parts(call))
    throw Refusal{call.refused + call.reason};
  std::vector<ItemPtr> made{call.given.at(0)};
  for (std::size_t k = 0; k + 1 < chain.size(); ++k)
    made.push_back(put_part(*chain[k]->node(), item(chain[k + 1]), made.back()));

  std::map<const Node*, const Value*> others;  // views used after the write, and views between
  for (const auto& [value, i] : items_)
    if (shares(i->example, memory) && is_used_after(*value, n))
      for (const Value* v = value; v; v = viewed(*v)) others[v->node()] = v;
  jit::Stack stack;
  for (const Value* v : n.inputs()) stack.push_back(item(v)->example);
  n.op->call(stack, n.inputs().size());
  for (std::size_t k = 0; k < chain.size(); ++k) {
    Item& i = *item(chain[k]);
    const std::string name = name_of(*made[k]);
    if (i.constant && !i.sizes)  // a write keeps them
      i.sizes.emplace(static_cast<std::size_t>(i.example.toTensor().dim()), kFixed);
    i.constant = i.has_parts = false;
    i.name = name;
    others.erase(chain[k]->node());
  }
  for (const Node* m = chain.back()->node(); m != &n; m = m->next())
    if (const auto at = others.find(m); at != others.end()) remake(at->second);
  set(n.output(), item(n.input(0)));
}

}  // namespace tenon::onnx::exporting
