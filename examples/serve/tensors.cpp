// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "request.h"

namespace serve {
namespace {

using nlohmann::json;
using tenon::Tensor;

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Failure("request", where + ": " + what);
}

// What nested arrays have in common, and their numbers in order.
struct Nested {
  std::vector<int64_t> shape;
  std::vector<const json*> numbers;
};

void append_numbers(const json& j, std::size_t depth, Nested& out, const std::string& where) {
  if (depth == out.shape.size()) {
    if (!j.is_number() && !j.is_boolean())
      refuse(where, "expected a number, got a value of the kind " + std::string(j.type_name()));
    out.numbers.push_back(&j);
    return;
  }
  if (!j.is_array() || static_cast<int64_t>(j.size()) != out.shape[depth])
    refuse(where, "arrays of one dimension are of one length");
  for (const json& element : j) append_numbers(element, depth + 1, out, where);
}

// The shape is that of the first elements; the others must have it, too.
Nested flattened(const json& j, const std::string& where) {
  Nested out;
  for (const json* p = &j; p->is_array(); p = &p->front()) {
    out.shape.push_back(static_cast<int64_t>(p->size()));
    if (p->empty()) break;
  }
  append_numbers(j, 0, out, where);
  return out;
}

template <class T>
Tensor filled(const Nested& nested, const std::string& where) {
  Tensor out = tenon::empty(nested.shape, tenon::CppTypeToScalarType<T>::value);
  T* to = out.data_ptr<T>();
  for (const json* number : nested.numbers) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (number->is_number_float()) refuse(where, number->dump() + " is not an integer");
      if (number->is_number_unsigned() && number->get<uint64_t>() > INT64_MAX)
        refuse(where, number->dump() + " is not in the range of int64");
    }
    *to++ = number->is_boolean() ? static_cast<T>(number->get<bool>()) : number->get<T>();
  }
  return out;
}

Tensor filled_as(const Nested& nested, tenon::ScalarType dtype, const std::string& where) {
  if (dtype == tenon::kFloat) return filled<float>(nested, where);
  if (tenon::isFloatingType(dtype)) return filled<double>(nested, where).to(dtype);
  const Tensor wide = filled<int64_t>(nested, where);
  Tensor out = wide.to(dtype);
  if (!tenon::equal(out.to(tenon::kLong), wide))
    refuse(where, "a number is not in the range of " + std::string(tenon::dtype_name(dtype)));
  return out;
}

tenon::ScalarType natural_dtype(const Nested& nested) {
  bool all_booleans = !nested.numbers.empty(), any_float = nested.numbers.empty();
  for (const json* number : nested.numbers) {
    all_booleans = all_booleans && number->is_boolean();
    any_float = any_float || number->is_number_float();
  }
  return any_float ? tenon::kFloat : all_booleans ? tenon::kBool : tenon::kLong;
}

const json& member(const json& object, const char* name, const std::string& where) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(where, std::string("a tensor needs \"") + name + "\"");
  return *found;
}

Tensor described(const json& j, const std::string& where) {
  for (const auto& [name, value] : j.items()) {
    if (name != "dtype" && name != "shape" && name != "data")
      refuse(where, "a tensor has dtype, shape and data, not \"" + name + "\"");
  }
  const json &shape = member(j, "shape", where), &data = member(j, "data", where);
  const std::string name = j.value("dtype", "float32");
  if (!shape.is_array() || !data.is_array()) refuse(where, "shape and data are arrays");
  Nested flat = flattened(data, where);
  if (flat.shape.size() != 1) refuse(where, "data is one array, in the order of memory");
  int64_t count = 1;
  flat.shape.clear();
  for (const json& size : shape) {
    if (!size.is_number_integer() || size.is_number_float() || size < 0)
      refuse(where, "sizes are integers from 0");
    flat.shape.push_back(size.get<int64_t>());
    if (__builtin_mul_overflow(count, flat.shape.back(), &count))
      refuse(where, "the shape is too large");
  }
  if (count != static_cast<int64_t>(flat.numbers.size()))
    refuse(where, "the shape has " + std::to_string(count) + " elements, data has " +
                      std::to_string(flat.numbers.size()));
  return filled_as(flat, tenon::core::dtype_from_name(name), where);
}

template <class T>
void append_number(std::string& out, T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(v)) {
      out += "null";
      return;
    }
  }
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof(text), v).ptr);
}

template <class T>
void append_data(std::string& out, const Tensor& contiguous) {
  const T* data = contiguous.data_ptr<T>();
  for (int64_t i = 0; i < contiguous.numel(); ++i) {
    if (i > 0) out += ',';
    if constexpr (std::is_same_v<T, bool>)
      out += data[i] ? "true" : "false";
    else
      append_number(out, data[i]);
  }
}

}  // namespace

Tensor tensor_of(const json& j, const std::string& where) {
  if (j.is_object()) return described(j, where);
  const Nested nested = flattened(j, where);
  return filled_as(nested, natural_dtype(nested), where);
}

void append_tensor(std::string& out, const Tensor& tensor) {
  const Tensor host = tensor.detach().cpu();
  const tenon::ScalarType dtype = host.scalar_type();
  out += "{\"dtype\":\"" + std::string(tenon::dtype_name(dtype)) + "\",\"shape\":[";
  for (int64_t d = 0; d < host.dim(); ++d) {
    if (d > 0) out += ',';
    append_number(out, host.size(d));
  }
  out += "],\"data\":[";
  if (dtype == tenon::kDouble)
    append_data<double>(out, host.contiguous());
  else if (dtype == tenon::kBool)
    append_data<bool>(out, host.contiguous());
  else if (tenon::isFloatingType(dtype))
    append_data<float>(out, host.to(tenon::kFloat).contiguous());
  else
    append_data<int64_t>(out, host.to(tenon::kLong).contiguous());
  out += "]}";
}

}  // namespace serve
