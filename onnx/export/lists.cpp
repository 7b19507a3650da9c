// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists. One whose elements are known is its parts; one that changes in a branch or a loop is a
// value of the model: a sequence of tensors, or a tensor of integers.
#include "onnx/export/exporter.h"
#include "tenon/jit/operator.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;
using jit::TypeKind;

bool is_inside(const jit::Value& v, const Node& n) {
  for (const jit::Block* b = v.node()->owning_block(); b;) {
    const Node* owner = b->owning_node();
    if (owner == &n) return true;
    b = owner ? owner->owning_block() : nullptr;
  }
  return false;
}

// The argument that becomes an element of the list.
bool is_element(const Node& n, std::size_t k) { return n.op->schema.arguments.at(k).name == "el"; }

}  // namespace

bool changes_list(const Node& n) {
  if (!n.op || n.op->op || n.op->schema.arguments.empty() || n.inputs().empty()) return false;
  return n.op->schema.arguments[0].alias.write && n.input(0)->type()->is(TypeKind::List);
}

IValue copy_of_list(const IValue& v) {
  const auto& list = v.toListRef();
  return IValue(core::Ref<ivalue::List>::adopt(new ivalue::List(list.element, list.items)));
}

bool is_tensor_list(const IValue& v) {
  return v.isList() && v.toListRef().element && v.toListRef().element->is(TypeKind::Tensor);
}

bool has_equal_shapes(const IValue& tensors) {
  const auto& all = tensors.toListRef().items;
  return std::all_of(all.begin(), all.end(), [&](const IValue& v) {
    return v.toTensor().sizes() == all[0].toTensor().sizes();
  });
}

bool all_constant(const std::vector<ItemPtr>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const ItemPtr& p) { return p->constant; });
}

IValue list_of(const jit::TypePtr& element, const std::vector<ItemPtr>& parts) {
  std::vector<IValue> items;
  items.reserve(parts.size());
  for (const auto& p : parts) items.push_back(p->example);
  return IValue(core::Ref<ivalue::List>::adopt(new ivalue::List(element, std::move(items))));
}

ItemPtr tuple_of(std::vector<ItemPtr> parts) {
  std::vector<IValue> items;
  items.reserve(parts.size());
  for (const auto& p : parts) items.push_back(p->example);
  auto made = std::make_shared<Item>();
  made->example = IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items))));
  made->constant = all_constant(parts);
  made->parts = std::move(parts);
  made->has_parts = true;
  return made;
}

bool is_only_name(const jit::Value& list) {
  const Node& maker = *list.node();
  const bool fresh =
      maker.is("prim::ListConstruct") || (maker.op && !maker.op->schema.returns.empty() &&
                                          maker.op->schema.returns[0].alias.set.empty());
  if (!fresh) return false;
  int passed_on = 0;  // to a branch's or a loop's results, or into a loop
  for (const jit::Use& u : list.uses()) {
    const Node& n = *u.user;
    if (n.is("prim::Return") || n.is("prim::Loop")) {
      if (++passed_on > 1 || n.owning_block() != maker.owning_block()) return false;
      continue;
    }
    if (!n.op || (is_element(n, static_cast<std::size_t>(u.index)))) return false;
    for (const jit::Value* v : n.outputs())
      if (v->type()->is(TypeKind::List) && !v->uses().empty() &&
          !n.op->schema.returns[0].alias.set.empty())
        return false;
  }
  return true;
}

bool Exporter::is_sequence(const Item& i) const {
  return is_tensor_list(i.example) && !i.constant && !i.has_parts;
}

void Exporter::check_change(const Item& list) const {
  need(!list.shared, "it changes a list that has other names in the program");
  need(list.depth == graphs_.size(),
       "it changes a list of outside of the branch or loop under another name");
}

std::string Exporter::value_of(Item& i, const IValue& like) {
  if (!is_tensor_list(i.example)) return name_of(i);
  if (!i.name.empty()) return i.name;
  Names parts;
  const auto& items = i.example.toListRef().items;
  for (const ItemPtr& p : unpack(std::make_shared<Item>(i), items.size())) {
    need(p->example.toTensor().scalar_type() == items[0].toTensor().scalar_type(),
         "a list of several dtypes");
    parts.push_back(name_of(*p));
  }
  const IValue& typed = items.empty() && is_tensor_list(like) ? like : i.example;
  pb::ValueInfoProto info;
  add_value_info(&info, "", Item{typed}, true);
  const int64_t dtype = info.type().sequence_type().elem_type().tensor_type().elem_type();
  const std::string made = parts.empty() ? node("SequenceEmpty", {}, {{"dtype", dtype}}).front()
                                         : node("SequenceConstruct", parts).front();
  if (i.depth == graphs_.size()) i.name = made;  // graphs around this one do not have it
  return made;
}

