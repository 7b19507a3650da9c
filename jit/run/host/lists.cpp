// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists, with Python's indices: negative ones count from the end.
#include <algorithm>

#include "jit/run/host/equality.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/type.h"
#include "tenon/jit/unit.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using ListRef = core::Ref<ivalue::List>;

ListRef list_of(const IValue& v) { return ListRef::share(&v.toListRef()); }
ListRef pop_list(Stack& s) {
  const IValue v = pop(s);
  return list_of(v);
}
IValue new_list(TypePtr element, std::vector<IValue> items) {
  return ListRef::adopt(new ivalue::List(std::move(element), std::move(items)));
}

std::size_t index_in(int64_t at, std::size_t size) {
  const auto n = static_cast<int64_t>(size);
  const int64_t i = at < 0 ? at + n : at;
  TENON_CHECK(i >= 0 && i < n, IndexError, "list index out of range: ", at, " of ", n, " elements");
  return static_cast<std::size_t>(i);
}

void append(Stack& s) {
  IValue v = pop(s);
  s.back().toListRef().items.push_back(std::move(v));
}
void extend(Stack& s) {
  const ListRef other = pop_list(s), self = pop_list(s);
  const std::vector<IValue> items = other->items;  // it may be self
  self->items.insert(self->items.end(), items.begin(), items.end());
}
void insert(Stack& s) {
  IValue v = pop(s);
  const int64_t at = pop_as<int64_t>(s);
  const ListRef self = pop_list(s);
  const auto n = static_cast<int64_t>(self->items.size());
  const int64_t i = std::clamp<int64_t>(at < 0 ? at + n : at, 0, n);
  self->items.insert(self->items.begin() + i, std::move(v));
}
void pop_item(Stack& s) {
  const int64_t at = pop_as<int64_t>(s);
  const ListRef self = pop_list(s);
  TENON_CHECK(!self->items.empty(), IndexError, "pop from empty list");
  const std::size_t i = index_in(at, self->items.size());
  s.push_back(self->items[i]);
  self->items.erase(self->items.begin() + static_cast<std::ptrdiff_t>(i));
}
void clear(Stack& s) { pop_list(s)->items.clear(); }
void copy(Stack& s) {
  const ListRef self = pop_list(s);
  s.push_back(new_list(self->element, self->items));
}
void reverse(Stack& s) {
  const ListRef self = pop_list(s);
  std::reverse(self->items.begin(), self->items.end());
}
void length(Stack& s) {
  const ListRef self = pop_list(s);
  s.emplace_back(static_cast<int64_t>(self->items.size()));
}
void get_item(Stack& s) {
  const int64_t at = pop_as<int64_t>(s);
  const ListRef self = pop_list(s);
  s.push_back(self->items[index_in(at, self->items.size())]);
}
void set_item(Stack& s) {
  IValue v = pop(s);
  const int64_t at = pop_as<int64_t>(s);
  ivalue::List& self = s.back().toListRef();
  self.items[index_in(at, self.items.size())] = std::move(v);
}
void delete_item(Stack& s) {
  const int64_t at = pop_as<int64_t>(s);
  const ListRef self = pop_list(s);
  self->items.erase(self->items.begin() +
                    static_cast<std::ptrdiff_t>(index_in(at, self->items.size())));
}
// The positions of begin:end:step, as slice.indices of Python.
void slice(Stack& s) {
  const int64_t step = pop_as<int64_t>(s);
  const IValue end = pop(s), begin = pop(s);
  const ListRef self = pop_list(s);
  TENON_CHECK(step != 0, ValueError, "slice step cannot be zero");
  const auto n = static_cast<int64_t>(self->items.size());
  auto bound = [&](const IValue& v, int64_t if_none) {
    if (v.isNone()) return if_none;
    const int64_t i = v.toInt() < 0 ? v.toInt() + n : v.toInt();
    return step > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  const int64_t first = bound(begin, step > 0 ? 0 : n - 1), last = bound(end, step > 0 ? n : -1);
  std::vector<IValue> items;
  for (int64_t i = first; step > 0 ? i < last : i > last;) {
    items.push_back(self->items[static_cast<std::size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  s.push_back(new_list(self->element, std::move(items)));
}
void concatenate(Stack& s) {
  const ListRef b = pop_list(s), a = pop_list(s);
  std::vector<IValue> items = a->items;
  items.insert(items.end(), b->items.begin(), b->items.end());
  s.push_back(new_list(a->element, std::move(items)));
}
void extend_in_place(Stack& s) {
  const IValue b = pop(s), a = s.back();
  const std::vector<IValue> items = b.toListRef().items;
  auto& to = a.toListRef().items;
  to.insert(to.end(), items.begin(), items.end());
}
// Bounded, so that a number of a file cannot take all memory.
std::vector<IValue> repeated(const std::vector<IValue>& items, int64_t n) {
  constexpr std::size_t kMaxElements = std::size_t{1} << 28;
  std::vector<IValue> out;
  if (n <= 0 || items.empty()) return out;
  TENON_CHECK(static_cast<uint64_t>(n) <= kMaxElements / items.size(), OutOfMemoryError,
              "a list of ", items.size(), " elements repeated ", n, " times is too long");
  out.reserve(items.size() * static_cast<std::size_t>(n));
  for (int64_t k = 0; k < n; ++k) out.insert(out.end(), items.begin(), items.end());
  return out;
}
void repeat(Stack& s) {
  const int64_t n = pop_as<int64_t>(s);
  const ListRef a = pop_list(s);
  s.push_back(new_list(a->element, repeated(a->items, n)));
}
void repeat_left(Stack& s) {
  const ListRef a = pop_list(s);
  const int64_t n = pop_as<int64_t>(s);
  s.push_back(new_list(a->element, repeated(a->items, n)));
}
void repeat_in_place(Stack& s) {
  const int64_t n = pop_as<int64_t>(s);
  auto& items = s.back().toListRef().items;
  items = repeated(items, n);
}
void contains(Stack& s) {
  const IValue v = pop(s);
  const ListRef self = pop_list(s);
  s.emplace_back(std::find(self->items.begin(), self->items.end(), v) != self->items.end());
}
void remove(Stack& s) {
  const IValue v = pop(s);
  const ListRef self = pop_list(s);
  auto it = std::find(self->items.begin(), self->items.end(), v);
  TENON_CHECK(it != self->items.end(), ValueError, "list.remove(x): x not in list");
  self->items.erase(it);
}
void index(Stack& s) {
  const IValue v = pop(s);
  const ListRef self = pop_list(s);
  auto it = std::find(self->items.begin(), self->items.end(), v);
  TENON_CHECK(it != self->items.end(), ValueError, "the value is not in the list");
  s.emplace_back(static_cast<int64_t>(it - self->items.begin()));
}
void count(Stack& s) {
  const IValue v = pop(s);
  const ListRef self = pop_list(s);
  s.emplace_back(static_cast<int64_t>(std::count(self->items.begin(), self->items.end(), v)));
}

bool less(const IValue& a, const IValue& b) {
  if (a.isString()) return a.toStringRef() < b.toStringRef();
  if (a.isTensor()) return a.toTensor().lt(b.toTensor()).item().to<bool>();
  if (a.isTuple()) {
    const auto &x = a.toTupleRef().items, &y = b.toTupleRef().items;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less);
  }
  if (a.isInt() && b.isInt()) return a.toInt() < b.toInt();
  if (a.isObject()) {
    const auto* c = dynamic_cast<const ClassType*>(a.toObjectRef().type.get());
    const Function* f = c ? c->find_method("__lt__") : nullptr;
    TENON_CHECK(f, TypeError, "'<' not supported between instances of '", a.toObjectRef().name(),
                "'");
    return (*f)(std::vector<IValue>{a, b}).toBool();
  }
  return a.toScalar().to<double>() < b.toScalar().to<double>();
}
void sort_items(std::vector<IValue>& items, bool backward) {
  // On a copy: a comparison that throws leaves the list as it was.
  std::vector<IValue> sorted = items;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const IValue& a, const IValue& b) {
    return backward ? less(b, a) : less(a, b);
  });
  items = std::move(sorted);
}
void sort(Stack& s) {
  const bool backward = pop_as<bool>(s);
  sort_items(pop_list(s)->items, backward);
}
void sorted(Stack& s) {
  const ListRef self = pop_list(s);
  std::vector<IValue> items = self->items;
  sort_items(items, false);
  s.push_back(new_list(self->element, std::move(items)));
}

// By elements, as Python orders lists.
int order(const IValue& a, const IValue& b) {
  const auto &x = a.toListRef().items, &y = b.toListRef().items;
  if (std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), less)) return -1;
  return a == b ? 0 : 1;
}
template <class F>
void compare(Stack& s, const F& f) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(static_cast<bool>(f(order(a, b))));
}
void less_than(Stack& s) {
  compare(s, [](int o) { return o < 0; });
}
void less_equal(Stack& s) {
  compare(s, [](int o) { return o <= 0; });
}
void greater_than(Stack& s) {
  compare(s, [](int o) { return o > 0; });
}
void greater_equal(Stack& s) {
  compare(s, [](int o) { return o >= 0; });
}

