// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// x[i], x[a:b], x[i, ..., None], modules[i].
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

std::optional<int64_t> constant_int(const Value* v) {
  if (!v->node()->is("prim::Constant") || !v->type()->is(TypeKind::Int)) return std::nullopt;
  return v->node()->ival("value").toInt();
}

// Where `i` stands in a sequence of n elements; counted from the end if negative.
std::size_t position(int64_t i, std::size_t n, const SourceRange& range) {
  const auto size = static_cast<int64_t>(n);
  TENON_PROGRAM_CHECK(i >= -size && i < size, range, "Tuple index out of range: ", i, " of ", n,
                      " elements");
  return static_cast<std::size_t>(i < 0 ? i + size : i);
}

}  // namespace

std::optional<int64_t> Emitter::known_int(const Expr& e) {
  if (e.kind == ExprKind::Integer) return e.integer;
  return constant_int(expression(e));
}

SugarPtr Emitter::sugared_subscript(const Expr& e, const TypePtr& hint) {
  const SugarPtr base = sugared(*e.a);
  if (base->is(SugarKind::Tuple)) {
    TENON_PROGRAM_CHECK(e.args.size() == 1 && e.args[0]->kind != ExprKind::Slice, e.range,
                        "expected one index");
    const std::optional<int64_t> i = known_int(*e.args[0]);
    TENON_PROGRAM_CHECK(i, e.range, "the index must be an integer that is known");
    return base->items[position(*i, base->items.size(), e.range)];
  }
  Value* v = as_value(base, e.a->range);
  if (const ClassType* c = as_class(v->type());
      c && c->is_module_class() && !c->find_method("__getitem__")) {
    TENON_PROGRAM_CHECK(e.args.size() == 1, e.range, "expected one index");
    if (e.args[0]->kind == ExprKind::String) return attribute_of_class(v, e.args[0]->text, e.range);
    if (hint && hint->is(TypeKind::Interface) && e.args[0]->kind != ExprKind::Slice)
      return as_sugar(module_at(v, expression(*e.args[0]), hint, e.range));
    const auto modules = children(v, e.range, false);
    TENON_PROGRAM_CHECK(modules, e.range, "'", c->annotation(), "' object is not subscriptable");
    if (e.args[0]->kind == ExprKind::Slice) {
      int64_t bounds[3] = {0, static_cast<int64_t>(modules->size()), 1};
      for (std::size_t k = 0; k < 3; ++k) {
        if (!e.args[0]->args[k]) continue;
        const auto i = known_int(*e.args[0]->args[k]);
        TENON_PROGRAM_CHECK(i, e.range, "slices of modules need integers that are known");
        bounds[k] = *i;
      }
      const auto n = static_cast<int64_t>(modules->size());
      TENON_PROGRAM_CHECK(bounds[2] > 0, e.range, "slices of modules need a positive step");
      for (int64_t* b : {&bounds[0], &bounds[1]})
        *b = std::min(std::max(*b < 0 ? *b + n : *b, int64_t{0}), n);
      std::vector<SugarPtr> some;
      for (int64_t i = bounds[0]; i < bounds[1]; i += bounds[2])
        some.push_back((*modules)[static_cast<std::size_t>(i)]);
      return as_sequence(SugarKind::Tuple, std::move(some));
    }
    const auto i = constant_int(expression(*e.args[0]));
    TENON_PROGRAM_CHECK(i, e.range,
                        "Enumeration of ModuleList or Sequential is supported only with an index "
                        "that is an integer literal");
    return (*modules)[position(*i, modules->size(), e.range)];
  }
  // The container was evaluated already.
  Value* out = nullptr;
  if (v->type()->is(TypeKind::Tensor)) {
    auto [sliced, indices] = index_tensor(v, e.args, e.range);
    out = indices.empty()
              ? sliced
              : call_operator("aten::index", e.range, {sliced, optional_tensors(indices, e.range)});
  } else if (v->type()->is(TypeKind::Tuple) && !v->type()->contained().empty()) {
    out = tuple_subscript(e, v);
  } else if (e.args.size() == 1 && e.args[0]->kind == ExprKind::Slice) {
    out = slice(*e.args[0], v, nullptr, e.range);
  } else {
    std::vector<Value*> index;
    std::vector<TypePtr> types;
    for (const ExprPtr& a : e.args) {
      TENON_PROGRAM_CHECK(a->kind != ExprKind::Slice, a->range,
                          "slices of several dimensions are "
                          "supported for tensors only");
      index.push_back(expression(*a));
      types.push_back(index.back()->type());
    }
    Value* one = index.size() == 1
                     ? index[0]
                     : emit_node(g_, e.range, "prim::TupleConstruct", index, Type::tuple(types));
    out = magic("__getitem__", "aten::__getitem__", e.range, {v, one});
  }
  return as_sugar(out);
}

