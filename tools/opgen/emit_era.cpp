// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes what public functions do under compat::Era04 and the switches of 0.2: adapt the arguments,
// then call the same definition by today's rules.
#include "tools/opgen/emit.h"

namespace opgen {
namespace {

// Whether argument i takes part in promotion, as the definition's infer function has it.
bool is_operand(const Definition& r, std::size_t i) {
  const Type& t = r.schema.args[i].type;
  const bool where = r.infer == "pointwise_where";
  if (where && i == 0) return false;
  if (t.tensor()) return true;
  if (t.base != "Scalar" || t.list) return false;
  if (where || r.infer == "pointwise_clamp") return true;
  return i < 2 && r.infer != "pointwise_same";
}

std::size_t count_operands(const Definition& r) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < r.schema.args.size(); ++i) n += is_operand(r, i);
  return n;
}

// The arguments of the inner call, wrapped by the rule; `from` leaves out those before it.
std::string adapted(const Definition& r, const std::string& rule, std::size_t from) {
  const Schema& s = r.schema;
  std::string out;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const bool options = options_start(s, i);
    std::string arg =
        options ? (rule == "float" ? "float_unless_given(options)" : "options") : s.args[i].name;
    if (!options && rule == "index" && arg == "indices") arg = "bool_masks(indices)";
    if (!options && rule != "float" && rule != "index" && is_operand(r, i)) arg = "o(" + arg + ")";
    if (i >= from) out += (out.empty() ? "" : ", ") + arg;
    if (options) i += 3;
  }
  return out;
}

std::string head(const Definition& r, const std::string& rule) {
  std::string out = "  const Today today;\n", items;
  if (rule == "float" || rule == "index") return out;
  const Schema& s = r.schema;
  const std::string id = "op_id::" + r.ident();
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (!s.args[i].type.tensor() || !is_operand(r, i)) continue;
    const std::string at = std::to_string(i);
    if (s.args[i].type.list)
      return out + "  const Operands o(today, " + id + ", " + at + ", " + s.args[i].name + ");\n";
    items += (items.empty() ? "{" : ", {") + at + ", operand(" + s.args[i].name + ")}";
  }
  return out + "  const Operands o(today, " + id + ", {" + items + "});\n";
}

// Integers divide towards zero.
std::string truncated(const Definition& r) {
  return "tenon::_div_trunc(" + adapted(r, "truncate", 0) + ")";
}

}  // namespace

std::string era_test(const std::string& rule) {
  const bool by_operands = rule != "float" && rule != "index";
  return std::string("  if (TENON_UNLIKELY(t_mode & ") + (by_operands ? "kOldOperands" : "kEra04") +
         "))";
}

std::string era_rule(const Definition& r) {
  if (!r.era04.empty()) return r.era04;
  if (r.family != "pointwise" && r.family != "compare") return "";
  if (r.infer == "pointwise_bool") return "mask";
  return r.infer.rfind("pointwise", 0) == 0 && count_operands(r) > 1 ? "operands" : "";
}

std::string era_function(const Definition& r, const std::string& rule) {
  const Schema& s = r.schema;
  std::string out =
      "TENON_COLD " + cpp_result_type(s) + " era04_" + r.ident() + "(" + params(s, false) + ") {\n";
  out += head(r, rule);
  if (rule == "truncate") out += "  if (o.truncates()) return " + truncated(r) + ";\n";
  std::string call = r.function ? "tenon::" + s.name + "(" + adapted(r, rule, 0) + ")"
                                : s.args[0].name + "." + s.name + "(" + adapted(r, rule, 1) + ")";
  return out + "  return " + (rule == "mask" ? "o.mask(" + call + ")" : call) + ";\n}\n";
}

std::string era_inplace(const Definition& r, const std::string& rule) {
  const Schema& s = r.schema;
  std::string out = "TENON_COLD void era04_inplace_" + r.ident() + "(" + params(s, false) +
                    ") {\n" + head(r, rule);
  if (rule == "truncate") {
    out += "  if (o.truncates()) return write_inplace(op_id::" + r.ident() + ", self, " +
           truncated(r) + ");\n";
  }
  const std::string rest = adapted(r, rule, 1);
  return out + "  inplace_" + r.ident() + "(self" + (rest.empty() ? "" : ", " + rest) + ");\n}\n";
}

std::string era_out(const Definition& r, const std::string& rule) {
  if (rule.empty() || rule == "float" || rule == "index") return "";
  std::string out = "TENON_COLD Tensor& era04_out_" + r.ident() + "(Tensor& out, " +
                    params(r.schema, false) + ") {\n" + head(r, rule);
  if (rule == "truncate") {
    out += "  if (o.truncates()) {\n    write_out(op_id::" + r.ident() + ", out, " + truncated(r) +
           ");\n    return out;\n  }\n";
  }
  return out + "  return tenon::" + r.schema.name + "_out(out, " + adapted(r, rule, 0) + ");\n}\n";
}

}  // namespace opgen
