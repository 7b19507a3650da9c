// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rules that hold for every dtype and every value, zeros with a sign and NaN included. A rule gives
// what the output of a node may be replaced by; AliasFacts tell whether it may.
#include <map>
#include <optional>

#include "jit/ir/alias.h"
#include "jit/passes/passes.h"

namespace tenon::jit {
namespace {

constexpr int kMaxSweeps = 16;

class Simplifier {
 public:
  explicit Simplifier(Graph& g) : graph_(g) {}
  bool sweep() {
    block(*graph_.block());
    return changed_;
  }

 private:
  using Rule = Value* (Simplifier::*)(Node& n);

  void block(Block& b) {
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks()) block(*inner);
      if (n->is("prim::If"))
        branches(*n);
      else if (n->is("prim::TupleUnpack") || n->is("prim::ListUnpack"))
        unpack(*n);
      else if (n->outputs().size() == 1)
        node(*n);
    }
  }

  void node(Node& n) {
    auto rule = rules().find(n.kind());
    if (rule == rules().end() || !(n.op || n.kind().starts_with("prim::"))) return;
    Value* by = (this->*rule->second)(n);
    if (!by) return;
    bool same =
        n.is("prim::TupleIndex") || n.is("aten::__getitem__") || n.is("prim::unchecked_cast");
    if (same)
      replace_same(n.output(), by);
    else
      replace(n.output(), by);
  }

  // The node stays: it is dead code now, unless somebody uses another output.
  bool replace(Value* v, Value* by) {
    if (v->uses().empty() || v == by) return false;
    if (is_mutable(*v->type())) {
      AliasFacts::Sets sets = facts().sets(v);
      sets.merge(facts().sets(by));
      for (int s : sets)
        if (touched_.count(s)) return false;  // seen by the next sweep
      if (!facts().can_merge(v, by)) return false;
      touched_.merge(sets);
    }
    v->replace_all_uses_with(by);
    changed_ = true;
    return true;
  }

  Value* constant(Node& n, IValue v) {
    if (n.output()->uses().empty()) return nullptr;
    Graph::InsertPoint at(graph_, &n);
    return graph_.insert_constant(std::move(v), n.range, n.output()->type());
  }

  static bool is_number(const Value* v, double number) {
    std::optional<IValue> c = to_constant(v);
    if (!c) return false;
    if (c->isInt()) return c->toInt() == static_cast<int64_t>(number);
    return c->isDouble() && c->toDouble() == number;
  }
  // Of the numbers that a node computes with: x where the result has its type.
  static Value* same_type_as_output(const Node& n, std::size_t i) {
    TypeKind k = n.output()->type()->kind();
    bool number = k == TypeKind::Int || k == TypeKind::Float;
    return number && n.input(i)->type()->is(k) ? n.input(i) : nullptr;
  }

