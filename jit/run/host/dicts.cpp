// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dictionaries, in the order of insertion.
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "jit/run/host/equality.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using DictRef = core::Ref<ivalue::Dict>;

DictRef pop_dict(Stack& s) {
  const IValue v = pop(s);
  return DictRef::share(&v.toDictRef());
}
IValue new_list(TypePtr element, std::vector<IValue> items) {
  return core::Ref<ivalue::List>::adopt(new ivalue::List(std::move(element), std::move(items)));
}
IValue tuple_of(const std::pair<IValue, IValue>& item) {
  return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple({item.first, item.second}));
}

void length(Stack& s) { s.emplace_back(static_cast<int64_t>(pop_dict(s)->size())); }
void keys(Stack& s) {
  const DictRef self = pop_dict(s);
  std::vector<IValue> out;
  for (const auto& [k, v] : self->items()) out.push_back(k);
  s.push_back(new_list(self->key, std::move(out)));
}
void values(Stack& s) {
  const DictRef self = pop_dict(s);
  std::vector<IValue> out;
  for (const auto& [k, v] : self->items()) out.push_back(v);
  s.push_back(new_list(self->value, std::move(out)));
}
void items(Stack& s) {
  const DictRef self = pop_dict(s);
  std::vector<IValue> out;
  for (const auto& item : self->items()) out.push_back(tuple_of(item));
  TypePtr element;
  if (self->key && self->value) element = Type::tuple({self->key, self->value});
  s.push_back(new_list(std::move(element), std::move(out)));
}
void get_item(Stack& s) {
  const IValue k = pop(s);
  s.push_back(pop_dict(s)->at(k));
}
void get(Stack& s) {
  const IValue k = pop(s);
  const DictRef self = pop_dict(s);
  const IValue* v = self->find(k);
  s.push_back(v ? *v : IValue());
}
void get_default(Stack& s) {
  const IValue if_absent = pop(s), k = pop(s);
  const DictRef self = pop_dict(s);
  const IValue* v = self->find(k);
  s.push_back(v ? *v : if_absent);
}
void set_default(Stack& s) {
  const IValue if_absent = pop(s), k = pop(s);
  const DictRef self = pop_dict(s);
  if (!self->contains(k)) self->insert_or_assign(k, if_absent);
  s.push_back(self->at(k));
}
void set_item(Stack& s) {
  IValue v = pop(s), k = pop(s);
  pop_dict(s)->insert_or_assign(std::move(k), std::move(v));
}
void delete_item(Stack& s) {
  const IValue k = pop(s);
  const DictRef self = pop_dict(s);
  (void)self->at(k);  // IndexError names the key
  self->erase(k);
}
void pop_item(Stack& s) {
  const IValue k = pop(s);
  const DictRef self = pop_dict(s);
  s.push_back(self->at(k));
  self->erase(k);
}
void pop_default(Stack& s) {
  const IValue if_absent = pop(s), k = pop(s);
  const DictRef self = pop_dict(s);
  const IValue* v = self->find(k);
  s.push_back(v ? *v : if_absent);
  self->erase(k);
}
// The first pair, as TorchScript has it; Python gives the last.
void pop_first(Stack& s) {
  const DictRef self = pop_dict(s);
  TENON_CHECK(self->size() > 0, IndexError, "popitem(): dictionary is empty");
  const auto first = self->items().front();
  self->erase(first.first);
  s.push_back(tuple_of(first));
}
void clear(Stack& s) { pop_dict(s)->clear(); }
void update(Stack& s) {
  const DictRef other = pop_dict(s), self = pop_dict(s);
  const auto added = other->items();  // it may be self
  for (const auto& [k, v] : added) self->insert_or_assign(k, v);
}
void contains(Stack& s) {
  const IValue k = pop(s);
  s.emplace_back(pop_dict(s)->contains(k));
}
void copy(Stack& s) {
  const DictRef self = pop_dict(s);
  auto made = DictRef::adopt(new ivalue::Dict(self->key, self->value));
  for (const auto& [k, v] : self->items()) made->insert_or_assign(k, v);
  s.emplace_back(std::move(made));
}
// From pairs.
void construct(Stack& s) {
  const IValue pairs = pop(s);
  auto made = DictRef::adopt(new ivalue::Dict);
  if (const TypePtr& e = pairs.toListRef().element; e && e->contained().size() == 2) {
    made->key = e->contained()[0];
    made->value = e->contained()[1];
  }
  for (const IValue& pair : pairs.toList())
    made->insert_or_assign(pair.toTupleRef().items.at(0), pair.toTupleRef().items.at(1));
  s.emplace_back(std::move(made));
}

