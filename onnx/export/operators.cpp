// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators by their rules.
#include "jit/passes/passes.h"
#include "jit/trace/parts.h"
#include "onnx/export/call.h"
#include "onnx/export/exporter.h"
#include "onnx/export/other_sizes.h"
#include "onnx/export/pairs.h"
#include "onnx/export/sizes.h"
#include "onnx/export/write_form.h"
#include "tenon/jit/operator.h"

namespace tenon::onnx::exporting {

using jit::Node;

namespace {

// It reads the value before the node in its block, and gives no other name of it.
bool only_read_before(const jit::Use& use, const Node& node) {
  const Node& user = *use.user;
  if (!user.op || user.op->has_side_effects || user.owning_block() != node.owning_block())
    return false;
  for (const auto& r : user.op->schema.returns) {
    const bool parts = r.type->is(jit::TypeKind::List) &&
                       r.type->element()->is(jit::TypeKind::Tensor);  // which may be views
    if (!r.alias.set.empty() || parts) return false;
  }
  const Node* n = user.next();
  while (n && n != &node) n = n->next();
  return n != nullptr;
}

}  // namespace

// Nobody uses the value after the write but through `user`, and its memory was made for it, in the
// block that writes: a write is a new value. What a loop writes to memory of outside it finds there
// in its next turn. A view is its tensor's last name if the tensor has no such use.
bool Exporter::is_last_name(const jit::Value& v, const Node& user, const Node& write) const {
  for (const jit::Use& u : v.uses())
    if (u.user != &user && !only_read_before(u, write)) return false;
  const Node& maker = *v.node();
  if (maker.owning_block() != write.owning_block()) return false;
  if (written_.count(&maker)) return true;
  if (maker.is("prim::ListUnpack"))  // parts do not overlap
    return is_last_name(*maker.input(0), maker, write);
  if (!maker.op || maker.op->schema.returns.size() <= static_cast<std::size_t>(v.offset()))
    return false;
  const bool parts = v.type()->is(jit::TypeKind::List);  // whose elements may be views
  if (!parts && maker.op->schema.returns[static_cast<std::size_t>(v.offset())].alias.set.empty())
    return true;
  return !maker.inputs().empty() && is_last_name(*maker.input(0), maker, write);
}

void Exporter::visit_operator(const Node& n) {
  Call call(*this, n);
  for (const jit::Argument& a : n.op ? n.op->schema.arguments : std::vector<jit::Argument>())
    need(!a.alias.write || !a.keyword_only, "it writes to argument '" + a.name + "'");
  const auto* rule = find_rule(n.kind());
  if (!rule && call.name != n.kind()) {
    if (!is_last_name(*n.input(0), n, n)) return write_shared(n);
    rule = find_rule(call.name);
    written_.insert(&n);
  }
  const auto form = forms_.find(call.name);
  const std::function<void(Call&)> of_plugin = [&](Call& c) { write_form(c, form->second); };
  if (!rule && form != forms_.end()) rule = &of_plugin;
  call.results = compute(n);
  call.given.resize(n.outputs().size());
  if (const auto* complex = has_complex(call) ? find_complex_rule(call.name) : nullptr) {
    rule = complex;
    call.by_pairs = true;
  }
  if (!(rule ? follow(*rule, call) : give_by_code(call)) && !visit_parts(call)) visit_unknown(call);
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    if (call.given[k]) set(n.output(k), call.given[k]);
  note_sizes(*this, n);
}

// Takes back the nodes from `first` on. Lists of the program that became one of their values are
// written again where they are needed.
void Exporter::remove_nodes(int first) {
  pb::GraphProto& graph = *graphs_.back().graph;
  std::set<std::string> removed;
  for (int i = first; i < graph.node_size(); ++i)
    removed.insert(graph.node(i).output().begin(), graph.node(i).output().end());
  graph.mutable_node()->DeleteSubrange(first, graph.node_size() - first);
  for (const auto& [value, item] : items_)
    if (item->has_parts && removed.count(item->name)) item->name.clear();
}

// False, and nothing is written, if the rule refuses the call.
bool Exporter::follow(const std::function<void(Call&)>& rule, Call& call) {
  const int nodes = graphs_.back().graph->node_size();
  try {
    rule(call);
    return true;
  } catch (const Refusal& r) {
    call.refused = r.reason;
    remove_nodes(nodes);
    return false;
  }
}

// A node of the domain that the caller named for such.
void Exporter::visit_unknown(Call& call) {
  if (options_.fallback_domain.empty()) throw Refusal{call.refused + call.reason};
  Names inputs;
  for (const jit::Value* v : call.node.inputs()) {
    Item& i = *item(v);
    inputs.push_back(i.example.isNone() ? "" : name_of(i));
  }
  const std::string type = call.node.kind().substr(call.node.kind().find(':') + 2);
  const Names names = node(type, inputs, {}, call.node.outputs().size(), options_.fallback_domain);
  for (std::size_t k = 0; k < names.size(); ++k) call.give(names[k], k);
}

namespace {

bool is_tensors(const IValue& v) {
  if (v.isTensor()) return v.toTensor().defined();
  return is_tensor_list(v);
}

const jit::Operator* functional(const Call& call) {
  if (!call.node.op) return nullptr;
  if (jit::is_made_of_operators(*call.node.op)) return call.node.op;
  if (!call.node.op->op) return nullptr;
  for (const jit::Operator* o : jit::operators_named(call.name))
    if (o->op == call.node.op->op && o->form == jit::Operator::Form::Functional) return o;
  return nullptr;
}

std::vector<ItemPtr> results_of(const std::vector<ItemPtr>& outputs) {
  const bool tuple = outputs.size() == 1 && outputs[0]->example.isTuple();
  return tuple ? outputs[0]->parts : outputs;
}

}  // namespace

// By the operators that it is made of or decomposes into. Their sizes are numbers in the recorded
// graph, so no dimension may be dynamic, unless it is the same for other sizes.
bool Exporter::visit_parts(Call& call) {
  const jit::Operator* op = functional(call);
  if (!op || parts_depth_ == kMaxPartsDepth) return false;
  std::vector<IValue> arguments;
  std::vector<ItemPtr> tensors;
  std::vector<std::size_t> inputs;
  for (const jit::Value* v : call.node.inputs()) {
    const ItemPtr i = item(v);
    arguments.push_back(i->example);
    if (i->constant) continue;
    if (!is_tensors(i->example))
      return call.reason = ", and a number or a list that it takes is computed", false;
    tensors.push_back(i);
    inputs.push_back(arguments.size() - 1);
  }
  const jit::OperatorParts parts = jit::record_parts(*op, arguments, inputs);
  if (!parts.graph) return false;
  if (!parts.baked.empty())
    return call.reason = ", and what it is made of reads values: " + parts.baked, false;
  const auto prepare = [](jit::Graph& g) {
    jit::functionalize(g);
    jit::lower_tuples(g);
    jit::eliminate_dead_code(g);
  };
  prepare(*parts.graph);
  const auto made_of = [&](const std::vector<IValue>& given) {
    const jit::OperatorParts other = jit::record_parts(*op, given, inputs);
    if (other.graph) prepare(*other.graph);
    return other.graph;
  };
  const bool fixed = std::all_of(tensors.begin(), tensors.end(),
                                 [this](const ItemPtr& i) { return has_fixed_sizes(*this, *i); }) ||
                     is_same_for_other_sizes(*parts.graph, tensors, arguments, inputs, made_of);
  if (!fixed && options_.dynamic_axes.empty())
    return call.reason = ", and what it is made of has fixed sizes: data or a loop decide its own",
           false;
  if (!fixed)
    return call.reason = ", and what it is made of has fixed sizes: leave dynamic_axes out", false;
  parts_.push_back(parts.graph);
  for (std::size_t k = 0; k < tensors.size(); ++k) set(parts.graph->inputs().at(k), tensors[k]);

  const int nodes = graphs_.back().graph->node_size();
  std::vector<std::string> before;
  before.swap(refused_);
  ++parts_depth_;
  walk(*parts.graph->block());
  --parts_depth_;
  before.swap(refused_);
  std::vector<ItemPtr> outputs;
  if (before.empty())
    for (const jit::Value* v : parts.graph->outputs()) outputs.push_back(item(v));
  if (!before.empty()) {
    remove_nodes(nodes);
    return call.reason = ", and of what it is made of: " + before.front(), false;
  }
  outputs = results_of(outputs);
  for (std::size_t k = 0; k < call.given.size(); ++k) call.given[k] = outputs.at(k);
  return true;
}

}  // namespace tenon::onnx::exporting
