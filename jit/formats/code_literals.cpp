// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "jit/formats/code_writer.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

bool is_identifier(std::string_view name) {
  static const std::set<std::string, std::less<>> kWords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name) {
    if (c != '_' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'))
      return false;
  }
  return kWords.count(name) == 0;
}

bool is_free_name(std::string_view name) {
  static const std::set<std::string, std::less<>> kUsed = {
      "CONSTANTS",      "__torch__",    "annotate", "fork",  "getattr", "inf",
      "isinstance",     "nan",          "ops",      "print", "range",   "torch",
      "unchecked_cast", "uninitialized"};
  return is_identifier(name) && kUsed.count(name) == 0;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 32 || byte >= 127) {
      char octal[5];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

namespace {

std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char out[40];
  std::snprintf(out, sizeof out, "%.17g", v);
  std::string text = out;
  double back = 0;
  for (int digits = 1; digits < 17; ++digits) {  // the shortest that is the same number
    std::snprintf(out, sizeof out, "%.*g", digits, v);
    if (std::sscanf(out, "%lf", &back) == 1 && back == v) {
      text = out;
      break;
    }
  }
  return text.find_first_of(".e") == std::string::npos ? text + "." : text;
}

std::string list_text(CodeWriter& writer, const IValue& v, const TypePtr& type) {
  const ivalue::List& list = v.toListRef();
  const TypePtr of = list.element                       ? Type::list(list.element)
                     : type && type->is(TypeKind::List) ? type
                                                        : type_of(v);
  std::string items;
  for (const IValue& item : list.items)
    items += (items.empty() ? "" : ", ") + literal_text(writer, item, of->element());
  return "annotate(" + writer.annotation(of) + ", [" + items + "])";
}

std::string dict_text(CodeWriter& writer, const IValue& v) {
  const TypePtr of = type_of(v);
  std::string items;
  for (const auto& [key, value] : v.toDictRef().items()) {
    items += (items.empty() ? "" : ", ") + literal_text(writer, key, of->contained()[0]) + ": " +
             literal_text(writer, value, of->contained()[1]);
  }
  return "annotate(" + writer.annotation(of) + ", {" + items + "})";
}

std::string tuple_text(CodeWriter& writer, const IValue& v) {
  const ivalue::Tuple& tuple = v.toTupleRef();
  std::string items;
  for (const IValue& item : tuple.items)
    items += (items.empty() ? "" : ", ") + literal_text(writer, item, type_of(item));
  if (tuple.type && !tuple.type->name().empty())
    return writer.name_of(tuple.type) + "(" + items + ")";
  return "(" + items + (tuple.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string literal_text(CodeWriter& writer, const IValue& v, const TypePtr& type) {
  switch (v.tag()) {
    case IValue::Tag::None:
      return "None";
    case IValue::Tag::Bool:
      return v.toBool() ? "True" : "False";
    case IValue::Tag::Int:
      // A minus is an operator, so that the least integer has no text of its own.
      if (v.toInt() == INT64_MIN) return "torch.sub(-9223372036854775807, 1)";
      return std::to_string(v.toInt());
    case IValue::Tag::Double:
      return float_text(v.toDouble());
    case IValue::Tag::ComplexDouble: {
      const std::complex<double> z = v.toComplexDouble();
      return "complex(" + float_text(z.real()) + ", " + float_text(z.imag()) + ")";
    }
    case IValue::Tag::String:
      return quoted(v.toStringRef());
    case IValue::Tag::Device:
      return "torch.device(" + quoted(v.toDevice().str()) + ")";
    case IValue::Tag::Tensor:
      return v.toTensor().defined() ? writer.constant(v.toTensor()) : "None";
    case IValue::Tag::Object:
      return writer.constant(v);
    case IValue::Tag::List:
      return list_text(writer, v, type);
    case IValue::Tag::Dict:
      return dict_text(writer, v);
    case IValue::Tag::Tuple:
      return tuple_text(writer, v);
    case IValue::Tag::Enum:
      return writer.name_of_enum(v.toEnumRef().class_name) + "." + v.toEnumRef().name;
    default:
      throw NotImplementedError(
          core::join("save: a constant of kind ", v.tagKind(), " cannot be saved"));
  }
}

}  // namespace tenon::jit::formats
