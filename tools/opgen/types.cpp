// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/opgen/definition.h"

namespace opgen {

std::string cpp_arg_type(const Type& t) {
  auto opt = [&](const std::string& inner) {
    return t.optional ? "std::optional<" + inner + ">" : inner;
  };
  if (t.tensor()) {
    if (t.list) return t.optional_items ? "ArrayRef<std::optional<Tensor>>" : "TensorList";
    return t.optional ? "const std::optional<Tensor>&" : "const Tensor&";
  }
  if (t.base == "Scalar") {
    if (t.list) return "ArrayRef<Scalar>";
    return t.optional ? "const std::optional<Scalar>&" : "const Scalar&";
  }
  if (t.base == "int") {
    if (t.list) return t.optional ? "OptionalIntArrayRef" : "IntArrayRef";
    return opt("int64_t");
  }
  if (t.base == "float") {
    if (t.list) return t.optional ? "std::optional<ArrayRef<double>>" : "ArrayRef<double>";
    return opt("double");
  }
  if (t.base == "bool") {
    if (t.list)
      return t.fixed ? "std::array<bool, " + std::to_string(t.fixed) + ">" : "ArrayRef<bool>";
    return opt("bool");
  }
  if (t.base == "str") return opt("std::string_view");
  if (t.base == "Generator") return "const std::optional<Generator>&";
  return opt(t.base);  // ScalarType, Layout, Device, MemoryFormat
}

static std::string result_type(const Type& t) {
  if (t.tensor()) return t.list ? "std::vector<Tensor>" : "Tensor";
  if (t.base == "int") return t.list ? "std::vector<int64_t>" : "int64_t";
  if (t.base == "float") return "double";
  return t.base;  // bool, Scalar, ScalarType
}

std::string cpp_result_type(const Schema& s) {
  if (s.results.empty()) return "void";
  if (s.results.size() == 1) return result_type(s.results[0].type);
  std::string out = "std::tuple<";
  for (std::size_t i = 0; i < s.results.size(); ++i)
    out += (i ? ", " : "") + result_type(s.results[i].type);
  return out + ">";
}

std::string type_code(const Type& t) {
  static const std::pair<const char*, char> codes[] = {
      {"Tensor", 'T'},       {"Scalar", 'S'},     {"int", 'I'},      {"float", 'F'},
      {"bool", 'B'},         {"ScalarType", 'D'}, {"Layout", 'L'},   {"Device", 'V'},
      {"MemoryFormat", 'M'}, {"str", 'Z'},        {"Generator", 'G'}};
  std::string code;
  for (const auto& [base, letter] : codes) {
    if (t.base == base) code = letter;
  }
  if (t.list) code += t.optional_items ? "?[]" : "[]";
  return t.optional ? code + "?" : code;
}

bool options_start(const Schema& s, std::size_t i) {
  static const char* const names[] = {"dtype", "layout", "device", "pin_memory"};
  if (i + 4 > s.args.size()) return false;
  for (int k = 0; k < 4; ++k) {
    if (s.args[i + k].name != names[k]) return false;
  }
  return true;
}

std::string cpp_default(const Arg& a) {
  const std::string& d = *a.def;
  const Type& t = a.type;
  if (d == "None") return t.list && t.optional && t.base == "int" ? "std::nullopt" : "{}";
  if (d == "True") return "true";
  if (d == "False") return "false";
  if (t.base == "str") return '"' + d.substr(1, d.size() - 2) + '"';
  if (t.base == "MemoryFormat")
    return d == "contiguous_format" ? "MemoryFormat::Contiguous" : "MemoryFormat::Preserve";
  if (t.base == "int" && d == "Mean") return "1";
  if (t.list && t.base == "bool" && t.fixed) return "{}";
  if (t.list) return d.front() == '[' ? "{" + d.substr(1, d.size() - 2) + "}" : "{" + d + "}";
  return d;
}

std::string params(const Schema& s, bool with_defaults, bool skip_self) {
  std::string out;
  for (std::size_t i = skip_self ? 1 : 0; i < s.args.size(); ++i) {
    if (!out.empty()) out += ", ";
    if (options_start(s, i)) {
      out += "const TensorOptions& options";
      if (with_defaults && s.args[i].def) out += " = {}";
      i += 3;
      continue;
    }
    out += cpp_arg_type(s.args[i].type) + " " + s.args[i].name;
    if (!with_defaults || !s.args[i].def || s.args[i].required) continue;
    const bool keepdim = s.args[i].name == "keepdim" && *s.args[i].def == "False";
    out += " = " + (keepdim ? "TENON_KEEPDIM_DEFAULT(\"" + s.name + "\")" : cpp_default(s.args[i]));
  }
  return out;
}

}  // namespace opgen