// modules[i] with an index that only the run knows: all of them have the interface `type`.
Value* Emitter::module_at(Value* container, Value* index, const TypePtr& type,
                          const SourceRange& range) {
  const bool by_name = index->type()->is(TypeKind::String);
  std::vector<Value*> parts;
  const auto modules = children(container, range, by_name, true);
  TENON_PROGRAM_CHECK(modules, range, "'", container->type()->annotation(),
                      "' is not a container of modules");
  for (const SugarPtr& m : *modules) {
    Value* module = by_name ? m->items[1]->value : m->value;
    TENON_PROGRAM_CHECK(is_subtype(*module->type(), *type), range, "the module '",
                        module->type()->annotation(), "' does not implement the interface '",
                        type->annotation(), "'");
    if (by_name) parts.push_back(m->items[0]->value);
    parts.push_back(module);
  }
  Value* all =
      by_name ? emit_node(g_, range, "prim::DictConstruct", parts, Type::dict(Type::string(), type))
              : emit_node(g_, range, "prim::ListConstruct", parts, Type::list(type));
  return call_operator("aten::__getitem__", range, {all, index});
}

// aten::slice, with what the text leaves out left out.
Value* Emitter::slice(const Expr& e, Value* of, Value* dim, const SourceRange& range) {
  std::vector<Value*> args{of};
  if (dim) args.push_back(dim);
  for (std::size_t k = 0; k < 2; ++k)
    args.push_back(e.args[k] ? expression(*e.args[k]) : constant(IValue(), range));
  args.push_back(e.args[2] ? expression(*e.args[2]) : constant(1, range));
  return call_operator("aten::slice", range, args);
}

Value* Emitter::tuple_subscript(const Expr& e, Value* tuple) {
  TENON_PROGRAM_CHECK(e.args.size() == 1, e.range, "a tuple has one index");
  const std::size_t n = tuple->type()->contained().size();
  const Expr& index = *e.args[0];
  if (index.kind != ExprKind::Slice) {
    Value* i = expression(index);
    const std::optional<int64_t> known = constant_int(i);
    const std::vector<TypePtr>& types = tuple->type()->contained();
    if (!known && !types.empty() && i->type()->is(TypeKind::Int)) {
      for (const TypePtr& t : types) {
        TENON_PROGRAM_CHECK(same_type(*t, *types[0]), e.range,
                            "Cannot index into a tuple with a non-integer literal because we "
                            "cannot resolve the output type");
      }
      return emit_node(g_, e.range, "prim::TupleIndex", {tuple, i}, types[0]);
    }
    TENON_PROGRAM_CHECK(known, e.range, "tuple index must be an integer");
    const std::size_t at = position(*known, n, e.range);
    if (tuple->node()->is("prim::TupleConstruct")) return tuple->node()->input(at);
    Value* where = constant(static_cast<int64_t>(at), e.range);
    return emit_node(g_, e.range, "prim::TupleIndex", {tuple, where}, types[at]);
  }
  std::optional<int64_t> bound[3];
  for (std::size_t k = 0; k < 3; ++k) {
    if (!index.args[k]) continue;
    bound[k] = known_int(*index.args[k]);
    TENON_PROGRAM_CHECK(bound[k], e.range, "slices of tuples need integers that are known");
  }
  const auto size = static_cast<int64_t>(n);
  const int64_t step = std::min(std::max(bound[2].value_or(1), -size - 1), size + 1);
  TENON_PROGRAM_CHECK(step != 0, e.range, "slice step cannot be zero");
  const auto clamp = [&](int64_t v) {
    if (v < 0) v += size;
    return std::min(std::max(v, step < 0 ? int64_t{-1} : int64_t{0}), step < 0 ? size - 1 : size);
  };
  const int64_t begin = bound[0] ? clamp(*bound[0]) : step < 0 ? size - 1 : 0;
  const int64_t end = bound[1] ? clamp(*bound[1]) : step < 0 ? -1 : size;
  const std::vector<Value*> parts = unpack_tuple(tuple, g_, e.range);
  std::vector<Value*> some;
  std::vector<TypePtr> types;
  for (int64_t i = begin; step < 0 ? i > end : i < end; i += step) {
    some.push_back(parts[static_cast<std::size_t>(i)]);
    types.push_back(some.back()->type());
  }
  return emit_node(g_, e.range, "prim::TupleConstruct", some, Type::tuple(std::move(types)));
}

