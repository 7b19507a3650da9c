// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

constexpr std::size_t kMaxBytes = 64 * 1024;

// What a constant would hold.
std::size_t bytes_of(const IValue& v) {
  std::size_t n = sizeof(IValue);
  auto add = [&](const IValue& item) { n += bytes_of(item); };
  if (v.isTensor()) {
    const Tensor& t = v.toTensor();
    if (t.defined() && t.layout() == kStrided) n += t.nbytes();
  } else if (v.isString()) {
    n += v.toStringView().size();
  } else if (v.isList()) {
    for (const IValue& item : v.toListRef().items) add(item);
  } else if (v.isTuple()) {
    for (const IValue& item : v.toTupleRef().items) add(item);
  } else if (v.isGenericDict()) {
    for (const auto& [key, value] : v.toDictRef().items()) {
      add(key);
      add(value);
    }
  }
  return n;
}

bool may_be_constant(const IValue& v, std::size_t max_bytes) {
  if (v.isObject() || v.isFuture() || v.isGenerator()) return false;
  if (v.isTensor() && (!v.toTensor().defined() || v.toTensor().requires_grad())) return false;
  return bytes_of(v) <= max_bytes;
}

// A frozen module may be moved.
bool tells_device(const Node& n) {
  return n.is("prim::device") || n.is("prim::is_cuda") || n.is("prim::is_cpu");
}

// Nothing says what is in them.
bool is_uninitialized(const Node& n) {
  const std::string& kind = n.kind();
  return kind.rfind("aten::empty", 0) == 0 || kind.rfind("aten::new_empty", 0) == 0;
}

// Operators whose results are as large as their arguments say: a program that is never run must not
// cost the memory that it asks for.
bool makes_much(const Node& n, const Stack& inputs) {
  static const std::set<std::string> kMakers = {"aten::full",
                                                "aten::zeros",
                                                "aten::ones",
                                                "aten::new_full",
                                                "aten::new_zeros",
                                                "aten::new_ones",
                                                "aten::arange",
                                                "aten::range",
                                                "aten::linspace",
                                                "aten::logspace",
                                                "aten::eye",
                                                "aten::repeat",
                                                "aten::tile",
                                                "aten::pad",
                                                "aten::constant_pad_nd",
                                                "aten::repeat_interleave",
                                                "aten::mul",
                                                "prim::rangelist",
                                                "aten::tril_indices",
                                                "aten::triu_indices",
                                                "aten::expand",
                                                "aten::one_hot",
                                                "aten::rand",
                                                "aten::randn",
                                                "aten::__lshift__",
                                                "aten::pow",
                                                "aten::reshape",
                                                "aten::flatten",
                                                "aten::index_select"};
  if (kMakers.count(n.kind()) == 0) return false;
  double product = 1;
  const auto times = [&](double by) { product *= std::max(1.0, std::fabs(by)); };
  bool lists = false;
  for (const IValue& v : inputs) {
    lists = lists || v.isList() || v.isTensor();
    if (v.isTensor() && v.toTensor().defined()) times(static_cast<double>(v.toTensor().numel()));
    if (v.isInt()) times(static_cast<double>(v.toInt()));
    if (v.isDouble()) times(v.toDouble());
    if (v.isList() && v.isIntList())
      for (const IValue& item : v.toListRef().items) times(static_cast<double>(item.toInt()));
  }
  const bool numbers = !lists && n.outputs().size() == 1 &&
                       !n.output()->type()->is(TypeKind::Tensor) &&
                       !n.output()->type()->is(TypeKind::List);
  constexpr double kMaxSize = 1 << 24;
  return !numbers && product > kMaxSize;
}

class Propagation final : public NodePass {
 public:
  Propagation(Graph& g, bool frozen, bool keeps_integers = false)
      : NodePass(g), facts_(g), frozen_(frozen), keeps_integers_(keeps_integers) {}

 private:
  void visit(Node& n) override {
    if (n.is("prim::If"))
      take_branch(n);
    else if (n.is("prim::Loop"))
      skip_loop(n);
    else
      fold(n);
  }

