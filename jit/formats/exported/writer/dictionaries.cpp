// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries whose keys are known. Their operators only move values, so they run here, on
// dictionaries that hold the values' places in a table.
#include <algorithm>
#include <set>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

bool moves_values(const Node& n) {
  static const std::set<std::string, std::less<>> kKinds = {
      "aten::__contains__", "aten::__getitem__", "aten::_set_item", "aten::clear",
      "aten::copy",         "aten::Delete",      "aten::dict",      "aten::get",
      "aten::items",        "aten::keys",        "aten::len",       "aten::pop",
      "aten::popitem",      "aten::setdefault",  "aten::update",    "aten::values",
      "exported::item"};
  return n.op && kKinds.count(n.kind()) != 0 && !n.inputs().empty() &&
         (n.input(0)->type()->is(TypeKind::Dict) || n.is("aten::dict"));
}

bool changes_first(const Node& n) { return n.op->schema.arguments.at(0).alias.write; }

IValue place(std::size_t i) { return static_cast<int64_t>(i); }

}  // namespace

// The dictionary has the keys of `places`, and the values of the table that stand there.
void ProgramWriter::set_places(const Node& n, Item& dict, const IValue& places,
                               const std::vector<const Item*>& table, const TypePtr& type) {
  dict.has_parts = true;
  dict.keys.clear();
  dict.parts.clear();
  for (const auto& [key, at] : places.toDictRef().items()) {
    if (!key.isString() && !key.isInt())
      refuse(n, core::join("a key is of the kind ", key.tagKind(),
                           "; those of exported programs are strings or integers"));
    dict.keys.push_back(key);
    dict.parts.push_back(table.at(static_cast<std::size_t>(at.toInt())));
  }
  dict.constant =
      std::all_of(dict.parts.begin(), dict.parts.end(), [](const Item* p) { return p->constant; });
  set_parts(dict, *type);
}

void ProgramWriter::construct_dict(const Node& n) {
  auto places =
      core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());  // of equal keys the last counts
  std::vector<const Item*> table;
  for (std::size_t k = 0; k < n.inputs().size(); k += 2) {
    if (!at(n.input(k)).constant) refuse(n, "a key depends on data");
    places->insert_or_assign(at(n.input(k)).example, place(table.size()));
    table.push_back(&at(n.input(k + 1)));
  }
  Item* made = make({});
  set_places(n, *made, IValue(std::move(places)), table, n.output()->type());
  items_[n.output()] = made;
}

// `result` in terms of places in `table`.
const ProgramWriter::Item* ProgramWriter::result_of_dict(const Node& n, const IValue& result,
                                                         const std::vector<const Item*>& table) {
  const TypePtr& type = n.output()->type();
  const auto value = [&](const IValue& v) { return table.at(static_cast<std::size_t>(v.toInt())); };
  const auto pair = [&](const IValue& v, const TypePtr& of) {
    const std::vector<IValue>& both = v.toTupleRef().items;
    return construct({make(both[0], true), value(both[1])}, *of);
  };
  if (result.isNone() || n.is("aten::len") || n.is("aten::__contains__") || n.is("aten::keys"))
    return make(result, true);
  if (result.isInt()) return value(result);
  if (result.isTuple()) return pair(result, type);
  std::vector<const Item*> parts;
  if (result.isGenericDict()) {
    Item* made = make({});
    set_places(n, *made, result, table, type);
    return made;
  }
  for (const IValue& v : result.toListRef().items)
    parts.push_back(v.isTuple() ? pair(v, type->element()) : value(v));
  return construct(parts, *type);
}

// Argument `k` as the operator takes it here: keys as they are, values as places in `table`.
IValue ProgramWriter::as_places(const Node& n, std::size_t k, std::vector<const Item*>& table) {
  auto& item = const_cast<Item&>(at(n.input(k)));
  const auto add = [&](const Item* value) {
    table.push_back(value);
    return place(table.size() - 1);
  };
  const bool takes_dict = k == 0 || n.is("aten::update");
  if (!takes_dict) {
    if (k > 1 && !n.is("exported::item")) return add(&item);
    if (!item.constant) refuse(n, "a key depends on data");
    return item.example;
  }
  give_parts(item);
  auto places = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
  for (std::size_t i = 0; i < item.parts.size(); ++i) {
    if (!item.example.isList()) {
      places->insert_or_assign(item.keys[i], add(item.parts[i]));
      continue;
    }
    auto& pair = const_cast<Item&>(*item.parts[i]);  // of aten::dict
    give_parts(pair);
    if (!pair.parts.at(0)->constant) refuse(n, "a key depends on data");
    places->insert_or_assign(pair.parts[0]->example, add(pair.parts.at(1)));
  }
  return IValue(std::move(places));
}

bool ProgramWriter::visit_dict(const Node& n) {
  if (n.is("prim::DictConstruct")) {
    construct_dict(n);
    return true;
  }
  if (!moves_values(n)) return false;
  if (changes_first(n) && at(n.input(0)).given) refuse(n, "it changes an attribute of the module");
  std::vector<const Item*> table;
  Stack stack;
  for (std::size_t k = 0; k < n.inputs().size(); ++k) stack.push_back(as_places(n, k, table));
  const IValue dict = stack[0];
  if (!n.is("aten::dict")) n.op->call(stack, n.inputs().size());
  if (!n.outputs().empty()) items_[n.output()] = result_of_dict(n, stack.at(0), table);
  if (changes_first(n))  // every value that is this dictionary sees it
    set_places(n, const_cast<Item&>(at(n.input(0))), dict, table, n.input(0)->type());
  return true;
}

}  // namespace tenon::jit::formats