  // x * 1, 1 * x
  Value* multiply(Node& n) {
    if (n.inputs().size() != 2) return nullptr;
    if (is_number(n.input(1), 1)) return same_type_as_output(n, 0);
    if (is_number(n.input(0), 1)) return same_type_as_output(n, 1);
    return nullptr;
  }
  // x + 0 of integers: -0. + 0. is 0.
  Value* add(Node& n) {
    if (n.inputs().size() != 2 || !n.output()->type()->is(TypeKind::Int)) return nullptr;
    if (is_number(n.input(1), 0)) return same_type_as_output(n, 0);
    if (is_number(n.input(0), 0)) return same_type_as_output(n, 1);
    return nullptr;
  }
  // x - 0, and not x - -0.
  Value* subtract(Node& n) {
    bool integers = n.output()->type()->is(TypeKind::Int);
    if (n.inputs().size() != 2 || !integers || !is_number(n.input(1), 0)) return nullptr;
    return same_type_as_output(n, 0);
  }
  Value* divide(Node& n) {
    if (n.inputs().size() != 2 || !is_number(n.input(1), 1)) return nullptr;
    return same_type_as_output(n, 0);
  }
  Value* floor_divide(Node& n) {
    return n.output()->type()->is(TypeKind::Int) ? divide(n) : nullptr;
  }
  // int(x) of an int, and of a tensor made of one.
  Value* convert(Node& n) {
    if (n.inputs().size() != 1) return nullptr;
    const Type& t = *n.output()->type();
    // As traces write the size of a tensor.
    const Node* tensor = n.input(0)->node();
    if (tensor->is("prim::NumToTensor") && same_type(t, *tensor->input(0)->type()) &&
        t.is(TypeKind::Int) && !facts().has_writers(n.input(0)))
      return tensor->input(0);
    bool plain = t.is(TypeKind::Int) || t.is(TypeKind::Float) || t.is(TypeKind::Bool) ||
                 t.is(TypeKind::String);
    return plain && same_type(t, *n.input(0)->type()) ? n.input(0) : nullptr;
  }
  Value* cast(Node& n) {
    return same_type(*n.output()->type(), *n.input(0)->type()) ? n.input(0) : nullptr;
  }
  Value* negate_twice(Node& n) {
    const Node* inner = n.input(0)->node();
    bool plain = !is_mutable(*n.output()->type());
    if (!plain || inner->kind() != n.kind() || inner->inputs().size() != 1) return nullptr;
    return same_type(*inner->input(0)->type(), *n.output()->type()) ? inner->input(0) : nullptr;
  }

  static bool same_values(const Node& a, const Node& b, std::size_t from) {
    if (a.inputs().size() != b.inputs().size()) return false;
    for (std::size_t i = from; i < a.inputs().size(); ++i) {
      if (a.input(i) == b.input(i)) continue;
      std::optional<IValue> x = to_constant(a.input(i)), y = to_constant(b.input(i));
      if (!x || !y || !x->isInt() || !y->isInt() || x->toInt() != y->toInt()) return false;
    }
    return true;
  }
  // t(t(x)), and transpose(transpose(x, a, b), a, b).
  Value* transpose_twice(Node& n) {
    const Node* inner = n.input(0)->node();
    if (!n.input(0)->type()->is(TypeKind::Tensor) || inner->kind() != n.kind()) return nullptr;
    return same_values(n, *inner, 1) ? inner->input(0) : nullptr;
  }
  // expand(x, x.size()), and view and reshape likewise.
  Value* same_sizes(Node& n) {
    if (n.inputs().size() < 2) return nullptr;
    const Node* sizes = n.input(1)->node();
    bool given = sizes->is("aten::size") && sizes->inputs().size() == 1 &&
                 sizes->input(0) == n.input(0) && !facts().has_writers(n.input(1));
    return given ? n.input(0) : nullptr;
  }
  Value* same_tensor(Node& n) {
    return n.inputs().size() == 2 && n.input(0) == n.input(1) ? n.input(0) : nullptr;
  }

  // What a container that is not written was made of.
  static const Node* maker(const Value* v, const char* kind) {
    return v->node()->is(kind) ? v->node() : nullptr;
  }
  static std::optional<std::size_t> index_in(const Value* index, std::size_t n) {
    std::optional<IValue> c = to_constant(index);
    if (!c || !c->isInt()) return std::nullopt;
    auto size = static_cast<int64_t>(n);
    int64_t i = c->toInt() < 0 ? c->toInt() + size : c->toInt();
    if (i < 0 || i >= size) return std::nullopt;
    return static_cast<std::size_t>(i);
  }
  Value* tuple_index(Node& n) {
    const Node* tuple = maker(n.input(0), "prim::TupleConstruct");
    if (!tuple) return nullptr;
    auto i = index_in(n.input(1), tuple->inputs().size());
    return i ? tuple->input(*i) : nullptr;
  }
  Value* list_item(Node& n) {
    const Node* list = maker(n.input(0), "prim::ListConstruct");
    if (!list || n.inputs().size() != 2 || list_is_written(n.input(0))) return nullptr;
    auto i = index_in(n.input(1), list->inputs().size());
    return i ? list->input(*i) : nullptr;
  }
  Value* length(Node& n) {
    const Node* list = maker(n.input(0), "prim::ListConstruct");
    if (!list || n.inputs().size() != 1 || list_is_written(n.input(0))) return nullptr;
    return constant(n, static_cast<int64_t>(list->inputs().size()));
  }
  // The list or its elements: has_writers does not tell which.
  bool list_is_written(const Value* list) { return facts().has_writers(list); }