// Integers, slices and None are applied from left to right, those after '...' with dimensions
// counted from the end. What stays are the tensors, by their dimension in the result.
std::pair<Value*, std::vector<Value*>> Emitter::index_tensor(Value* tensor,
                                                             const std::vector<ExprPtr>& given,
                                                             const SourceRange& range) {
  std::vector<ExprPtr> index;
  for (const ExprPtr& e : given) {  // x[(a, b)] is x[a, b]
    if (e->kind == ExprKind::Tuple)
      index.insert(index.end(), e->args.begin(), e->args.end());
    else
      index.push_back(e);
  }
  std::vector<int64_t> dims(index.size());
  std::vector<Value*> values(index.size(), nullptr);
  const auto place = [&](std::size_t k, int64_t dim, bool reverse) -> int64_t {
    const Expr& e = *index[k];
    dims[k] = dim;
    const int64_t next = reverse ? dim - 1 : dim + 1;
    if (e.kind == ExprKind::Slice) return next;
    Value* v = expression(e);
    if (v->type()->is(TypeKind::List) ||
        (v->type()->is(TypeKind::Tuple) && !v->type()->contained().empty())) {
      Value* dtype = constant(
          v->type()->element()->is(TypeKind::Bool) ? ScalarType::Bool : ScalarType::Long, range);
      v = emit_operator("aten::tensor", g_, range, nullptr,
                        {{"", v, range}, {"dtype", dtype, range}});
    }
    values[k] = v;
    if (v->type()->is(TypeKind::None)) return reverse ? dim : next;
    if (v->type()->is(TypeKind::Int)) return reverse ? next : dim;
    TENON_PROGRAM_CHECK(is_subtype(*v->type(), *Type::optional(Type::tensor())), e.range,
                        "Unsupported operation: indexing tensor with unsupported index type '",
                        v->type()->annotation(),
                        "'. Only ints, slices, lists and tensors are supported");
    TENON_PROGRAM_CHECK(!reverse, range,
                        "Ellipses followed by tensor indexing is currently not supported");
    return next;
  };
  std::size_t k = 0;
  int64_t dim = 0;
  for (; k < index.size() && index[k]->kind != ExprKind::Ellipsis; ++k) dim = place(k, dim, false);
  dim = -1;
  for (std::size_t r = index.size(); r-- > k + 1;) {
    TENON_PROGRAM_CHECK(index[r]->kind != ExprKind::Ellipsis, range,
                        "An index can only have a single ellipsis ('...')");
    dim = place(r, dim, true);
  }
  std::vector<Value*> tensors;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const Expr& e = *index[i];
    if (e.kind == ExprKind::Ellipsis) continue;
    if (e.kind == ExprKind::Slice) {
      const bool whole = !e.args[0] && !e.args[1] && !e.args[2];
      if (!whole || index.size() == 1) tensor = slice(e, tensor, constant(dims[i], e.range), range);
    } else if (values[i]->type()->is(TypeKind::None)) {
      tensor = call_operator("aten::unsqueeze", range, {tensor, constant(dims[i], e.range)});
    } else if (values[i]->type()->is(TypeKind::Int)) {
      tensor =
          call_operator("aten::select", range, {tensor, constant(dims[i], e.range), values[i]});
    } else {
      tensors.resize(static_cast<std::size_t>(dims[i]) + 1, nullptr);
      tensors.back() = values[i];
    }
  }
  for (Value*& v : tensors) {
    if (!v) v = constant(IValue(), range);
  }
  return {tensor, std::move(tensors)};
}

Value* Emitter::optional_tensors(const std::vector<Value*>& indices, const SourceRange& range) {
  return emit_node(g_, range, "prim::ListConstruct", indices,
                   Type::list(Type::optional(Type::tensor())));
}

// What is assigned to an element of a tensor: a number becomes a tensor like that one.
Value* Emitter::number_to_tensor(Value* v, Value* as, const SourceRange& range) {
  if (!is_subtype(*v->type(), *Type::number()) && !v->type()->is(TypeKind::Bool)) return v;
  Value* dtype = call_operator("prim::dtype", range, {as});
  Value* device = call_operator("prim::device", range, {as});
  return emit_operator("aten::tensor", g_, range, nullptr,
                       {{"", v, range}, {"dtype", dtype, range}, {"device", device, range}});
}

}  // namespace tenon::jit::language
