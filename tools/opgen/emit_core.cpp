// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes what core and the SDK need of the definitions: the op table, and one C header an op name.
#include <map>
#include <set>

#include "tools/opgen/emit.h"

namespace opgen {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string number_list(const std::string& d) {  // "[1, 2]" or "1" -> "1, 2"
  return d.front() == '[' ? d.substr(1, d.size() - 2) : d;
}

// The constant arrays of the table. Equal ones are one: half of all argument lists are.
class Arrays {
 public:
  // The name of the array of these elements.
  std::string name_of(const std::string& type, const std::string& stem, const std::string& items) {
    const auto [at, is_new] =
        names_.try_emplace(type + items, stem + "_" + std::to_string(names_.size()));
    if (is_new) text_ += "const " + type + " " + at->second + "[] = {" + items + "};\n";
    return at->second;
  }
  const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string> names_;
  std::string text_;
};

// The default of an argument as a tn_value initializer.
std::string default_value(const Arg& a, Arrays& arrays) {
  auto value = [](const std::string& tag, const std::string& member, const std::string& v,
                  const std::string& len = "0") {
    return "{" + tag + ", " + len + ", {." + member + " = " + v + "}}";
  };
  if (!a.def || *a.def == "None") return value("TN_TAG_NONE", "i64", "0");
  const std::string& d = *a.def;
  const Type& t = a.type;
  if (t.list) {
    std::string items = number_list(d);
    std::size_t n = items.empty() ? 0 : 1;
    for (char c : items) n += c == ',';
    if (n == 1 && t.fixed > 1) {
      std::string one = items;
      for (int i = 1; i < t.fixed; ++i) items += ", " + one;
      n = t.fixed;
    }
    bool is_int = t.base == "int";
    std::string ctype = is_int ? "int64_t" : t.base == "float" ? "double" : "uint8_t";
    std::string tag = is_int              ? "TN_TAG_I64_LIST"
                      : t.base == "float" ? "TN_TAG_F64_LIST"
                                          : "TN_TAG_BOOL_LIST";
    std::string member = is_int ? "i64s" : t.base == "float" ? "f64s" : "bools";
    return value(tag, member, arrays.name_of(ctype, "list", n ? items : "0"), std::to_string(n));
  }
  if (d == "True" || d == "False") return value("TN_TAG_BOOL", "i64", d == "True" ? "1" : "0");
  if (t.base == "str")
    return value("TN_TAG_STR", "str", '"' + d.substr(1, d.size() - 2) + '"',
                 std::to_string(d.size() - 2));
  if (t.base == "MemoryFormat")
    return value("TN_TAG_I64", "i64", d == "contiguous_format" ? "0" : "1");
  if (t.base == "int" && d == "Mean") return value("TN_TAG_I64", "i64", "1");
  bool real =
      t.base == "float" || d.find_first_of(".e") != std::string::npos || d == "inf" || d == "-inf";
  if (real)
    return value("TN_TAG_F64", "f64", d == "inf" ? "HUGE_VAL" : d == "-inf" ? "-HUGE_VAL" : d);
  return value("TN_TAG_I64", "i64", d);
}

std::string flags_of(const Definition& r) {
  std::string f = "0";
  auto add = [&](bool on, const char* name) {
    if (on) f += std::string(" | ") + name;
  };
  add(r.function, "kOpFunction");
  add(r.method, "kOpMethod");
  add(r.inplace, "kOpInplace");
  add(r.out, "kOpOut");
  add(r.dynamic, "kOpDynamic");
  add(r.random_words > 0, "kOpRandom");
  add(r.decomp || r.complex_decomp || !r.by_code.empty(), "kOpDecomposes");
  add(r.on_primitives, "kOpOnPrimitives");
  add(r.primitive, "kOpPrimitive");
  add(r.cross_device, "kOpCrossDevice");
  add(r.on_demand, "kOpOnDemand");
  add(!r.grads.empty(), "kOpDifferentiable");
  add(r.no_kernel, "kOpNoKernel");
  add(!r.fast_path.empty(), "kOpFastPath");
  add(r.fast_path == "bool", "kOpBoolResult");
  bool lengths = false;
  for (const Arg& a : r.schema.args) lengths |= tenon::core::list_lengths(r.schema, a) != 0;
  add(lengths, "kOpListLengths");
  return f;
}

std::string arguments(const Definition& r, Arrays& arrays) {
  std::string items = "\n";
  for (const Arg& a : r.schema.args) {
    bool mutates = a.mutates;
    for (const std::string& m : r.mutates) mutates |= m == a.name;
    items += "    {" + quoted(a.name) + ", ArgType::" + type_name(a.type) + ", " +
             std::to_string(a.type.fixed) + ", " +
             std::to_string(tenon::core::list_lengths(r.schema, a)) + ", " +
             (mutates ? "true" : "false") + ", " + (a.keyword_only ? "true" : "false") + ", " +
             (a.def ? "true" : "false") + ", " + quoted(a.def.value_or("")) + ", " +
             default_value(a, arrays) + "},\n";
  }
  return arrays.name_of("ArgInfo", "args", items);
}

std::string results_of(const Definition& r, Arrays& arrays) {
  if (r.schema.results.empty()) return "nullptr";
  std::string items;
  for (const Result& x : r.schema.results)
    items += "{" + quoted(x.name) + ", ArgType::" + type_name(x.type) + "}, ";
  return arrays.name_of("ResultInfo", "results", items);
}

std::string entry(const Definition& r, Arrays& arrays, std::string& before) {
  const std::string id = std::to_string(r.index);
  const std::string args = arguments(r, arrays), results = results_of(r, arrays);
  std::string since = "nullptr";
  if (!r.since.empty()) {
    since = "since_" + id;
    before += "const uint8_t " + since + "[][32] = {";
    for (const Schema& s : r.since) before += "{" + digest_of(s, r.version) + "}, ";
    before += "};\n";
  }
  std::string kind = r.composite() ? "Composite" : r.view() ? "View" : "Kernel";
  return "    {" + quoted(r.schema.full()) + ", " + quoted(r.ident()) + ", " +
         quoted(r.schema.text) + ",\n     " + quoted(r.doc) + ", " + quoted(r.family) + ", " +
         quoted(r.samples) + ", " + quoted(r.dtypes) + ", OpKind::" + kind + ",\n     " +
         flags_of(r) + ", " + std::to_string(r.schema.args.size()) + ", " +
         std::to_string(r.schema.results.size()) + ", " + std::to_string(r.random_words) + ", " +
         args + ", " + results + ", " + (r.infer.empty() ? "nullptr" : "&infer_" + r.infer) +
         ",\n     {" + digest_of(r.schema, r.version) + "},\n     " + since + ", " +
         std::to_string(r.since.size()) + ", " +
         (r.scalar_overload.empty() ? "nullptr" : quoted(r.scalar_overload)) +
         ", ByCode::" + (r.by_code.empty() ? "None, 0" : r.by_code + ", " + r.code) + ", " +
         (r.infer == "layout" ? quoted(r.layout) : "nullptr") + ", " + id + ", {}, {}, {}, {}},\n";
}

std::string signature(const Schema& s) {
  std::string out;
  for (std::size_t i = 0; i < s.results.size(); ++i)
    out += std::string(i ? "," : "") + type_code(s.results[i].type);
  out += ";";
  for (std::size_t i = 0; i < s.args.size(); ++i)
    out += std::string(i ? "," : "") + type_code(s.args[i].type);
  return out;
}

}  // namespace