const std::vector<IValue>& not_empty(const ListRef& list, const char* op) {
  TENON_CHECK(!list->items.empty(), ValueError, op, "() arg is an empty sequence");
  return list->items;
}
void min_of(Stack& s) {
  const ListRef self = pop_list(s);
  const auto& items = not_empty(self, "min");
  s.push_back(*std::min_element(items.begin(), items.end(), less));
}
void max_of(Stack& s) {
  const ListRef self = pop_list(s);
  const auto& items = not_empty(self, "max");
  s.push_back(*std::max_element(items.begin(), items.end(), less));
}
// The smaller of two lists.
void min_list(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.push_back(order(b, a) < 0 ? b : a);
}
void max_list(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.push_back(order(b, a) > 0 ? b : a);
}
void sum_int(Stack& s) {
  uint64_t total = 0;
  for (const IValue& v : pop_list(s)->items)
    total += static_cast<uint64_t>(v.isBool() ? v.toBool() : v.toInt());
  s.emplace_back(static_cast<int64_t>(total));
}
void sum_float(Stack& s) {
  double total = 0;
  for (const IValue& v : pop_list(s)->items) total += v.toDouble();
  s.emplace_back(total);
}
void any_of(Stack& s) {
  const ListRef self = pop_list(s);
  s.emplace_back(std::any_of(self->items.begin(), self->items.end(),
                             [](const IValue& v) { return v.toScalar().to<double>() != 0; }));
}
void all_of(Stack& s) {
  const ListRef self = pop_list(s);
  s.emplace_back(std::all_of(self->items.begin(), self->items.end(),
                             [](const IValue& v) { return v.toScalar().to<double>() != 0; }));
}

