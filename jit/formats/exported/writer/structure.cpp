// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops, and lists and tuples that the program makes and changes; dictionaries: dictionaries.cpp.
#include <algorithm>
#include <numeric>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

void ProgramWriter::visit_taken(const Node& n, const Block& taken) {
  visit(taken);
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    items_[n.output(k)] = items_.at(taken.outputs()[k]);
}

// Its turns are not known, or may turn out not to be.
bool ProgramWriter::may_go_by_data(const Node& loop) const {
  const Item& most = at(loop.input(0));
  return !most.constant || !at(loop.input(1)).constant || most.example.toInt() == INT64_MAX;
}

// Turn by turn, as many as there are. Where the first turn shows that this depends on data, what it
// wrote is given up.
void ProgramWriter::visit_loop(const Node& n) {
  if (!at(n.input(0)).constant || !at(n.input(1)).constant) return visit_data_loop(n);
  const Block& body = *n.blocks()[0];
  const int64_t most = at(n.input(0)).example.toInt();
  std::optional<Mark> before;
  std::vector<std::pair<Item*, Item>> lists;
  const std::vector<const Node*> appends = appends_of(n);
  if (most == INT64_MAX && writes(body, appends)) carry_writes(const_cast<Node&>(n));
  if (most == INT64_MAX && !writes(body, appends)) {
    before = mark();
    for (const Node* a : appends) {
      auto* list = const_cast<Item*>(&at(a->input(0)));
      lists.emplace_back(list, *list);
    }
  }
  std::vector<const Item*> carried;
  for (std::size_t k = 2; k < n.inputs().size(); ++k) carried.push_back(&at(n.input(k)));
  bool goes_on = at(n.input(1)).example.toBool();
  for (int64_t turn = 0; turn < most && goes_on; ++turn) {
    items_[body.inputs()[0]] = make(turn, true);
    for (std::size_t k = 0; k < carried.size(); ++k) items_[body.inputs()[k + 1]] = carried[k];
    visit(body);
    const Item& more = at(body.outputs()[0]);
    if (!more.constant && turn == 0 && before) {
      (void)go_back(std::move(*before));
      for (auto& [list, was] : lists) *list = std::move(was);
      return visit_data_loop(n);
    }
    if (!more.constant) refuse(n, "a loop whose turns depend on data");
    goes_on = more.example.toBool();
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = &at(body.outputs()[k + 1]);
  }
  for (std::size_t k = 0; k < carried.size(); ++k) items_[n.output(k)] = carried[k];
}

namespace {

// The list, tuple or dictionary of the type that `of` stands for.
template <class Item>
IValue gathered(const Item& of, const Type& type, std::size_t run) {
  std::vector<IValue> values;
  values.reserve(of.parts.size());
  for (const Item* p : of.parts) values.push_back(p->in_run(run));
  if (type.is(TypeKind::List))
    return IValue(
        core::Ref<ivalue::List>::adopt(new ivalue::List(type.element(), std::move(values))));
  if (!type.is(TypeKind::Dict))
    return IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(values))));
  auto dict = core::Ref<ivalue::Dict>::adopt(
      new ivalue::Dict(type.contained().at(0), type.contained().at(1)));
  for (std::size_t i = 0; i < values.size(); ++i)
    dict->insert_or_assign(of.keys[i], std::move(values[i]));
  return IValue(std::move(dict));
}

}  // namespace

// Its value follows from its parts.
void ProgramWriter::set_parts(Item& item, const Type& type) {
  std::size_t runs = 1;
  for (const Item* p : item.parts) runs = std::max(runs, p->runs());
  item.example = gathered(item, type, 0);
  item.others.clear();
  for (std::size_t r = 1; r < runs; ++r) item.others.push_back(gathered(item, type, r));
}

const ProgramWriter::Item* ProgramWriter::construct(const std::vector<const Item*>& parts,
                                                    const Type& type) {
  Item* made = make({});
  made->has_parts = true;
  made->parts = parts;
  made->constant =
      std::all_of(parts.begin(), parts.end(), [](const Item* p) { return p->constant; });
  set_parts(*made, type);
  return made;
}

