// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What loops and comprehensions go over.
#include "jit/language/emitter.h"

namespace tenon::jit::language {
namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool all_digits(const std::string& s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

// The modules in a ModuleList, Sequential or ModuleDict; nothing for other modules, unless `any`:
// archives do not say of a class that it is derived from one of these.
std::optional<std::vector<SugarPtr>> Emitter::children(Value* module, const SourceRange& range,
                                                       bool with_names, bool any) {
  const ClassType* cls = as_class(module->type());
  if (!cls || !cls->is_module_class()) return std::nullopt;
  const std::string_view kind = last_part(cls->name());
  std::vector<std::string> names;
  bool numbered = true;
  for (const ClassAttribute& a : cls->attributes()) {
    const ClassType* c = as_class(a.type);
    if (!(c && c->is_module_class()) && !a.type->is(TypeKind::Interface)) continue;
    names.push_back(a.name);
    numbered &= all_digits(a.name);
  }
  if (!any && !(numbered && !names.empty()) && kind != "ModuleList" && kind != "Sequential" &&
      kind != "ModuleDict")
    return std::nullopt;
  std::vector<SugarPtr> out;
  for (const std::string& name : names) {
    SugarPtr m = attribute_of_class(module, name, range);
    if (with_names)
      m = as_sequence(SugarKind::Tuple, {as_sugar(constant(name, range)), std::move(m)});
    out.push_back(std::move(m));
  }
  return out;
}

Iteration Emitter::iterate(const SugarPtr& s, const SourceRange& range) {
  Iteration it;
  switch (s->kind) {
    case SugarKind::Value:
      return iterate_value(s->value, range);
    case SugarKind::Tuple:
      it.unrolled = true;
      it.items = s->items;
      return it;
    case SugarKind::Range: {
      Value* start = s->items[0]->value;
      Value* end = s->items[1]->value;
      Value* step = s->items[2] ? s->items[2]->value : nullptr;
      if (!step) {  // range(n)
        it.length = end;
        it.at = [](Value* i) { return as_sugar(i); };
        return it;
      }
      it.length = call_operator("aten::__range_length", range, {start, end, step});
      it.at = [this, start, step, range](Value* i) {
        return as_sugar(call_operator("aten::__derive_index", range, {i, start, step}));
      };
      return it;
    }
    case SugarKind::Zip:
      return iterate_zip(s->items, range);
    case SugarKind::Enumerate:
      return iterate_enumerate(*s, range);
    default:
      throw ErrorReport(range, std::string(kind_name(*s)) + " is not iterable");
  }
}

Iteration Emitter::iterate_value(Value* v, const SourceRange& range) {
  Iteration it;
  const auto indexed = [&](Value* list, const char* get) {
    it.length = call_operator("aten::len", range, {list});
    const std::string op = get;
    it.at = [this, list, op, range](Value* i) {
      if (op == "aten::select")
        return as_sugar(call_operator(op, range, {list, constant(0, range), i}));
      return as_sugar(call_operator(op, range, {list, i}));
    };
  };
  switch (v->type()->kind()) {
    case TypeKind::List:
    case TypeKind::String:
      indexed(v, "aten::__getitem__");
      return it;
    case TypeKind::Tensor:
      indexed(v, "aten::select");
      return it;
    case TypeKind::Dict:
      indexed(call_operator("aten::keys", range, {v}), "aten::__getitem__");
      return it;
    case TypeKind::Tuple:
      it.unrolled = true;
      for (Value* part : unpack_tuple(v, g_, range)) it.items.push_back(as_sugar(part));
      return it;
    default:
      break;
  }
  if (auto modules = children(v, range, false)) {
    const bool dict = last_part(v->type()->name()) == "ModuleDict";
    if (dict) {  // its keys
      modules = children(v, range, true);
      for (SugarPtr& m : *modules) m = m->items[0];
    }
    it.unrolled = true;
    it.items = std::move(*modules);
    return it;
  }
  if (const ClassType* c = as_class(v->type());
      c && c->find_method("__len__") && c->find_method("__getitem__")) {
    it.length = call_method(v, "__len__", {}, range);
    it.at = [this, v, range](Value* i) {
      return as_sugar(call_method(v, "__getitem__", {{"", i, range}}, range));
    };
    return it;
  }
  throw ErrorReport(range, "'" + v->type()->annotation() + "' object is not iterable");
}

Iteration Emitter::iterate_zip(const std::vector<SugarPtr>& items, const SourceRange& range) {
  std::vector<Iteration> parts;
  bool unrolled = false, all_unrolled = true;
  for (const SugarPtr& s : items) {
    parts.push_back(iterate(s, range));
    unrolled |= parts.back().unrolled;
    all_unrolled &= parts.back().unrolled;
  }
  Iteration it;
  if (unrolled) {
    std::size_t n = SIZE_MAX;
    for (const Iteration& p : parts) {
      if (p.unrolled) n = std::min(n, p.items.size());
    }
    TENON_PROGRAM_CHECK(all_unrolled, range,
                        "Can not iterate over a module list or tuple with a value that does not "
                        "have a static length");
    it.unrolled = true;
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<SugarPtr> one;
      one.reserve(parts.size());
      for (const Iteration& p : parts) one.push_back(p.items[i]);
      it.items.push_back(as_sequence(SugarKind::Tuple, std::move(one)));
    }
    return it;
  }
  std::vector<Value*> lengths;
  lengths.reserve(parts.size());
  for (const Iteration& p : parts) lengths.push_back(p.length);
  it.length = lengths.size() == 1
                  ? lengths[0]
                  : call_operator("prim::min", range,
                                  {emit_node(g_, range, "prim::ListConstruct", lengths,
                                             Type::list(Type::integer()))});
  it.at = [parts](Value* i) {
    std::vector<SugarPtr> one;
    one.reserve(parts.size());
    for (const Iteration& p : parts) one.push_back(p.at(i));
    return as_sequence(SugarKind::Tuple, std::move(one));
  };
  return it;
}

Iteration Emitter::iterate_enumerate(const Sugar& s, const SourceRange& range) {
  Iteration over = iterate(s.items[0], range);
  Value* first = s.items.size() > 1 ? s.items[1]->value : nullptr;
  Iteration it;
  if (over.unrolled) {
    it.unrolled = true;
    for (std::size_t i = 0; i < over.items.size(); ++i) {
      Value* n = constant(static_cast<int64_t>(i), range);
      if (first) n = call_operator("aten::add", range, {n, first});
      it.items.push_back(as_sequence(SugarKind::Tuple, {as_sugar(n), over.items[i]}));
    }
    return it;
  }
  it.length = over.length;
  it.at = [this, over, first, range](Value* i) {
    Value* n = first ? call_operator("aten::add", range, {i, first}) : i;
    return as_sequence(SugarKind::Tuple, {as_sugar(n), over.at(i)});
  };
  return it;
}

}  // namespace tenon::jit::language