std::vector<ItemPtr> Exporter::unpack(const ItemPtr& from, std::size_t n) {
  if (from->has_parts) return from->parts;
  const auto& items =
      from->example.isTuple() ? from->example.toTupleRef().items : from->example.toListRef().items;
  std::vector<ItemPtr> parts;
  for (std::size_t i = 0; i < n; ++i) {
    need(!items.empty(), "an element of a list that is empty with the examples");
    Item part{items[std::min(i, items.size() - 1)], from->constant};
    const Names of{from->constant ? "" : value_of(*from), initializer(as_tensor(int64_t(i)))};
    if (is_sequence(*from))
      part.name = node("SequenceAt", of).front();
    else if (!from->constant)
      part.name = node("Gather", of, {{"axis", int64_t{0}}}).front();
    parts.push_back(std::make_shared<Item>(std::move(part)));
  }
  return parts;
}

// The lists of outside that a branch or loop changes.
std::vector<ItemPtr> Exporter::changed_lists(const Node& n) const {
  std::vector<ItemPtr> lists;
  const std::function<void(const jit::Block&)> look = [&](const jit::Block& b) {
    for (const Node* m : b.nodes()) {
      for (const jit::Block* inner : m->blocks()) look(*inner);
      if (!changes_list(*m) || is_inside(*m->input(0), n)) continue;
      const ItemPtr list = item(m->input(0));
      check_change(*list);
      if (std::find(lists.begin(), lists.end(), list) == lists.end()) lists.push_back(list);
    }
  };
  for (const jit::Block* b : n.blocks()) look(*b);
  return lists;
}

bool Exporter::visit_list(const Node& n) {
  if (!n.op || n.op->op || n.inputs().empty() || !n.input(0)->type()->is(TypeKind::List))
    return false;
  const ItemPtr list = item(n.input(0));
  if (!list->example.isList()) return false;
  const bool changes = changes_list(n);
  if (changes) check_change(*list);
  const bool gives = n.is("aten::add") || n.is("aten::mul") || n.is("aten::__getitem__");
  if (list->constant && !changes && !gives) return false;
  return visit_parts_of_list(n) || (changes && visit_constant_list(n)) || visit_value_of_list(n);
}

// What decides by the values of elements, as sort does, where they are constants.
bool Exporter::visit_constant_list(const Node& n) {
  jit::Stack stack;
  for (const jit::Value* v : n.inputs()) {
    const ItemPtr i = item(v);
    if (!i->constant && !(i->has_parts && all_constant(i->parts))) return false;
    stack.push_back(i->example.isList() ? copy_of_list(i->example) : i->example);
  }
  const IValue self = stack[0];
  n.op->call(stack, n.inputs().size());
  Item& list = *item(n.input(0));
  list.example = self;
  list.constant = true;
  list.has_parts = false;
  list.parts.clear();
  list.name.clear();
  if (!n.outputs().empty()) set(n.output(), std::make_shared<Item>(Item{stack.back(), true}));
  return true;
}

