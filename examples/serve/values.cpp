// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <cmath>

#include "request.h"
#include "tensors.h"

namespace serve {
namespace {

using tenon::IValue;
using tenon::jit::Type;
using tenon::jit::TypeKind;
using tenon::jit::TypePtr;

template <class T>
using Ref = tenon::core::Ref<T>;

std::vector<IValue> elements_of(const Json& j, const Type& type, const std::string& where) {
  std::vector<IValue> out;
  for (const Json& element : j) {
    const std::size_t i = out.size();
    const Type& of = type.is(TypeKind::List) ? *type.element() : *type.contained().at(i);
    out.push_back(value_of(element, of, where + "[" + std::to_string(i) + "]"));
  }
  return out;
}

IValue dictionary_of(const Json& j, const Type& type, const std::string& where) {
  const TypePtr &key = type.contained()[0], &value = type.contained()[1];
  auto out = Ref<tenon::ivalue::Dict>::adopt(new tenon::ivalue::Dict(key, value));
  for (const auto& [name, element] : j.items())
    out->insert_or_assign(name, value_of(element, *value, where + "." + name));
  return out;
}

// For results: a tensor's own JSON is an object, too.
template <class Range, class Append>
void append_list(std::string& out, const Range& range, const Append& append) {
  out += '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    append(element);
  }
  out += ']';
}

void append_dictionary(std::string& out, const tenon::ivalue::Dict& dict) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : dict.items()) {
    if (!first) out += ',';
    first = false;
    if (!key.isString())
      throw Failure("program", "the result has a dictionary whose keys are no texts");
    out += quoted(key.toStringRef()) + ":";
    append_value(out, value);
  }
  out += '}';
}

}  // namespace

IValue value_of(const Json& j, const Type& type, const std::string& where) {
  const auto fits = [&](bool right) {
    if (!right)
      throw Failure("request",
                    where + ": expected " + type.annotation() + ", got " + j.type_name());
  };
  switch (type.kind()) {
    case TypeKind::Tensor:
      return tensor_of(j, where);
    case TypeKind::Optional:
      return j.is_null() ? IValue() : value_of(j, *type.element(), where);
    case TypeKind::None:
      fits(j.is_null());
      return {};
    case TypeKind::Bool:
      fits(j.is_boolean());
      return j.get<bool>();
    case TypeKind::Int:
      fits(j.is_number_integer() && !(j.is_number_unsigned() && j.get<uint64_t>() > INT64_MAX));
      return j.get<int64_t>();
    case TypeKind::Float:
      fits(j.is_number());
      return j.get<double>();
    case TypeKind::String:
      fits(j.is_string());
      return j.get<std::string>();
    case TypeKind::List:
      fits(j.is_array());
      return Ref<tenon::ivalue::List>::adopt(
          new tenon::ivalue::List(type.element(), elements_of(j, type, where)));
    case TypeKind::Tuple:
      fits(j.is_array() && j.size() == type.contained().size());
      return tenon::ivalue::Tuple::create(elements_of(j, type, where));
    case TypeKind::Dict:
      fits(j.is_object() && type.contained()[0]->is(TypeKind::String));
      return dictionary_of(j, type, where);
    default:
      throw Failure("request",
                    where + ": a request cannot give a value of the type " + type.annotation());
  }
}

void append_value(std::string& out, const IValue& value) {
  const auto append = [&](const IValue& v) { append_value(out, v); };
  switch (value.tag()) {
    case IValue::Tag::None:
      out += "null";
      return;
    case IValue::Tag::Tensor:
      return append_tensor(out, value.toTensor());
    case IValue::Tag::Double:
      out += Json(value.toDouble()).dump();
      return;
    case IValue::Tag::Int:
      out += std::to_string(value.toInt());
      return;
    case IValue::Tag::Bool:
      out += value.toBool() ? "true" : "false";
      return;
    case IValue::Tag::String:
      out += quoted(value.toStringRef());
      return;
    case IValue::Tag::List:
      return append_list(out, value.toListRef().items, append);
    case IValue::Tag::Tuple:
      return append_list(out, value.toTupleRef().items, append);
    case IValue::Tag::Dict:
      return append_dictionary(out, value.toDictRef());
    default:
      throw Failure("program", "the result has a value of the kind " + value.tagKind() +
                                   ", which has no form in JSON");
  }
}

IValue on_device(const IValue& value, const tenon::Device& device) {
  const auto all = [&](const std::vector<IValue>& items) {
    std::vector<IValue> out;
    out.reserve(items.size());
    for (const IValue& item : items) out.push_back(on_device(item, device));
    return out;
  };
  switch (value.tag()) {
    case IValue::Tag::Tensor:
      return value.toTensor().to(device);
    case IValue::Tag::List: {
      const tenon::ivalue::List& list = value.toListRef();
      return Ref<tenon::ivalue::List>::adopt(
          new tenon::ivalue::List(list.element, all(list.items)));
    }
    case IValue::Tag::Tuple:
      return tenon::ivalue::Tuple::create(all(value.toTupleRef().items));
    case IValue::Tag::Dict: {
      const tenon::ivalue::Dict& dict = value.toDictRef();
      auto out = Ref<tenon::ivalue::Dict>::adopt(new tenon::ivalue::Dict(dict.key, dict.value));
      for (const auto& [key, item] : dict.items())
        out->insert_or_assign(key, on_device(item, device));
      return out;
    }
    default:
      return value;
  }
}

// Bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace serve