  // x is None, where the type says.
  Value* is_none(Node& n) { return compare_none(n, true); }
  Value* is_not_none(Node& n) { return compare_none(n, false); }
  Value* compare_none(Node& n, bool when_none) {
    if (n.inputs().size() != 2) return nullptr;
    const Type &a = *n.input(0)->type(), &b = *n.input(1)->type();
    if (a.is(TypeKind::None) && b.is(TypeKind::None)) return constant(n, when_none);
    if (!a.is(TypeKind::None) && !b.is(TypeKind::None)) return nullptr;
    const Type& other = a.is(TypeKind::None) ? b : a;
    bool open = is_subtype(*Type::none(), other) || other.is(TypeKind::Var);
    return open ? nullptr : constant(n, !when_none);
  }

  void unpack(Node& n) {
    bool tuple = n.is("prim::TupleUnpack");
    const Node* made = maker(n.input(0), tuple ? "prim::TupleConstruct" : "prim::ListConstruct");
    if (!made || made->inputs().size() != n.outputs().size()) return;
    if (!tuple && list_is_written(n.input(0))) return;
    for (std::size_t i = 0; i < n.outputs().size(); ++i) replace_same(n.output(i), made->input(i));
  }
  // It is the same object already, not another view of it.
  void replace_same(Value* v, Value* by) {
    if (v->uses().empty()) return;
    v->replace_all_uses_with(by);
    changed_ = true;
  }

  // Both blocks give the same value of outside.
  void branches(Node& n) {
    for (std::size_t i = 0; i < n.outputs().size(); ++i) {
      Value *a = n.block(0)->outputs()[i], *b = n.block(1)->outputs()[i];
      if (a != b) continue;
      replace_same(n.output(i), a);
    }
  }

  static const std::map<std::string, Rule, std::less<>>& rules() {
    using S = Simplifier;
    static const std::map<std::string, Rule, std::less<>> all{
        {"aten::mul", &S::multiply},          {"aten::add", &S::add},
        {"aten::sub", &S::subtract},          {"aten::div", &S::divide},
        {"aten::floordiv", &S::floor_divide}, {"aten::Int", &S::convert},
        {"aten::Float", &S::convert},         {"aten::Bool", &S::convert},
        {"aten::str", &S::convert},           {"prim::unchecked_cast", &S::cast},
        {"aten::neg", &S::negate_twice},      {"aten::__not__", &S::negate_twice},
        {"aten::t", &S::transpose_twice},     {"aten::transpose", &S::transpose_twice},
        {"aten::expand", &S::same_sizes},     {"aten::view", &S::same_sizes},
        {"aten::reshape", &S::same_sizes},    {"aten::expand_as", &S::same_tensor},
        {"aten::view_as", &S::same_tensor},   {"prim::TupleIndex", &S::tuple_index},
        {"aten::__getitem__", &S::list_item}, {"aten::len", &S::length},
        {"aten::__is__", &S::is_none},        {"aten::__isnot__", &S::is_not_none},
    };
    return all;
  }

  Graph& graph_;
  // For the graph as it is when they are first asked: most sweeps ask nothing.
  const AliasFacts& facts() {
    if (!facts_) facts_.emplace(graph_);
    return *facts_;
  }

  std::optional<AliasFacts> facts_;
  AliasFacts::Sets touched_;
  bool changed_ = false;
};

}  // namespace

bool simplify(Graph& g) {
  bool changed = false;
  for (int i = 0; i < kMaxSweeps && Simplifier(g).sweep(); ++i) changed = true;
  return changed;
}

}  // namespace tenon::jit