// The operator is run on positions in the place of elements. False: a list has no parts, or another
// argument is computed by the model.
bool Exporter::visit_parts_of_list(const Node& n) {
  static const std::set<std::string, std::less<>> kKinds = {
      "aten::append", "aten::extend",      "aten::insert",  "aten::pop",
      "aten::clear",  "aten::copy",        "aten::list",    "aten::len",
      "aten::slice",  "aten::__getitem__", "aten::add",     "aten::_set_item",
      "aten::Delete", "aten::mul",         "aten::reverse", "aten::add_"};
  if (!kKinds.count(n.kind())) return false;
  std::vector<ItemPtr> all;
  jit::Stack stack;
  for (std::size_t k = 0; k < n.inputs().size(); ++k) {
    const ItemPtr i = item(n.input(k));
    if (is_element(n, k)) {
      stack.emplace_back(static_cast<int64_t>(all.size()));
      all.push_back(i);
    } else if (n.input(k)->type()->is(TypeKind::List)) {
      if (!i->has_parts && !i->constant) return false;
      std::vector<int64_t> positions;
      for (const ItemPtr& p : unpack(i, i->example.toListRef().items.size())) {
        positions.push_back(static_cast<int64_t>(all.size()));
        all.push_back(p);
      }
      stack.emplace_back(IValue(positions));
    } else {
      if (!i->constant) return false;
      stack.push_back(i->example);
    }
  }
  const auto take = [&](const IValue& positions, Item& list) {
    list.parts.clear();
    for (const IValue& p : positions.toListRef().items)
      list.parts.push_back(all.at(static_cast<std::size_t>(p.toInt())));
    list.has_parts = true;
    list.constant = all_constant(list.parts);
    list.name.clear();
    list.example = list_of(n.input(0)->type()->element(), list.parts);
  };
  const IValue self = stack[0];
  n.op->call(stack, n.inputs().size());
  const ItemPtr list = item(n.input(0));
  if (changes_list(n)) take(self, *list);
  if (n.outputs().empty()) return true;
  if (n.is("aten::len"))
    return set(n.output(), std::make_shared<Item>(Item{stack.back(), true})), true;
  if (stack.back().isInt())
    return set(n.output(), all.at(static_cast<std::size_t>(stack.back().toInt()))), true;
  const ItemPtr result = changes_list(n) ? list : std::make_shared<Item>();
  if (result != list) take(stack.back(), *result);
  return set(n.output(), result), true;
}

// A list that is one value of the model.
bool Exporter::visit_value_of_list(const Node& n) {
  const ItemPtr list = item(n.input(0));
  jit::Stack stack;
  for (const jit::Value* v : n.inputs()) {
    const IValue& e = item(v)->example;
    stack.push_back(e.isList() ? copy_of_list(e) : e);
  }
  const IValue self = stack[0];
  const bool at = n.is("aten::__getitem__"), changes = changes_list(n);
  if (at) {  // the example may have fewer elements than the position in a later turn
    const auto& items = self.toListRef().items;
    need(!items.empty(), "an element of a list that is empty with the examples");
    const int64_t i = stack[1].toInt(), size = static_cast<int64_t>(items.size());
    if (i >= size || i < -size) stack[1] = IValue(size - 1);
  }
  const bool joins = n.is("aten::add"), cuts = n.is("aten::slice"), repeats = n.is("aten::mul");
  if (!at && !changes && !joins && !cuts && !repeats && !n.is("aten::len") && !n.is("aten::copy") &&
      !n.is("aten::list"))
    return false;
  n.op->call(stack, n.inputs().size());
  auto result = std::make_shared<Item>();
  if (!stack.empty()) result->example = stack.back();
  if (n.is("aten::len") && !list->grows && !is_tensor_list(list->example)) {
    result->constant = true;
    return set(n.output(), result), true;
  }
  result->grows = list->grows;
  const std::string value = value_of(*list, joins ? result->example : self);
  const bool tensors = is_tensor_list(list->example);
  if (at) {
    const Names inputs{value, name_of(*item(n.input(1)))};
    if (tensors && !item(n.input(1))->constant && !has_equal_shapes(self))
      varying_ = true;  // each turn may take one of another shape
    result->name = tensors ? node("SequenceAt", inputs).front()
                           : node("Gather", inputs, {{"axis", int64_t{0}}}).front();
  } else if (n.is("aten::len")) {
    result->name = node(tensors ? "SequenceLength" : "Size", {value}).front();
  } else if (cuts) {
    need(!tensors, "of a list of tensors whose length is not known");
    result->name = cut_list(n, value);
  } else if (repeats) {
    need(!tensors, "of a list of tensors");
    result->name = node("Tile", {value, as_list(*item(n.input(1)))}).front();
    result->grows = true;
  } else if (joins) {
    result->name = extend_list(value, *item(n.input(1)));
    result->grows = result->grows || item(n.input(1))->grows;
  } else if (changes) {
    if (n.is("aten::pop")) {
      need(tensors, "of a list of numbers");
      result->name = node("SequenceAt", {value, name_of(*item(n.input(1)))}).front();
    }
    list->name = change_sequence(n, value);
    list->example = self;
    list->has_parts = list->constant = false;
    list->parts.clear();
    if (!n.outputs().empty() && n.output()->type()->is(TypeKind::List)) result = list;
  } else {
    result->name = value;
  }
  if (!n.outputs().empty()) set(n.output(), result);
  return true;
}

// A number as a list of one.
std::string Exporter::as_list(Item& number) {
  const std::string one = initializer(as_tensor(IValue(std::vector<int64_t>{1})));
  return node("Reshape", {name_of(number), one}).front();
}

