// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes what users call: declarations of functions and methods.
#include <algorithm>

#include "tools/opgen/emit.h"

namespace opgen {
namespace {

// Doc comments of the declarations of an operator: the definition's sentence, and what broadcasts.
std::string doc(const Definition& r, const char* indent, Docs docs) {
  if (docs == Docs::Without) return "";
  const std::string text = std::string(indent) + "// " + r.doc + "\n";
  const std::string broadcasting = r.broadcasting.value_or("");
  return broadcasting.empty() ? text : text + indent + "// Broadcasts " + broadcasting + ".\n";
}

void emit_methods(const std::vector<Definition>& definitions, const std::string& path, Docs docs) {
  std::string out = std::string(kGenerated) + "// Included by the body of class Tensor.\n";
  for (const Definition& r : definitions) {
    if (r.method) {
      out += doc(r, "  ", docs) + "  " + cpp_result_type(r.schema) + " " + r.schema.name + "(" +
             params(r.schema, true, true) + ") const;\n";
    }
    if (r.inplace)
      out += "  Tensor& " + r.schema.name + "_(" + params(r.schema, true, true) + ") const;\n";
  }
  write_if_changed(path, out);
}

void emit_declarations(const std::vector<Definition>& definitions, const std::string& path,
                       Docs docs) {
  std::string out = std::string(kGenerated) +
                    "#pragma once\n\n#include \"tenon/tensor.h\"\n\nnamespace tenon {\n";
  for (const Definition& r : definitions) {
    if (r.function)
      out += doc(r, "", docs) + "TENON_API " + cpp_result_type(r.schema) + " " + r.schema.name +
             "(" + params(r.schema, true) + ");\n";
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
    const auto declare = [&](const std::string& name) {
      out += "namespace decomp { " + cpp_result_type(r.schema) + " " + name + "(" +
             params(r.schema, false) + "); }\n";
    };
    if (r.decomp) declare(r.ident());
    if (r.complex_decomp) declare("complex_" + r.ident());
  }
  write_if_changed(path, out + "}  // namespace tenon\n");
}

}  // namespace

void emit_headers(const std::vector<Definition>& definitions,
                  const std::vector<std::string>& families, const std::string& folder, Docs docs) {
  emit_methods(definitions, folder + "/tensor_methods.gen.h", docs);
  emit_composites(definitions, folder + "/ops/composite.gen.h");
  std::string all = std::string(kGenerated) + "#pragma once\n\n";
  for (const std::string& family : families) {
    std::vector<Definition> own;
    std::copy_if(definitions.begin(), definitions.end(), std::back_inserter(own),
                 [&](const Definition& r) { return r.family == family; });
    emit_declarations(own, folder + "/ops/" + family + ".gen.h", docs);
    all += "#include \"tenon/ops/" + family + ".gen.h\"\n";
  }
  write_if_changed(folder + "/ops.gen.h", all);
}

}  // namespace opgen