// Changes of a list: of values that are known as the program does it, else of its elements.
bool ProgramWriter::visit_list_change(const Node& n) {
  static const std::set<std::string, std::less<>> kChanges = {
      "aten::append",  "aten::add_",      "aten::extend", "aten::insert",
      "aten::pop",     "aten::_set_item", "aten::sort",   "aten::clear",
      "aten::reverse", "aten::Delete",    "aten::remove"};
  if (!kChanges.count(n.kind()) || !n.input(0)->type()->is(TypeKind::List)) return false;
  Item& list = const_cast<Item&>(at(n.input(0)));  // every value that is this list sees it
  bool known = true;
  for (const Value* v : n.inputs()) known = known && at(v).constant;
  if (known && n.op) {
    Stack stack;
    for (const Value* v : n.inputs()) stack.push_back(at(v).example);
    n.op->call(stack, n.inputs().size());
    list.parts.clear();
    list.has_parts = false;
    for (std::size_t k = 0; k < n.outputs().size(); ++k)
      items_[n.output(k)] =
          n.output(k)->type()->is(TypeKind::List) ? &list : make(stack.at(k), true);
    return true;
  }
  give_parts(list);
  change_parts(n, list);
  list.constant = false;
  set_parts(list, *n.input(0)->type());
  if (!n.outputs().empty() && !n.is("aten::pop")) items_[n.output()] = &list;
  return true;
}

void ProgramWriter::change_parts(const Node& n, Item& list) {
  std::vector<const Item*>& parts = list.parts;
  const auto position = [&](bool may_be_end) {
    if (!at(n.input(1)).constant) refuse(n, "a position in a list that depends on data");
    const auto length = static_cast<int64_t>(parts.size());
    const int64_t given = at(n.input(1)).example.toInt();
    const int64_t i = given < 0 ? given + length : given;
    if (may_be_end) return parts.begin() + std::clamp<int64_t>(i, 0, length);
    TENON_CHECK(0 <= i && i < length, IndexError, "export_program: ", n.kind(), ": position ",
                given, " of a list of ", length);
    return parts.begin() + i;
  };
  if (n.is("aten::append")) {
    parts.push_back(&at(n.input(1)));
  } else if (n.is("aten::add_") || n.is("aten::extend")) {
    Item& more = const_cast<Item&>(at(n.input(1)));
    give_parts(more);
    const std::vector<const Item*> added = more.parts;  // it may be the list itself
    parts.insert(parts.end(), added.begin(), added.end());
  } else if (n.is("aten::_set_item")) {
    *position(false) = &at(n.input(2));
  } else if (n.is("aten::insert")) {
    parts.insert(position(true), &at(n.input(2)));
  } else if (n.is("aten::pop")) {
    const auto it = position(false);
    items_[n.output()] = *it;
    parts.erase(it);
  } else if (n.is("aten::Delete")) {
    parts.erase(position(false));
  } else if (n.is("aten::reverse")) {
    std::reverse(parts.begin(), parts.end());
  } else if (n.is("aten::clear")) {
    parts.clear();
  } else {
    refuse(n, "a list that depends on data");
  }
}

// Of a list, tuple or dictionary that is known, whose elements become values of their own.
void ProgramWriter::give_parts(Item& list) {
  if (list.has_parts) return;
  list.has_parts = true;
  if (list.example.isGenericDict()) {
    for (const auto& [key, v] : list.example.toDictRef().items()) {
      list.keys.push_back(key);
      list.parts.push_back(make(v, true));
    }
    return;
  }
  const auto& items =
      list.example.isTuple() ? list.example.toTupleRef().items : list.example.toListRef().items;
  for (const IValue& v : items) list.parts.push_back(make(v, true));
}

// The sizes that two lists broadcast to: of each dimension the one that the result has in all runs.
// Torch, too, takes sizes that vary to be other than 1.
bool ProgramWriter::visit_broadcast(const Node& n) {
  std::vector<const Item*> lists = {&at(n.input(0)), &at(n.input(1))};
  if (lists[0]->constant && lists[1]->constant) return false;
  for (const Item* list : lists) {
    if (!list->constant && !list->has_parts) return false;
    give_parts(const_cast<Item&>(*list));
  }
  const std::vector<Stack> runs = call(n);
  const std::size_t rank = runs[0].at(0).toListRef().items.size();
  std::vector<const Item*> parts;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto is_result = [&](const Item& size) {
      for (std::size_t r = 0; r < runs.size(); ++r)
        if (size.in_run(r).toInt() != runs[r].at(0).toListRef().items[d].toInt()) return false;
      return true;
    };
    const Item* of = nullptr;
    for (const Item* list : lists) {
      const std::size_t missing = rank - list->parts.size();
      if (d < missing || !is_result(*list->parts[d - missing])) continue;
      if (!of || list->parts[d - missing]->constant) of = list->parts[d - missing];
    }
    if (!of)
      refuse(n, core::join("the size of dimension ", d, " is not the same one for all sizes"));
    parts.push_back(of);
  }
  items_[n.output()] = construct(parts, *n.output()->type());
  return true;
}

