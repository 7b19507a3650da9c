// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of any kind: identity, optionals, devices, enums, tuples, futures, printing.
#include <functional>
#include <sstream>

#include "jit/run/futures.h"
#include "jit/run/host/equality.h"
#include "jit/run/text_of_values.h"
#include "tenon/jit/operator.h"
#include "tenon/jit/print.h"
#include "tenon/jit/type.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

PrintHandler& print_handler() {
  static auto* const h = new PrintHandler;
  return *h;
}

void print(Stack& s, std::size_t n) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i) text += (i ? " " : "") + text_of(peek(s, i, n));
  drop(s, n);
  if (print_handler()) print_handler()(text + "\n");
}
void warn(Stack& s) {
  drop(s, 1);  // stacklevel
  const std::string text = pop(s).toStringRef();
  if (print_handler()) print_handler()("Warning: " + text + "\n");
}

void is(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(a.is(b));
}
void is_not(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(!a.is(b));
}
void unwrap(Stack& s) { TENON_CHECK(!s.back().isNone(), Error, "Unwrapping null optional"); }

void make_device(Stack& s) {
  const std::string text = pop(s).toStringRef();
  s.emplace_back(Device(text));
}
void make_device_at(Stack& s) {
  const int64_t index = pop_as<int64_t>(s);
  const std::string type = pop(s).toStringRef();
  s.emplace_back(Device(type + ":" + std::to_string(index)));
}
void device_type(Stack& s) {
  const std::string text = pop(s).toDevice().str();
  s.emplace_back(text.substr(0, text.find(':')));
}
void device_index(Stack& s) {
  const Device d = pop(s).toDevice();
  s.push_back(d.has_index() ? IValue(int64_t{d.index()}) : IValue());
}
void enum_name(Stack& s) {
  const std::string name = pop(s).toEnumRef().name;
  s.emplace_back(name);
}
void enum_value(Stack& s) {
  const IValue e = pop(s);
  s.push_back(e.toEnumRef().value);
}

void wait(Stack& s) {
  const IValue f = pop(s);
  s.push_back(wait_for(f.toFutureRef()));
}
void done(Stack& s) {
  const IValue f = pop(s);
  s.emplace_back(f.toFutureRef().completed());
}

int64_t hash_of(const IValue& v) {
  if (v.isString()) return static_cast<int64_t>(std::hash<std::string>{}(v.toStringRef()));
  if (v.isInt()) return v.toInt();
  if (v.isBool()) return v.toBool();
  if (v.isDouble()) return static_cast<int64_t>(std::hash<double>{}(v.toDouble()));
  // Tensors are keys by identity, as in Python.
  if (v.isTensor())
    return static_cast<int64_t>(std::hash<const void*>{}(v.toTensor().unsafeGetTensorImpl()));
  TENON_CHECK(v.isTuple(), TypeError, "unhashable type: ", v.tagKind());
  uint64_t h = 0x345678;
  for (const IValue& item : v.toTupleRef().items)
    h = (h ^ static_cast<uint64_t>(hash_of(item))) * 1000003;
  return static_cast<int64_t>(h);
}
void hash(Stack& s) {
  const IValue v = pop(s);
  s.emplace_back(hash_of(v));
}

// range(begin, end, step): how many, and the k-th.
void range_length(Stack& s) {
  const int64_t step = pop_as<int64_t>(s), hi = pop_as<int64_t>(s), lo = pop_as<int64_t>(s);
  TENON_CHECK(step != 0, ValueError, "range() arg 3 must not be zero");
  const auto span =
      static_cast<uint64_t>(step > 0 ? hi : lo) - static_cast<uint64_t>(step > 0 ? lo : hi);
  const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool some = step > 0 ? lo < hi : lo > hi;
  s.emplace_back(some ? static_cast<int64_t>((span - 1) / by + 1) : int64_t{0});
}
void range_item(Stack& s) {
  const int64_t step = pop_as<int64_t>(s), start = pop_as<int64_t>(s), k = pop_as<int64_t>(s);
  s.emplace_back(static_cast<int64_t>(static_cast<uint64_t>(start) +
                                      static_cast<uint64_t>(k) * static_cast<uint64_t>(step)));
}

void raise_assertion(Stack& s) {
  const std::string text = pop(s).toStringRef();
  if (!pop_as<bool>(s)) throw Error("AssertionError: " + text);
}

const HostOperator list[] = {
    {"prim::Print(...) -> ()", nullptr, print, true},
    {"aten::warn(str message, int stacklevel=2) -> ()", warn, nullptr, true},
    {"aten::__is__(t1 self, t2 obj) -> bool", is},
    {"aten::__isnot__(t1 self, t2 obj) -> bool", is_not},
    {"aten::_unwrap_optional(t(a)? optional) -> t(a)", unwrap},
    {"aten::eq.device(Device a, Device b) -> bool", equal},
    {"aten::ne.device(Device a, Device b) -> bool", not_equal},
    {"aten::eq.enum(AnyEnumType a, AnyEnumType b) -> bool", equal},
    {"aten::ne.enum(AnyEnumType a, AnyEnumType b) -> bool", not_equal},
    {"aten::device(str a) -> Device", make_device},
    {"aten::device.with_index(str type, int index) -> Device", make_device_at},
    {"prim::type(Device self) -> str", device_type},
    {"prim::index(Device self) -> int?", device_index},
    {"prim::EnumName(AnyEnumType enum) -> str", enum_name},
    {"prim::EnumValue.int(AnyEnumType enum) -> int", enum_value},
    {"prim::EnumValue.float(AnyEnumType enum) -> float", enum_value},
    {"prim::EnumValue.str(AnyEnumType enum) -> str", enum_value},
    {"aten::wait(Future(t) self) -> t", wait},
    {"prim::done(Future(t) self) -> bool", done},
    {"aten::hash.generic(t value) -> int", hash},
    {"aten::__range_length(int lo, int hi, int step) -> int", range_length},
    {"aten::__derive_index(int index, int start, int step) -> int", range_item},
    {"aten::_assert_scalar.bool(bool self, str assert_msg) -> ()", raise_assertion, nullptr, true},
    {"prim::rangelist(int n) -> int[]",
     [](Stack& s) {
       const int64_t n = pop_as<int64_t>(s);
       std::vector<int64_t> all;
       for (int64_t k = 0; k < n; ++k) all.push_back(k);
       s.emplace_back(all);
     }},
    {"prim::is_scripting() -> bool", [](Stack& s) { s.emplace_back(true); }},
    {"aten::is_scripting() -> bool", [](Stack& s) { s.emplace_back(true); }},
    {"aten::has_torch_function(...) -> bool", nullptr,
     [](Stack& s, std::size_t n) {
       drop(s, n);
       s.emplace_back(false);
     }},
};
const HostOperators registered(list, std::size(list));

}  // namespace

void set_print_handler(PrintHandler handler) { print_handler() = std::move(handler); }

}  // namespace tenon::jit
