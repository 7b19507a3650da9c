// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "cases.h"
#include "tenon/ops.h"

namespace tenon::command {
namespace {

// Below this the largest value counts as this much: what should be zero is compared by difference.
constexpr double kMinScale = 1e-6;

std::string text_of(const IValue& v) {
  std::ostringstream out;
  out << v;
  return out.str().substr(0, 80);
}

std::string describe(const Tensor& t) {
  std::ostringstream out;
  out << core::dtype_info(t.scalar_type()).name << " " << t.sizes();
  return out.str();
}

// On the host; real and imaginary parts of complex numbers are two.
Tensor as_doubles(const Tensor& t) {
  const Tensor host = t.detach().to(kCPU);
  if (!host.is_complex()) return host.to(kDouble).contiguous();
  return view_as_real(host.to(kComplexDouble)).contiguous();
}

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

// Keys in their order, as the numbers of a case's tensors go by it.
std::vector<std::pair<IValue, IValue>> sorted_items(const ivalue::Dict& d) {
  auto items = d.items();
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    if (a.first.isString() && b.first.isString())
      return a.first.toStringRef() < b.first.toStringRef();
    if (a.first.isInt() && b.first.isInt()) return a.first.toInt() < b.first.toInt();
    if (a.first.isDouble() && b.first.isDouble()) return a.first.toDouble() < b.first.toDouble();
    return a.first.tag() < b.first.tag();
  });
  return items;
}

bool is_sequence(const IValue& v) { return v.isList() || v.isTuple(); }
const std::vector<IValue>& items_of(const IValue& v) {
  return v.isList() ? v.toListRef().items : v.toTupleRef().items;
}

// Whether both are built of the same kinds of values.
bool has_form(const IValue& v, const IValue& of) {
  if (is_sequence(v) && is_sequence(of)) {
    const auto &a = items_of(v), &b = items_of(of);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), has_form);
  }
  return v.tag() == of.tag() || (v.isTensor() && of.isScalar());
}

// The next of `leaves` in place of each tensor and number of `v`.
IValue with_leaves(const IValue& v, const std::vector<IValue>& leaves, std::size_t& next) {
  if (v.isNone()) return v;
  if (v.isGenericDict()) {
    auto made = core::Ref<ivalue::Dict>::adopt(new ivalue::Dict());
    for (const auto& [key, item] : v.toDictRef().items())
      made->insert_or_assign(key, with_leaves(item, leaves, next));
    return made;
  }
  if (!is_sequence(v)) return leaves.at(next++);
  std::vector<IValue> items;
  for (const IValue& item : items_of(v)) items.push_back(with_leaves(item, leaves, next));
  return items;
}

}  // namespace

std::vector<IValue> leaves_of(const IValue& v) {
  if (v.isNone()) return {};
  std::vector<IValue> items, out;
  if (v.isGenericDict()) {
    for (const auto& [key, item] : v.toDictRef().items()) items.push_back(item);
  } else if (is_sequence(v)) {
    items = items_of(v);
  } else {
    return {v};
  }
  for (const IValue& item : items) {
    for (IValue& leaf : leaves_of(item)) out.push_back(std::move(leaf));
  }
  return out;
}

double relative_difference(const Tensor& got, const Tensor& expected) {
  const Tensor a = as_doubles(got), b = as_doubles(expected);
  const double *p = a.data_ptr<double>(), *q = b.data_ptr<double>();
  double far = 0, scale = kMinScale;
  for (int64_t i = 0; i < a.numel(); ++i) {
    far = std::max(far, difference(p[i], q[i]));
    if (std::isfinite(q[i])) scale = std::max(scale, std::abs(q[i]));
  }
  return far / scale;
}

void Comparison::differ(const std::string& what) {
  if (wrong.empty()) wrong = what;
}

// Keeps the one that is the closest to its bound, or the furthest above.
void Comparison::record(double far, double limit) {
  const double share = limit > 0 ? far / limit : far > 0 ? std::numeric_limits<double>::max() : 0;
  if (share < share_) return;
  share_ = share;
  largest = far;
  bound = limit;
}