// As one tensor, whose rows are turned around: ONNX has no sequences of a length that is computed
// but from parts of a tensor.
std::string Exporter::reverse_sequence(const IValue& tensors, const std::string& list) {
  need(has_equal_shapes(tensors), "of tensors of several shapes");
  const auto ints = [this](int64_t v) {
    return initializer(as_tensor(IValue(std::vector<int64_t>{v})));
  };
  const Attrs axis{{"axis", int64_t{0}}};
  const std::string rows =
      node("ConcatFromSequence", {list}, {axis[0], {"new_axis", int64_t{1}}}).front();
  const std::string turned =
      node("Slice", {rows, ints(-1), ints(std::numeric_limits<int64_t>::min()), ints(0), ints(-1)})
          .front();
  return node("SplitToSequence", {turned}, {axis[0], {"keepdims", int64_t{0}}}).front();
}

std::string Exporter::cut_list(const Node& n, const std::string& list) {
  const std::string axis = initializer(as_tensor(IValue(std::vector<int64_t>{0})));
  const auto bound = [&](std::size_t k, int64_t otherwise) {
    const ItemPtr i = item(n.input(k));
    if (!i->constant) return node("Unsqueeze", {name_of(*i), axis}).front();
    const int64_t v = i->example.isNone() ? otherwise : i->example.toInt();
    return initializer(as_tensor(IValue(std::vector<int64_t>{v})));
  };
  const ItemPtr step = item(n.input(3));
  need(step->constant && step->example.toInt() > 0, "with a step that is not a positive constant");
  return node("Slice",
              {list, bound(1, 0), bound(2, std::numeric_limits<int64_t>::max()), axis, bound(3, 1)})
      .front();
}

std::string Exporter::extend_list(const std::string& list, Item& by) {
  if (!is_tensor_list(by.example))
    return node("Concat", {list, name_of(by)}, {{"axis", int64_t{0}}}).front();
  need(by.has_parts || by.constant, "by a list that grows in a branch or a loop");
  std::string all = list;
  for (const ItemPtr& p : unpack(std::make_shared<Item>(by), by.example.toListRef().items.size()))
    all = node("SequenceInsert", {all, name_of(*p)}).front();
  return all;
}

std::string Exporter::change_sequence(const Node& n, std::string list) {
  const auto argument = [&](std::size_t k) { return name_of(*item(n.input(k))); };
  const bool tensors = is_tensor_list(item(n.input(0))->example);
  if (n.is("aten::extend") || n.is("aten::add_")) return extend_list(list, *item(n.input(1)));
  if (n.is("aten::append") && !tensors) {
    const std::string axis = initializer(as_tensor(IValue(std::vector<int64_t>{0})));
    const std::string one = node("Unsqueeze", {argument(1), axis}).front();
    return node("Concat", {list, one}, {{"axis", int64_t{0}}}).front();
  }
  if (n.is("aten::_set_item") && !tensors) {
    const std::string at = as_list(*item(n.input(1))), value = as_list(*item(n.input(2)));
    return node("ScatterElements", {list, at, value}, {{"axis", int64_t{0}}}).front();
  }
  need(tensors, "of a list of numbers in a branch or a loop");
  if (n.is("aten::append")) return node("SequenceInsert", {list, argument(1)}).front();
  if (n.is("aten::insert")) return node("SequenceInsert", {list, argument(2), argument(1)}).front();
  if (n.is("aten::pop") || n.is("aten::Delete"))
    return node("SequenceErase", {list, argument(1)}).front();
  if (n.is("aten::reverse")) return reverse_sequence(item(n.input(0))->example, list);
  need(n.is("aten::_set_item"), "of a list in a branch or a loop");
  // The new element goes before the old one. Positions from the end count the old one still.
  const ItemPtr at = item(n.input(1));
  list = node("SequenceInsert", {list, argument(2), argument(1)}).front();
  std::string old;
  if (at->constant) {
    const int64_t i = at->example.toInt();
    old = initializer(as_tensor(IValue(i < 0 ? i : i + 1)));
  } else {
    const std::string zero = initializer(as_tensor(IValue(int64_t{0})));
    const std::string forward = node("Not", {node("Less", {argument(1), zero}).front()}).front();
    const std::string by = node("Cast", {forward}, {{"to", int64_t{onnx_type(kInt64)}}}).front();
    old = node("Add", {argument(1), by}).front();
  }
  return node("SequenceErase", {list, old}).front();
}

}  // namespace tenon::onnx::exporting