void emit_core_table(const std::vector<Definition>& definitions, const std::string& path) {
  Arrays arrays;
  std::string before, table;
  std::set<std::string> infers;
  for (const Definition& r : definitions) {
    table += entry(r, arrays, before);
    if (!r.infer.empty()) infers.insert(r.infer);
  }
  std::string out = kGenerated;
  out +=
      "#include <cmath>\n\n#include \"tenon/abi/primitives.h\"\n#include "
      "\"tenon/core/infer.h\"\n\nnamespace "
      "tenon::core {\n";
  for (const std::string& i : infers) out += "TENON_INFER(" + i + ");\n";
  out += "namespace {\n" + arrays.text() + before + "}  // namespace\n\n";
  out +=
      "extern const int g_op_count;\nconst int g_op_count = " + std::to_string(definitions.size()) +
      ";\n";
  out += broadcasting_table(definitions);
  out += "constinit Op g_ops[] = {\n" + table + "};\n}  // namespace tenon::core\n";
  write_if_changed(path, out);
}

void emit_op_ids(const std::vector<Definition>& definitions, const std::string& path) {
  std::string out =
      std::string(kGenerated) + "#pragma once\n\nnamespace tenon::core::op_id {\nenum : int {\n";
  for (const Definition& r : definitions)
    out += "  " + r.ident() + " = " + std::to_string(r.index) + ",\n";
  out += "};\n}  // namespace tenon::core::op_id\n";
  write_if_changed(path, out);
}

// A rule that several operators share has the names of all of them, but for a name that stands in
// two places.
void emit_infer_args(const std::vector<Definition>& definitions, const std::string& path) {
  std::map<std::string, std::map<std::string, std::set<std::size_t>>> places;  // rule, name
  for (const Definition& r : definitions) {
    for (std::size_t i = 0; i < r.schema.args.size(); ++i)
      places[r.infer][r.schema.args[i].name].insert(i);
  }
  places.erase("");  // composites
  std::string out = std::string(kGenerated) + "#pragma once\n\nnamespace tenon::core::args {\n";
  for (const auto& [rule, names] : places) {
    std::string members;
    for (const auto& [name, at] : names) {
      if (at.size() == 1 && name != rule)
        members += (members.empty() ? "" : ", ") + name + " = " + std::to_string(*at.begin());
    }
    if (!members.empty()) out += "struct " + rule + " {\n  enum : int { " + members + " };\n};\n";
  }
  write_if_changed(path, out + "}  // namespace tenon::core::args\n");
}

void emit_sdk_headers(const std::vector<Definition>& definitions, const std::string& folder) {
  std::map<std::string, std::string> text;
  for (const Definition& r : definitions) {
    if (r.composite()) continue;
    std::string& t = text[r.schema.name];
    std::string macro = "TN_OP_" + r.ident();
    t += "\n/* " + r.schema.text + " */\n";
    t += "#define " + macro + "_NAME " + quoted(r.schema.full()) + "\n";
    t += "#define " + macro + "_SIGNATURE " + quoted(signature(r.schema)) + "\n";
    t += "#define " + macro + "_DTYPES " + quoted(r.dtypes) + "\n";
    t += "#define " + macro + "_DIGEST {" + digest_of(r.schema, r.version) + "}\n";
  }
  for (const auto& [name, body] : text) {
    std::string guard = "TENON_SDK_OPS_" + name + "_H_";
    write_if_changed(
        folder + "/" + name + ".h",
        std::string("/* Written by opgen from ops; edit the definition instead. */\n") +
            "#ifndef " + guard + "\n#define " + guard + "\n" + body + "\n#endif\n");
  }
}

}  // namespace opgen
