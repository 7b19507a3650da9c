// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "schema_text.h"

namespace tenon::check {
namespace {

// In the order of core::ArgType. `#`: the length, where the schema fixes one.
constexpr const char* kTypes[] = {
    "Tensor",   "Tensor?",      "Tensor[]", "Tensor?[]", "Scalar",     "Scalar?",     "Scalar[]",
    "int",      "int?",         "int[#]",   "int[#]?",   "float",      "float?",      "float[]",
    "float[]?", "bool",         "bool?",    "bool[#]",   "ScalarType", "ScalarType?", "Layout",
    "Device",   "MemoryFormat", "str",      "str?",      "Generator"};

std::string type_text(core::ArgType type, int fixed) {
  std::string out = kTypes[static_cast<int>(type)];
  std::size_t hash = out.find('#');
  if (hash != std::string::npos) out.replace(hash, 1, fixed ? std::to_string(fixed) : "");
  return out;
}

void erase_all(std::string& text, std::string_view what, std::size_t keep = 0) {
  for (std::size_t at; (at = text.find(what)) != std::string::npos;)
    text.erase(at + keep, what.size() - keep);
}

}  // namespace

std::string schema_text(const core::Op& op) {
  std::string out = std::string(op.name) + "(";
  bool keywords = false;
  for (int i = 0; i < op.n_args; ++i) {
    const core::ArgInfo& a = op.args[i];
    if (i > 0) out += ", ";
    if (a.keyword_only && !keywords) out += "*, ";
    keywords = a.keyword_only;
    out += type_text(a.type, a.fixed) + " " + a.name;
    if (a.has_default) out += std::string("=") + a.def;
  }
  out += ") -> ";
  const bool one = op.n_results == 1;
  if (!one) out += "(";
  for (int i = 0; i < op.n_results; ++i) {
    if (i > 0) out += ", ";
    out += type_text(op.results[i].type, 0);
    if (!one && *op.results[i].name) out += std::string(" ") + op.results[i].name;
  }
  return one ? out : out + ")";
}

std::string plain_schema(std::string_view text) {
  std::string out(text);
  for (const char* mark : {"(a)", "(a!)", "(b!)", "(c!)", "(d!)", "(e!)", "(a -> *)"})
    erase_all(out, mark);
  for (const char* type : {"Layout?", "Device?", "MemoryFormat?", "Generator?"}) {
    erase_all(out, type, std::string_view(type).size() - 1);
  }
  return out;
}

}  // namespace tenon::check