void Comparison::compare(const Tensor& got, const Tensor& expected, const std::string& name,
                         double limit) {
  if (got.scalar_type() != expected.scalar_type() || got.sizes() != expected.sizes())
    return differ(name + " is " + describe(got) + ", expected " + describe(expected));
  if (shapes_only) return;
  const double far = relative_difference(got, expected);
  if (!expected.is_floating_point() && !expected.is_complex()) limit = 0;
  // One unit in the last place of the largest value.
  if (expected.scalar_type() == kHalf) limit = std::max(limit, 0x1p-10);
  if (expected.scalar_type() == kBFloat16) limit = std::max(limit, 0x1p-7);
  record(far, limit);
  if (!(far <= limit)) {
    std::ostringstream what;
    what << name << " (" << describe(expected) << ") is off by " << far << " of its largest value";
    differ(what.str());
  }
}

void Comparison::compare_number(double got, double expected, const std::string& name) {
  const double limit = allowed(next_++);
  if (shapes_only) return;
  const double apart = difference(got, expected);
  const double far = apart == 0 ? 0 : apart / std::max(std::abs(expected), kMinScale);
  largest = std::max(largest, far);
  if (!(far <= limit)) differ(name + " is " + text_of(got) + ", expected " + text_of(expected));
}

void Comparison::compare_items(const std::vector<IValue>& got, const std::vector<IValue>& expected,
                               const std::string& name) {
  if (got.size() != expected.size())
    return differ(name + " has " + std::to_string(got.size()) + " elements, expected " +
                  std::to_string(expected.size()));
  for (std::size_t i = 0; i < got.size(); ++i)
    compare(got[i], expected[i], name + "[" + std::to_string(i) + "]");
}

void Comparison::compare_dicts(const ivalue::Dict& got, const ivalue::Dict& expected,
                               const std::string& name) {
  if (got.size() != expected.size())
    return differ(name + " has " + std::to_string(got.size()) + " keys, expected " +
                  std::to_string(expected.size()));
  for (const auto& [key, value] : sorted_items(expected)) {
    const IValue* found = got.find(key);
    const std::string item = name + "[" + text_of(key) + "]";
    if (!found) return differ(item + " is missing");
    compare(*found, value, item);
  }
}

void Comparison::compare_result(const IValue& got, const IValue& expected) {
  if (got.isTuple() && !has_form(got, expected)) {
    const auto& items = got.toTupleRef().items;
    const auto fits = [&](const IValue& item) { return has_form(item, expected); };
    if (std::count_if(items.begin(), items.end(), fits) == 1)
      return compare(*std::find_if(items.begin(), items.end(), fits), expected, "the result");
  }
  if (tensors_in_a_row) {
    const std::vector<IValue> leaves = leaves_of(got);
    const std::size_t wanted = leaves_of(expected).size();
    if (leaves.size() != wanted)
      return differ("the result has " + std::to_string(leaves.size()) + " tensors, expected " +
                    std::to_string(wanted));
    std::size_t next = 0;
    return compare(with_leaves(expected, leaves, next), expected, "the result");
  }
  compare(got, expected, "the result");
}

void Comparison::compare(const IValue& got, const IValue& expected, const std::string& name) {
  if (is_sequence(got) && is_sequence(expected))
    return compare_items(items_of(got), items_of(expected), name);
  // A trace has sizes as tensors.
  if (got.isTensor() && expected.isScalar() && got.toTensor().dim() == 0)
    return compare(IValue(got.toTensor().item()), expected, name);
  if (got.tag() != expected.tag())
    return differ(name + " is " + text_of(got) + " (" + got.tagKind() + "), expected " +
                  text_of(expected) + " (" + expected.tagKind() + ")");
  switch (expected.tag()) {
    case IValue::Tag::Tensor:
      return compare(got.toTensor(), expected.toTensor(), name, allowed(next_++));
    case IValue::Tag::Double:
      return compare_number(got.toDouble(), expected.toDouble(), name);
    case IValue::Tag::Dict:
      return compare_dicts(got.toDictRef(), expected.toDictRef(), name);
    case IValue::Tag::Device:
      if (other_device) return;
      break;
    case IValue::Tag::Int:
    case IValue::Tag::Bool:
      ++next_;
      if (shapes_only) return;
      break;
    case IValue::Tag::Object:  // nothing says what is in it
      return;
    default:
      break;
  }
  if (!(got == expected)) differ(name + " is " + text_of(got) + ", expected " + text_of(expected));
}

}  // namespace tenon::command