// $ stands for the type of the keys.
const HostOperator keyed[] = {
    {"aten::keys.$(Dict($, t) self) -> $[](*)", keys},
    {"aten::values.$(Dict($, t) self) -> t[](*)", values},
    {"aten::items.$(Dict($, t) self) -> (($, t)[])", items},
    {"aten::len.Dict_$(Dict($, t) self) -> int", length},
    {"aten::__getitem__.Dict_$(Dict($, t) self, $ key) -> t(*)", get_item},
    {"aten::get.$(Dict($, t) self, $ key) -> t(*)?", get},
    {"aten::get.default_$(Dict($, t) self, $ key, t default_value) -> t(*)", get_default},
    {"aten::setdefault.$(Dict($, t)(a!) self, $(b -> *) key, t(c -> *) default_value) -> t(*)",
     set_default, nullptr, true},
    {"aten::_set_item.$(Dict($, t)(a!) l, $(b -> *) idx, t(c -> *) v) -> ()", set_item, nullptr,
     true},
    {"aten::Delete.Dict_$(Dict($, t)(a!) self, $ key) -> ()", delete_item, nullptr, true},
    {"aten::pop.Dict_$(Dict($, t)(a!) self, $ key) -> t(*)", pop_item, nullptr, true},
    {"aten::pop.Dict_default_$(Dict($, t)(a!) self, $ key, t default_value) -> t(*)", pop_default,
     nullptr, true},
    {"aten::popitem.$(Dict($, t)(a!) self) -> (($, t))", pop_first, nullptr, true},
    {"aten::clear.$(Dict($, t)(a!) self) -> ()", clear, nullptr, true},
    {"aten::update.$(Dict($, t)(a!) self, Dict($, t)(a!) to_add) -> ()", update, nullptr, true},
    {"aten::__contains__.$(Dict($, t) dict, $ key) -> bool", contains},
    {"aten::copy.Dict_$(Dict($, t)(a) self) -> Dict($, t)", copy},
    {"aten::dict.$(($, tVal)[] inputs) -> Dict($, tVal)", construct},
    {"aten::dict.Dict_$(Dict($, t)(a) self) -> Dict($, t)", copy},
    {"aten::eq.Dict_$(Dict($, t) a, Dict($, t) b) -> bool", equal},
    {"aten::ne.Dict_$(Dict($, t) a, Dict($, t) b) -> bool", not_equal},
};

void empty(Stack& s) {
  s.emplace_back(DictRef::adopt(new ivalue::Dict(Type::string(), Type::tensor())));
}

std::string with_key(std::string_view schema, std::string_view key) {
  std::string text;
  for (const char c : schema) {
    if (c == '$')
      text += key;
    else
      text += c;
  }
  return text;
}

struct Registration {
  Registration() {
    static auto& texts = *new std::deque<std::string>;  // the table of operators points at them
    std::vector<HostOperator> list{{"aten::dict() -> Dict(str, Tensor)", empty}};
    for (const char* key : {"str", "int", "bool", "float", "complex", "Tensor"}) {
      for (HostOperator one : keyed) {
        one.schema = texts.emplace_back(with_key(one.schema, key)).c_str();
        list.push_back(one);
      }
    }
    HostOperators(list.data(), list.size());
  }
};
const Registration registered;

}  // namespace
}  // namespace tenon::jit