  void replace(Node& n, const std::vector<Value*>& by) {
    for (std::size_t i = 0; i < by.size(); ++i) n.output(i)->replace_all_uses_with(by[i]);
    n.destroy();
    changed_ = true;
  }

  void take_branch(Node& n) {
    std::optional<IValue> condition = to_constant(n.input(0));
    if (!condition || !condition->isBool()) return;
    Block* taken = n.block(condition->toBool() ? 0 : 1);
    for (Node* inner : taken->nodes()) inner->move_before(&n);
    replace(n, std::vector<Value*>(taken->outputs()));
  }

  void skip_loop(Node& n) {
    std::optional<IValue> trips = to_constant(n.input(0)), condition = to_constant(n.input(1));
    bool never = (trips && trips->isInt() && trips->toInt() <= 0) ||
                 (condition && condition->isBool() && !condition->toBool());
    if (never) replace(n, {n.inputs().begin() + 2, n.inputs().end()});
  }

  bool can_fold(const Node& n) const {
    bool container = n.is("prim::ListConstruct") || n.is("prim::TupleConstruct");
    if (n.outputs().empty() || is_uninitialized(n) || tells_device(n) || !(n.op || container))
      return false;
    // Without inputs it may tell of a mode, as is_grad_enabled does.
    if (n.op && n.inputs().empty()) return false;
    const AliasFacts::Effects& e = facts_.effects(&n);
    if (e.outside || !e.writes.empty()) return false;
    for (const Value* v : n.inputs())  // None is never written, though a list of its type may be
      if (!is_none(v) && facts_.has_writers(v)) return false;
    for (const Value* v : n.outputs())
      if (is_mutable(*v->type()) && (facts_.has_writers(v) || facts_.escapes(v))) return false;
    return true;
  }

  // What the node computes; nothing where it does not compute, or fails: then the program does.
  static std::optional<Stack> compute(const Node& n, Stack stack) {
    try {
      if (n.op) {
        n.op->call(stack, n.inputs().size());
      } else {
        const TypePtr& type = n.output()->type();
        IValue made = n.is("prim::ListConstruct")
                          ? IValue(core::Ref<ivalue::List>::adopt(
                                new ivalue::List(type->element(), std::move(stack))))
                          : IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(
                                std::move(stack), type->fields().empty() ? nullptr : type)));
        stack = {std::move(made)};
      }
    } catch (const std::exception&) {
      return std::nullopt;
    }
    return stack;
  }

  void fold(Node& n) {
    if (!can_fold(n) || (keeps_integers_ && dequantizes(n))) return;
    Stack inputs;
    std::size_t given = 0;
    for (const Value* v : n.inputs()) {
      std::optional<IValue> value = to_constant(v);
      if (!value) return;
      if (frozen_) given += bytes_of(*value);
      inputs.push_back(std::move(*value));
    }
    if (makes_much(n, inputs)) return;
    std::optional<Stack> results = compute(n, std::move(inputs));
    if (!results || results->size() != n.outputs().size()) return;
    for (const IValue& v : *results)
      if (!may_be_constant(v, std::max(kMaxBytes, given))) return;
    Graph::InsertPoint at(graph_, &n);
    std::vector<Value*> constants;
    for (std::size_t i = 0; i < results->size(); ++i) {
      const TypePtr& type = n.output(i)->type();
      set_element_type((*results)[i], type);
      constants.push_back(graph_.insert_constant(std::move((*results)[i]), n.range, type));
    }
    replace(n, constants);
  }

  AliasFacts facts_;
  bool frozen_, keeps_integers_;
};

}  // namespace

bool propagate_constants(Graph& g) { return Propagation(g, false).run(); }
bool propagate_frozen_constants(Graph& g) { return Propagation(g, true, true).run(); }
bool propagate_dequantized(Graph& g) { return Propagation(g, true).run(); }

}  // namespace tenon::jit
