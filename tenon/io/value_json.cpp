// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/io/value_json.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::serialize::detail {
namespace {

// JSON has no infinity and no NaN.
Json json_number(double v) {
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

bool is_string_list(const IValue& v) {
  if (!v.isList()) return false;
  const ivalue::List& list = v.toListRef();
  if (list.element || list.items.empty()) return list.element == ivalue::element_types().string;
  for (const IValue& item : list.items) {
    if (!item.isString()) return false;
  }
  return true;
}

std::optional<int64_t> to_integer(const Json& v) {
  if (auto* below = v.as<int64_t>()) return *below;
  auto* n = v.as<uint64_t>();
  if (!n || *n > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(*n);
}

std::optional<double> to_double(const Json& v) {
  if (auto* number = v.as<double>()) return *number;
  if (auto* n = v.as<uint64_t>()) return static_cast<double>(*n);
  if (auto* n = v.as<int64_t>()) return static_cast<double>(*n);
  auto* text = v.as<std::string>();
  if (!text) return std::nullopt;
  if (*text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (*text == "inf") return std::numeric_limits<double>::infinity();
  if (*text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// All elements of a list, or nothing.
template <class T>
std::optional<std::vector<T>> to_list(const Json& v, std::optional<T> (*one)(const Json&)) {
  auto* list = v.as<Json::Array>();
  if (!list) return std::nullopt;
  std::vector<T> out;
  for (const auto& item : *list) {
    auto value = one(item);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

std::optional<bool> to_bool(const Json& v) {
  if (auto* found = v.as<bool>()) return *found;
  return std::nullopt;
}

std::optional<std::string> to_string(const Json& v) {
  if (auto* found = v.as<std::string>()) return *found;
  return std::nullopt;
}

std::optional<std::complex<double>> to_complex(const Json& v) {
  auto parts = to_list(v, to_double);
  if (!parts || parts->size() != 2) return std::nullopt;
  return std::complex<double>((*parts)[0], (*parts)[1]);
}

// A name that no device can have is not a value of the kind; one whose plugin is absent is.
std::optional<Device> to_device(const Json& v) {
  auto* name = v.as<std::string>();
  if (!name) return std::nullopt;
  try {
    return Device(*name);
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

}  // namespace

Json value_to_json(const std::string& key, const IValue& v) {
  const auto entry = [](const char* kind, Json value) {
    return Json(Json::object(kind, std::move(value)));
  };
  const auto entries = [&](const char* kind, auto&& items, auto&& one) {
    Json::Array list;
    for (const auto& item : items) list.push_back(one(item));
    return entry(kind, std::move(list));
  };
  if (v.isNone()) return entry("none", {});
  if (v.isDouble()) return entry("double", json_number(v.toDouble()));
  if (v.isInt()) return entry("int", v.toInt());
  if (v.isBool()) return entry("bool", v.toBool());
  if (v.isString()) return entry("string", v.toStringRef());
  if (v.isDevice()) return entry("device", v.toDevice().str());
  if (v.isComplexDouble()) {
    const std::complex<double> z = v.toComplexDouble();
    return entries("complex", std::vector<double>{z.real(), z.imag()}, json_number);
  }
  if (v.isIntList()) return entry("ints", Json::list(v.toIntVector()));
  if (v.isDoubleList()) return entries("doubles", v.toDoubleVector(), json_number);
  if (v.isBoolList()) return entries("bools", v.toBoolVector(), [](bool b) { return Json(b); });
  if (is_string_list(v))
    return entries("strings", v.toListRef().items,
                   [](const IValue& item) { return Json(item.toStringRef()); });
  throw NotImplementedError(
      core::join("save: '", key, "' holds a ", v.tagKind(),
                 "; expected a tensor, a number, a bool, a string, ",
                 "a device, or a list of tensors, numbers, bools or strings"));
}

std::optional<IValue> value_from_json(const Json& v) {
  auto* members = v.as<Json::Object>();
  if (!members || members->size() != 1) return std::nullopt;
  const auto& [kind, x] = members->front();
  if (kind == "none") return IValue();
  const auto made = [](auto&& found) -> std::optional<IValue> {
    if (!found) return std::nullopt;
    return IValue(*found);
  };
  if (kind == "double") return made(to_double(x));
  if (kind == "int") return made(to_integer(x));
  if (kind == "bool") return made(to_bool(x));
  if (kind == "string") return made(to_string(x));
  if (kind == "device") return made(to_device(x));
  if (kind == "complex") return made(to_complex(x));
  if (kind == "ints") return made(to_list(x, to_integer));
  if (kind == "doubles") return made(to_list(x, to_double));
  if (kind == "bools") return made(to_list(x, to_bool));
  if (kind == "strings") return made(to_list(x, to_string));
  return std::nullopt;
}

}  // namespace tenon::serialize::detail
