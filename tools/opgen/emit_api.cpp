// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes what users call: declarations of functions and methods.
#include "tools/opgen/emit.h"

namespace opgen {
namespace {

// Doc comment of a declaration: the definition's sentence.
std::string doc(const Definition& r, const char* indent) {
  return r.doc.empty() ? "" : std::string(indent) + "// " + r.doc + "\n";
}

}  // namespace

void emit_methods(const std::vector<Definition>& definitions, const std::string& path) {
  std::string out = std::string(kGenerated) + "// Included by the body of class Tensor.\n";
  for (const Definition& r : definitions) {
    if (r.method) {
      out += doc(r, "  ") + "  " + cpp_result_type(r.schema) + " " + r.schema.name + "(" +
             params(r.schema, true, true) + ") const;\n";
    }
    if (r.inplace)
      out += "  Tensor& " + r.schema.name + "_(" + params(r.schema, true, true) + ") const;\n";
  }
  write_if_changed(path, out);
}

void emit_declarations(const std::vector<Definition>& definitions, const std::string& path) {
  std::string out = std::string(kGenerated) +
                    "#pragma once\n\n#include \"tenon/tensor.h\"\n\nnamespace tenon {\n";
  for (const Definition& r : definitions) {
    if (r.function)
      out += doc(r, "") + "TENON_API " + cpp_result_type(r.schema) + " " + r.schema.name + "(" +
             params(r.schema, true) + ");\n";
    if (r.inplace && r.function) {
      std::string rest = params(r.schema, true, true);
      out += "TENON_API Tensor& " + r.schema.name + "_(Tensor& self" +
             (rest.empty() ? "" : ", " + rest) + ");\n";
    }
    if (r.out) {
      std::string outs, result = "Tensor&";
      std::size_t n = r.schema.results.size();
      if (n > 1) result = "std::tuple<";
      for (std::size_t i = 0; i < n; ++i) {
        outs += "Tensor& out" + (n > 1 ? std::to_string(i) : "") + ", ";
        if (n > 1) result += (i ? ", " : "") + std::string("Tensor&");
      }
      if (n > 1) result += ">";
      out += "TENON_API " + result + " " + r.schema.name + "_out(" + outs + params(r.schema, true) +
             ");\n";
    }
  }
  write_if_changed(path, out + "}  // namespace tenon\n");
}

void emit_composites(const std::vector<Definition>& definitions, const std::string& path) {
  std::string out =
      std::string(kGenerated) + "#pragma once\n\n#include \"tenon/ops.h\"\n\nnamespace tenon {\n";
  for (const Definition& r : definitions) {
    if (r.composite())
      out += "namespace composite { " + cpp_result_type(r.schema) + " " + r.ident() + "(" +
             params(r.schema, false) + "); }\n";
    if (r.decomp)
      out += "namespace decomp { " + cpp_result_type(r.schema) + " " + r.ident() + "(" +
             params(r.schema, false) + "); }\n";
  }
  write_if_changed(path, out + "}  // namespace tenon\n");
}

}  // namespace opgen
