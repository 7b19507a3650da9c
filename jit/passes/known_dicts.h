// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries whose keys are known, for exporters, which walk a program once. Operators of
// dictionaries only move values, so they run there and then, on dictionaries that hold the values'
// places in a table.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {

// A Walk has a type Item, a pointer to what it knows of a value (`example`, which is its value
// where `constant` is true), and
//   Entries entries(const Value* v)       of a dictionary, or of a list of pairs
//   IValue key(const Value* v)            raises for a key that is not known
//   Item item(const Value* v)
//   Item constant(IValue v)
//   Item pair(IValue key, Item value, const TypePtr& type)
//   Item list(std::vector<Item> parts, const TypePtr& type)
//   Item dict(Entries entries, const TypePtr& type)
//   void set(const Value* v, Item item)
//   void change(const Value* v, Entries entries)
// where Entries is a std::vector<std::pair<IValue, Item>>.
template <class Walk>
class KnownDicts {
 public:
  using Item = typename Walk::Item;
  using Entries = std::vector<std::pair<IValue, Item>>;

  explicit KnownDicts(Walk& walk) : walk_(walk) {}

  // False: not an operator of dictionaries.
  bool visit(const Node& n) {
    if (n.is("prim::DictConstruct") || (n.is("aten::dict") && n.inputs().empty())) {
      walk_.set(n.output(), construct(n));
      return true;
    }
    if (!moves_values(n)) return false;
    if (read_known(n)) return true;
    Stack stack;
    for (std::size_t k = 0; k < n.inputs().size(); ++k) stack.push_back(argument(n, k));
    const IValue dict = stack[0];
    if (!n.is("aten::dict")) n.op->call(stack, n.inputs().size());
    if (!n.outputs().empty()) walk_.set(n.output(), result(n, stack.at(0)));
    if (n.op->schema.arguments.at(0).alias.write) walk_.change(n.input(0), entries(dict));
    return true;
  }

 private:
  static bool moves_values(const Node& n) {
    static const std::set<std::string, std::less<>> kKinds = {
        "aten::__contains__", "aten::__getitem__", "aten::_set_item", "aten::clear",
        "aten::copy",         "aten::Delete",      "aten::dict",      "aten::get",
        "aten::items",        "aten::keys",        "aten::len",       "aten::pop",
        "aten::popitem",      "aten::setdefault",  "aten::update",    "aten::values",
        "exported::item"};
    return n.op && kKinds.count(n.kind()) != 0 && !n.inputs().empty() &&
           (n.input(0)->type()->is(TypeKind::Dict) || n.is("aten::dict"));
  }

  // What is read from a dictionary of numbers or texts that is known as a whole, without a table of
  // its values: that of a vocabulary has 100,000, and is read for each word.
  bool read_known(const Node& n) {
    static const std::set<std::string, std::less<>> kReads = {
        "aten::__contains__", "aten::__getitem__", "aten::get", "aten::len"};
    const Type& type = *n.input(0)->type();
    if (kReads.count(n.kind()) == 0 || !type.is(TypeKind::Dict)) return false;
    const Type& value = *type.contained().at(1);
    if (!value.is(TypeKind::Int) && !value.is(TypeKind::Float) && !value.is(TypeKind::Bool) &&
        !value.is(TypeKind::String))
      return false;
    Stack stack;
    for (const Value* v : n.inputs()) {
      if (!walk_.item(v)->constant) return false;
      stack.push_back(walk_.item(v)->example);
    }
    n.op->call(stack, n.inputs().size());
    walk_.set(n.output(), walk_.constant(stack.at(0)));
    return true;
  }

  IValue place(Item item) {
    table_.push_back(std::move(item));
    return static_cast<int64_t>(table_.size() - 1);
  }
  const Item& at(const IValue& place) const {
    return table_.at(static_cast<std::size_t>(place.toInt()));
  }
  // Of equal keys the last one counts.
  IValue places(const Entries& entries) {
    auto made = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
    for (const auto& [key, item] : entries) made->insert_or_assign(key, place(item));
    return IValue(std::move(made));
  }
  Entries entries(const IValue& places) const {
    Entries made;
    for (const auto& [key, place] : places.toDictRef().items()) made.emplace_back(key, at(place));
    return made;
  }

  Item construct(const Node& n) {
    Entries given;
    for (std::size_t k = 0; k < n.inputs().size(); k += 2)
      given.emplace_back(walk_.key(n.input(k)), walk_.item(n.input(k + 1)));
    return walk_.dict(entries(places(given)), n.output()->type());
  }
  // Keys as they are, values as places.
  IValue argument(const Node& n, std::size_t k) {
    if (k == 0 || n.is("aten::update")) return places(walk_.entries(n.input(k)));
    return k == 1 || n.is("exported::item") ? walk_.key(n.input(k)) : place(walk_.item(n.input(k)));
  }
  Item pair(const IValue& v, const TypePtr& type) {
    const std::vector<IValue>& both = v.toTupleRef().items;
    return walk_.pair(both[0], at(both[1]), type);
  }
  Item result(const Node& n, const IValue& v) {
    const TypePtr& type = n.output()->type();
    if (v.isNone() || n.is("aten::len") || n.is("aten::__contains__") || n.is("aten::keys"))
      return walk_.constant(v);
    if (v.isInt()) return at(v);
    if (v.isTuple()) return pair(v, type);
    if (v.isGenericDict()) return walk_.dict(entries(v), type);
    std::vector<Item> parts;
    for (const IValue& part : v.toListRef().items)
      parts.push_back(part.isTuple() ? pair(part, type->element()) : at(part));
    return walk_.list(std::move(parts), type);
  }

  Walk& walk_;
  std::vector<Item> table_;
};

}  // namespace tenon::jit