// Lists of two lists, of some elements of one, or of all of them several times.
bool ProgramWriter::visit_new_list(const Node& n) {
  if (n.inputs().empty() || n.outputs().size() != 1 || !n.output()->type()->is(TypeKind::List) ||
      !n.input(0)->type()->is(TypeKind::List))
    return false;
  if (n.is("aten::broadcast_shapes") || n.is("aten::_infer_size")) return visit_broadcast(n);
  Item& of = const_cast<Item&>(at(n.input(0)));
  if (n.is("aten::add") && n.inputs().size() == 2) {
    Item& more = const_cast<Item&>(at(n.input(1)));
    if (!of.has_parts && !more.has_parts) return false;
    give_parts(of);
    give_parts(more);
    std::vector<const Item*> parts = of.parts;
    parts.insert(parts.end(), more.parts.begin(), more.parts.end());
    items_[n.output()] = construct(parts, *n.output()->type());
    return true;
  }
  if (!of.has_parts) return false;
  if (n.is("aten::list")) {
    items_[n.output()] = construct(of.parts, *n.output()->type());
    return true;
  }
  if (!n.is("aten::slice") && !n.is("aten::mul")) return false;
  std::vector<int64_t> positions(of.parts.size());
  std::iota(positions.begin(), positions.end(), int64_t{0});
  Stack stack{IValue(positions)};
  for (std::size_t k = 1; k < n.inputs().size(); ++k) {
    if (!at(n.input(k)).constant) refuse(n, "a part of a list whose length varies");
    stack.push_back(at(n.input(k)).example);
  }
  n.op->call(stack, stack.size());
  std::vector<const Item*> parts;
  for (const IValue& p : stack.back().toListRef().items)
    parts.push_back(of.parts[static_cast<std::size_t>(p.toInt())]);
  items_[n.output()] = construct(parts, *n.output()->type());
  return true;
}

bool ProgramWriter::visit_structure(const Node& n) {
  if (n.is("prim::ListConstruct") || n.is("prim::TupleConstruct")) {
    std::vector<const Item*> parts;
    for (const Value* v : n.inputs()) parts.push_back(&at(v));
    items_[n.output()] = construct(parts, *n.output()->type());
    return true;
  }
  if (visit_new_list(n)) return true;
  const bool unpacks = n.is("prim::ListUnpack") || n.is("prim::TupleUnpack");
  if ((unpacks || n.is("prim::TupleIndex")) && at(n.input(0)).constant)
    give_parts(const_cast<Item&>(at(n.input(0))));
  if (n.inputs().empty() || !at(n.input(0)).has_parts) return false;
  const std::vector<const Item*>& parts = at(n.input(0)).parts;
  if (unpacks) {
    for (std::size_t k = 0; k < n.outputs().size(); ++k) items_[n.output(k)] = parts.at(k);
    return true;
  }
  if ((n.is("aten::__getitem__") || n.is("prim::TupleIndex")) && at(n.input(1)).constant) {
    int64_t i = at(n.input(1)).example.toInt();
    if (i < 0) i += static_cast<int64_t>(parts.size());
    items_[n.output()] = parts.at(static_cast<std::size_t>(i));
    return true;
  }
  return false;
}

// x.to(y.device) and similar calls, which only scripts have: a cast, or the tensor itself.
bool ProgramWriter::visit_move(const Node& n) {
  const bool as = n.is("aten::as_tensor") && n.input(0)->type()->is(TypeKind::Tensor);
  if (!(as || n.is("aten::to") || n.is("aten::cpu")) || !n.op || n.op->op) return false;
  const Item& self = at(n.input(0));
  const Tensor& t = self.example.toTensor();
  const Item *dtype = nullptr, *copy = nullptr;
  if (n.is("aten::cpu") && !t.device().is_cpu()) refuse(n, "it moves a tensor to another device");
  for (std::size_t k = 1; k < n.inputs().size(); ++k) {
    const Item& given = at(n.input(k));
    const std::string& name = n.op->schema.arguments[k].name;
    if (!given.constant) refuse(n, "its argument '" + name + "' depends on data");
    if (name == "device" && !given.example.isNone() && given.example.toDevice() != t.device())
      refuse(n, "it moves a tensor to another device");
    if (name == "dtype" && !given.example.isNone()) dtype = &given;
    if (name == "copy" && given.example.toBool()) copy = &given;
  }
  const bool casts = dtype && dtype->example.toScalarType() != t.scalar_type();
  items_[n.output()] = casts  ? emit("aten::to.dtype", {&self, dtype})
                       : copy ? emit("aten::clone", {&self})
                              : items_.at(n.input(0));
  return true;
}

}  // namespace tenon::jit::formats