#define OF_TYPE(T)                                                                       \
  {"aten::sort." T "(" T "[](a!) self, bool reverse=False) -> ()", sort, nullptr, true}, \
      {"aten::sorted." T "(" T "[](a) input) -> (" T "[])", sorted},                     \
      {"aten::remove." T "(" T "[](a!) self, " T " el) -> ()", remove, nullptr, true},   \
      {"aten::index.list_" T "(" T "[] self, " T " el) -> int", index},                  \
      {"aten::count." T "(" T "[] self, " T " el) -> int", count},                       \
      {"aten::__contains__." T "_list(" T "[] l, " T " item) -> bool", contains},        \
      {"aten::eq." T "_list(" T "[] a, " T "[] b) -> bool", equal}, {                    \
    "aten::ne." T "_list(" T "[] a, " T "[] b) -> bool", not_equal                       \
  }
#define ORDERED(T)                                                          \
  {"aten::lt." T "_list(" T "[] a, " T "[] b) -> bool", less_than},         \
      {"aten::le." T "_list(" T "[] a, " T "[] b) -> bool", less_equal},    \
      {"aten::gt." T "_list(" T "[] a, " T "[] b) -> bool", greater_than},  \
      {"aten::ge." T "_list(" T "[] a, " T "[] b) -> bool", greater_equal}, \
      {"prim::min." T "_list(" T "[] l, " T "[] r) -> " T "[]", min_list},  \
      {"prim::max." T "_list(" T "[] l, " T "[] r) -> " T "[]", max_list},  \
      {"prim::min.self_" T "(" T "[] self) -> " T, min_of}, {               \
    "prim::max.self_" T "(" T "[] self) -> " T, max_of                      \
  }

const HostOperator list[] = {
    {"aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", append, nullptr, true},
    {"aten::extend.t(t[](a!) self, t[] other) -> ()", extend, nullptr, true},
    {"aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", insert, nullptr, true},
    {"aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", pop_item, nullptr, true},
    {"aten::clear.t(t[](a!) self) -> ()", clear, nullptr, true},
    {"aten::copy.t(t[](a) self) -> t[]", copy},
    {"aten::list.t(t[] l) -> t[]", copy},
    {"aten::Size(int[] sizes) -> int[]", copy},
    {"aten::reverse.t(t[](a!) self) -> ()", reverse, nullptr, true},
    {"aten::len.t(t[] a) -> int", length},
    {"aten::__getitem__.t(t[](a) list, int idx) -> t(*)", get_item},
    {"aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", set_item, nullptr, true},
    {"aten::Delete.t(t[](a!) self, int idx) -> ()", delete_item, nullptr, true},
    {"aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", slice},
    {"aten::add.t(t[] a, t[] b) -> t[]", concatenate},
    {"aten::add_.t(t[](a!) self, t[] b) -> t[]", extend_in_place, nullptr, true},
    {"aten::mul.left_t(t[] l, int n) -> t[]", repeat},
    {"aten::mul.right_(int n, t[] l) -> t[]", repeat_left},
    {"aten::mul_.t(t[](a!) l, int n) -> t[](a!)", repeat_in_place, nullptr, true},
    OF_TYPE("int"),
    OF_TYPE("float"),
    OF_TYPE("bool"),
    OF_TYPE("str"),
    OF_TYPE("Tensor"),
    ORDERED("int"),
    ORDERED("float"),
    ORDERED("bool"),
    ORDERED("str"),
    {"aten::sort.any(t[](a!) self, bool reverse=False) -> ()", sort, nullptr, true},
    {"aten::sorted.any(t[](a) self) -> (t[])", sorted},
    {"aten::__contains__.any_list(t[] l, t item) -> bool", contains},
    {"aten::eq.any_list(t[] a, t[] b) -> bool", equal},
    {"aten::ne.any_list(t[] a, t[] b) -> bool", not_equal},
    {"aten::sum.int(int[] self) -> int", sum_int},
    {"aten::sum.float(float[] self) -> float", sum_float},
    {"aten::sum.bool(bool[] self) -> int", sum_int},
    {"aten::any.int(int[] self) -> bool", any_of},
    {"aten::any.float(float[] self) -> bool", any_of},
    {"aten::any.bool(bool[] self) -> bool", any_of},
    {"aten::all.int(int[] self) -> bool", all_of},
    {"aten::all.float(float[] self) -> bool", all_of},
    {"aten::all.bool(bool[] self) -> bool", all_of},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
