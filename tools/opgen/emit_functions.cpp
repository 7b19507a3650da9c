// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Writes the bodies of a family: box the arguments, record, call core, and the entries by name.
#include <algorithm>

#include "tools/opgen/emit.h"

namespace opgen {
namespace {

std::string forward_args(const Schema& s) {
  std::string out;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (!out.empty()) out += ", ";
    if (options_start(s, i)) {
      out += "options";
      i += 3;
      continue;
    }
    out += s.args[i].name;
  }
  return out;
}

// Locals that a boxed argument borrows from, and the initializer of in[].
void boxing(const Schema& s, std::string& locals, std::string& values) {
  bool of_options = false;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (options_start(s, i)) {
      of_options = true;
      locals += "  const BoxedOptions options_(options);\n";
      values += "options_.dtype, options_.layout, options_.device, options_.pin_memory, ";
      i += 3;
      continue;
    }
    const Arg& a = s.args[i];
    std::string at = std::to_string(i);
    if (a.type.tensor() && a.type.list) {
      locals += "  const BoxedList " + a.name + "_(id, " + at + ", " + a.name + ");\n";
      values += a.name + "_.value(), ";
    } else if (a.type.plain_tensor() && !a.type.optional) {
      values += "box(id, " + at + ", " + a.name + "), ";
    } else if (tenon::core::list_lengths(s, a) & tenon::core::kLengthOne && a.type.fixed > 1) {
      locals += "  const BoxedInts<" + std::to_string(a.type.fixed) + "> " + a.name + "_(" +
                a.name + ");\n";
      values += a.name + "_.value(), ";
    } else if (a.type.base == "Scalar" && a.type.list) {
      locals += "  const BoxedScalars " + a.name + "_(" + a.name + ");\n";
      values += a.name + "_.value(), ";
    } else if (of_options && a.type.base == "MemoryFormat") {
      values += "box(options.memory_format_opt(" + a.name + ")), ";
    } else {
      values += "box(" + a.name + "), ";
    }
  }
}

// A function over others would name one of those, or nobody, as the one that an argument is missing
// of.
std::string checked_args(const Schema& s) {
  std::string out;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (s.args[i].type.plain_tensor() && !s.args[i].type.optional)
      out += "  check_defined(id, " + std::to_string(i) + ", " + s.args[i].name + ");\n";
    if (s.args[i].type.base == "int" && tenon::core::list_lengths(s, s.args[i]) != 0)
      out += "  check_length(id, " + std::to_string(i) + ", " + s.args[i].name + ");\n";
  }
  return out;
}

// Its errors are of those others and name them; this one and the shapes of its tensors are added.
std::string named_errors(const Schema& s) {
  std::string given;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (!s.args[i].type.tensor() || s.args[i].type.optional_items) continue;
    given += (given.empty() ? "{" : ", {") + std::to_string(i) + ", " + s.args[i].name + "}";
  }
  return "  } catch (...) {\n    rethrow_called(id, {" + given + "});\n  }\n";
}

// An entry of a definition's function: OperatorScope reports the call with its arguments. `outs` is
// the array of results, or of what is written.
std::string scope(const char* form, const char* outs) {
  return std::string("  OperatorScope operator_scope(id, core::Form::") + form + ", in, " + outs +
         ");\n";
}

// Locals and the array `in` of the boxed arguments; without any, an array of one none.
std::string boxed_array(const std::string& locals, const std::string& values) {
  return locals + "  const tn_value in[] = {" + (values.empty() ? "none_value()" : values) + "};\n";
}

// What reads codes, which may be made up, before core is called.
bool takes_codes(const Schema& s) {
  return std::any_of(s.args.begin(), s.args.end(), [](const Arg& a) {
    return a.type.base == "Device" || a.type.base == "Layout";
  });
}

// Nothing is recorded of lists that are written.
std::string refused_lists(const Schema& s) {
  std::string out;
  for (const Arg& a : s.args) {
    if (a.mutates && a.type.list)
      out += "  refuse_recorded(id, \"" + a.name + "\", " + a.name + ");\n";
  }
  return out;
}

std::string tracked_args(const std::vector<const Arg*>& inputs) {
  std::string out;
  for (const Arg* a : inputs)
    out += (out.empty() ? "" : " || ") + std::string("tracked(") + a->name + ")";
  return out;
}

std::string record_function(const Definition& r, const NodePlan& plan) {
  std::string node = node_name(r);
  std::string out = "core::Ref<" + node + "> record_" + r.ident() + "(" + params(r.schema, false) +
                    ", [[maybe_unused]] bool inplace) {\n";
  out += "  auto node = make_node<" + node + ">();\n";
  out += "  node->n_grads = " + std::to_string(r.schema.results.size()) + ";\n";
  bool list = std::any_of(plan.inputs.begin(), plan.inputs.end(),
                          [](const Arg* a) { return a->type.list; });
  if (list) {
    std::string total;
    for (const Arg* a : plan.inputs)
      total += (total.empty() ? "" : " + ") +
               (a->type.list ? "static_cast<uint32_t>(" + a->name + ".size())" : std::string("1"));
    out += "  node->make_edges(" + total + ");\n";
  }
  std::string at = "0";
  for (const Arg* a : plan.inputs) {
    if (a->type.list) {
      out += "  node->n_" + a->name + "_ = static_cast<uint32_t>(" + a->name + ".size());\n";
      out += "  connect_list(*node, " + at + ", " + a->name + ");\n";
      at += " + node->n_" + a->name + "_";
    } else {
      out += "  connect(*node, " + at + ", " + a->name + ");\n";
      at = at == "0"                                      ? "1"
           : std::all_of(at.begin(), at.end(), ::isdigit) ? std::to_string(std::stoi(at) + 1)
                                                          : at + " + 1";
    }
  }
  for (const Saved& s : plan.saved) {
    if (s.kind == Saved::OutTensor) continue;
    if (s.kind == Saved::Geometry || s.kind == Saved::ListGeometry ||
        s.kind == Saved::StridedGeometry) {
      out += "  node->" + s.name + (s.kind == Saved::StridedGeometry ? "_strided" : "_geometry") +
             ".save(" + s.name + ");\n";
      continue;
    }
    if (s.kind == Saved::Value) {
      out +=
          "  node->" + s.name + "_ = " +
          (s.arg->type.base == "str" && s.arg->type.optional ? "own_str(" + s.name + ")" : s.name) +
          ";\n";
      continue;
    }
    std::string condition;
    for (std::size_t k = 0; k < r.grads.size(); ++k) {
      // Which formulas use it decides when it is kept: nothing is saved for a gradient that nobody
      // asks for.
      if (!uses(plan.formulas[k], s.name)) continue;
      for (const std::string& t : r.grads[k].targets)
        condition += (condition.empty() ? "" : " || ") + std::string("tracked(") + t + ")";
    }
    bool self = !r.schema.args.empty() && s.arg == &r.schema.args[0] && r.inplace;
    out += "  if (" + condition + ") node->" + s.name + "_.save(" +
           (self ? "inplace ? copy_before_write(" + s.name + ") : " + s.name : s.name) +
           ", *node);\n";
  }
  return out + "  return node;\n}\n\n";
}

std::string finish(const NodePlan& plan, const char* indent, bool inplace) {
  std::string out;
  for (const Saved& s : plan.saved) {
    if (s.kind != Saved::OutTensor) continue;
    std::string value = inplace ? "self" : "r" + std::to_string(s.result);
    out += std::string(indent) + "node->" + s.name + "_.save_output(" + value + ", " +
           std::to_string(s.result) + ");\n";
  }
  return out;
}

// The same call under at::autocast, of arguments cast by the operator's policy; a function of its
// own, as its locals would cost the call where it is off.
struct CastCall {
  std::string function, test;  // before the call's function, and at its begin
};
CastCall cast_call(const Definition& r) {
  if (r.autocast[0].empty()) return {};
  const Schema& s = r.schema;
  const std::string head =
      "TENON_COLD " + cpp_result_type(s) + " cast_" + r.ident() + "(" + params(s, false) + ")";
  std::string policy =
      "op_id::" + r.ident() + ", CastPolicy::" + r.autocast[0] + ", CastPolicy::" + r.autocast[1];
  std::string args;
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    const bool options = options_start(s, i), tensor = !options && s.args[i].type.tensor();
    const std::string name = options ? "options" : s.args[i].name;
    if (tensor) policy += ", " + name;
    args += (args.empty() ? "" : ", ") + (tensor ? "cast(" + name + ")" : name);
    if (options) i += 3;
  }
  return {"static inline " + cpp_result_type(s) + " call_" + r.ident() + "(" + params(s, false) +
              ");\n" + head + " {\n  const Autocast cast(" + policy + ");\n  return call_" +
              r.ident() + "(" + args + ");\n}\n",
          "  if (TENON_UNLIKELY(t_mode & kAutocast) && is_cast(" + policy + "))\n    return cast_" +
              r.ident() + "(" + forward_args(s) + ");\n"};
}

std::string functional(const Definition& r, const NodePlan& plan) {
  const Schema& s = r.schema;
  std::string locals, values;
  boxing(s, locals, values);
  std::size_t n = s.results.size();
  const CastCall cast = cast_call(r);
  std::string out = cast.function + "static inline " + cpp_result_type(s) + " call_" + r.ident() +
                    "(" + params(s, false) + ") {\n" + cast.test;
  const bool codes = takes_codes(s);
  out += "  constexpr int id = op_id::" + r.ident() + ";\n";
  out += (codes ? "  try {\n" : "") + boxed_array(locals, values) + refused_lists(s);
  if (n == 0)
    return out + scope("Functional", "nullptr") +
           "  core::call(core::g_ops[id], in, nullptr);\n}\n";
  out += "  core::TensorImpl* outs[" + std::to_string(n) + "];\n" + scope("Functional", "outs");
  bool grad = !r.grads.empty();
  if (grad) {
    // A view of an inference tensor is one, too.
    const std::string normal = r.view() ? " && !" + s.args[0].name + ".is_inference()" : "";
    out += "  core::Ref<" + node_name(r) + "> node;\n  if (recording() && (" +
           tracked_args(plan.inputs) + ")" + normal + ") node = record_" + r.ident() + "(" +
           forward_args(s) + ", false);\n";
  }
  out += "  core::call(core::g_ops[id], in, outs);\n";
  for (std::size_t i = 0; i < n; ++i)
    out += "  Tensor r" + std::to_string(i) + " = adopt" + (r.view() ? "_view" : "") + "(outs[" +
           std::to_string(i) + "]" + (r.view() ? ", " + s.args[0].name : "") + ");\n";
  if (r.view() && !r.grads.empty()) out += "  set_view(r0, " + s.args[0].name + ");\n";
  if (grad) {
    out += "  if (node) {\n";
    for (std::size_t i = 0; i < n; ++i) {
      if (!is_differentiable(plan, i, n)) continue;
      out += "    set_history(r" + std::to_string(i) + ", *node, " + std::to_string(i) + ");\n";
    }
    out += finish(plan, "    ", false) + "  }\n";
  }
  const std::string end = (codes ? named_errors(s) : std::string()) + "}\n";
  if (n == 1) return out + "  return r0;\n" + end;
  out += "  return {";
  for (std::size_t i = 0; i < n; ++i)
    out += (i ? ", " : "") + std::string("std::move(r") + std::to_string(i) + ")";
  return out + "};\n" + end;
}

std::string inplace_form(const Definition& r, const NodePlan& plan) {
  const Schema& s = r.schema;
  const std::string self = s.args[0].name;
  std::string locals, values;
  boxing(s, locals, values);
  std::string out = "static inline void inplace_" + r.ident() + "(" + params(s, false) +
                    ") {\n  constexpr int id = op_id::" + r.ident() + ";\n";
  const std::string begin = boxed_array(locals, values) + "  core::TensorImpl* outs[] = {" + self +
                            ".unsafeGetTensorImpl()};\n" + scope("Inplace", "outs");
  if (r.composite()) {
    out += "  const auto run = [&] {\n  try {\n" + checked_args(s);
    // What the parts save, for the gradient of whichever argument, must outlive the write: they see
    // a copy of self.
    std::vector<const Arg*> tensors;
    for (const Arg& a : s.args) {
      if (a.type.tensor()) tensors.push_back(&a);
    }
    return out +
           "  const Today today;\n  write_inplace(id, self, [&](const Tensor& self) { return "
           "composite::" +
           r.ident() + "(" + forward_args(s) + "); }(recording() && (" + tracked_args(tensors) +
           ") ? self.clone() : self));\n" + named_errors(s) +
           "  };\n  if (TENON_LIKELY(!observed())) return run();\n" + begin + "  run();\n}\n";
  }
  out += begin + "  check_inplace(id, self);\n";
  if (s.args[0].mutates) out += "  refuse_recorded(id, \"self\", {self});\n";
  bool grad = !r.grads.empty();
  if (grad) {
    out += "  core::Ref<" + node_name(r) + "> node;\n  if (recording() && (" +
           tracked_args(plan.inputs) + ")) node = record_" + r.ident() + "(" + forward_args(s) +
           ", true);\n";
  }
  out += "  core::call(core::g_ops[id], in, outs, core::Form::Inplace);\n";
  if (grad)
    out += "  if (node) {\n    rebase_history(" + self + ", node);\n" + finish(plan, "    ", true) +
           "  }\n";
  else if (r.infer == "pointwise_bool")
    out += "  zero_history(" + self + ");\n";
  else if (!s.args[0].mutates && r.dtypes.find("integral") != 0)
    throw DefinitionError(r.file, r.line,
                          "a definition with an in-place form for floats needs a gradient");
  return out + "}\n";
}

// The function of a composite, and what observes it: results may be numbers.
std::string composite_call(const Definition& r) {
  const Schema& s = r.schema;
  const std::string id = r.ident(), head = "static inline " + cpp_result_type(s) + " ",
                    takes = "(" + params(s, false) + ") {\n", gives = "(" + forward_args(s) + ")";
  std::string locals, values;
  boxing(s, locals, values);
  const std::string run =
      head + "run_" + id + takes + "  [[maybe_unused]] constexpr int id = " + "op_id::" + id +
      ";\n  try {\n" + checked_args(s) + "  const Today today;\n  return composite::" + id + gives +
      ";\n" + named_errors(s) + "}\n";
  const CastCall cast = cast_call(r);
  return run + cast.function + head + "call_" + id + takes + cast.test +
         "  if (TENON_LIKELY(!observed())) return run_" + id + gives +
         ";\n  [[maybe_unused]] constexpr int id = op_id::" + id + ";\n" +
         boxed_array(locals, values) + "  return observe_composite(id, in, [&] { return run_" + id +
         gives + "; });\n}\n";
}

std::string out_form(const Definition& r, const NodePlan&) {
  const Schema& s = r.schema;
  std::size_t n = s.results.size();
  std::string outs, list, result = "Tensor&", back = "out";
  if (n > 1) {
    result = "std::tuple<";
    back = "{";
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::string name = n > 1 ? "out" + std::to_string(i) : "out";
    outs += "Tensor& " + name + ", ";
    list += (i ? ", " : "") +
            (r.composite() ? name + ".unsafeGetTensorImpl()" : "out_impl(" + name + ")");
    if (n > 1) {
      result += (i ? ", " : "") + std::string("Tensor&");
      back += (i ? ", " : "") + name;
    }
  }
  if (n > 1) {
    result += ">";
    back += "}";
  }
  std::string inputs = params(s, false), given = "TensorOptions& options";
  const std::size_t options = inputs.find(given);
  if (options != std::string::npos) inputs.replace(options, given.size(), "TensorOptions& given");
  std::string out = result + " " + s.name + "_out(" + outs + inputs +
                    ") {\n  constexpr int id = op_id::" + r.ident() + ";\n";
  if (options != std::string::npos)
    out += "  const TensorOptions options = options_of_out(given, out);\n";
  std::string refuse;
  for (const Arg& a : s.args) {
    if (a.type.tensor()) refuse += "  refuse_tracked(id, \"" + a.name + "\", " + a.name + ");\n";
  }
  if (!era_out(r, era_rule(r)).empty()) {
    out += era_test(era_rule(r)) + " return era04_out_" + r.ident() + "(out, " + forward_args(s) +
           ");\n";
  }
  out += refuse;
  for (std::size_t i = 0; i < n; ++i)
    out += "  check_out(id, \"out\", " + (n > 1 ? "out" + std::to_string(i) : std::string("out")) +
           ");\n";
  std::string locals, values;
  boxing(s, locals, values);
  const std::string outputs = boxed_array(locals, values) + "  core::TensorImpl* outs[] = {" +
                              list + "};\n" + scope("Out", "outs");
  if (r.composite()) {
    out += "  const auto run = [&] {\n  try {\n" + checked_args(s) +
           "  const Today today;\n  auto computed = composite::" + r.ident() + "(" +
           forward_args(s) + ");\n";
    for (std::size_t i = 0; i < n; ++i) {
      std::string k = std::to_string(i);
      out += n > 1 ? "  write_out(id, out" + k + ", std::get<" + k + ">(computed));\n"
                   : "  write_out(id, out, computed);\n";
    }
    return out + named_errors(s) +
           "  };\n  if (TENON_LIKELY(!observed())) {\n    run();\n  } else {\n" + outputs +
           "  run();\n  }\n  return " + back + ";\n}\n";
  }
  out += outputs;
  return out + "  core::call(core::g_ops[id], in, outs, core::Form::Out);\n  return " + back +
         ";\n}\n";
}

std::string era_forms(const Definition& r, const std::string& rule) {
  std::string out;
  if (r.function || r.method) out += era_function(r, rule);
  if (r.inplace) out += era_inplace(r, rule);
  if (r.out) out += era_out(r, rule);
  return out;
}

std::string unboxed(const Schema& s, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < s.args.size(); ++i) {
    if (!out.empty()) out += ", ";
    std::string at = std::to_string(i);
    if (options_start(s, i)) {
      out += "unbox_options(in + " + at + ")";
      i += 3;
      continue;
    }
    const Type& t = s.args[i].type;
    if (t.base == "bool" && t.list && t.fixed)
      out += "unbox_bools<" + std::to_string(t.fixed) + ">(in[" + at + "])";
    else
      out += "unbox_" + type_name(t) + "(in[" + at + "])";
  }
  return out;
}

// A call whose results, if it has any, become those of a boxed one.
std::string put(const Schema& s, const std::string& call) {
  return s.results.empty() ? "(void)out;\n  " + call + ";" : "put(out, " + call + ");";
}

std::string by_name(const Definition& r, std::string& entries) {
  const Schema& s = r.schema;
  std::string id = r.ident(), out, f = "nullptr", i = "nullptr", o = "nullptr", d = "nullptr",
              c = "nullptr";
  if (r.function || r.method || r.named) {
    f = "boxed_" + id;
    out += "void " + f + "(const tn_value* in, core::OwnedValue* out) {\n  " +
           put(s, "call_" + id + "(" + unboxed(s, 0) + ")") + "\n}\n";
  }
  if (r.inplace) {
    i = "boxed_inplace_" + id;
    std::string rest = unboxed(s, 1);
    out += "void " + i +
           "(const tn_value* in, core::OwnedValue* out) {\n  Tensor self = unbox_Tensor(in[0]);\n  "
           "inplace_" +
           id + "(self" + (rest.empty() ? "" : ", " + rest) + ");\n  put(out, self);\n}\n";
  }
  if (r.out) {
    o = "boxed_out_" + id;
    std::size_t n = s.results.size();
    std::string names, make;
    for (std::size_t k = 0; k < n; ++k) {
      std::string name = "out" + std::to_string(k);
      make += "  Tensor " + name + "(outs[" + std::to_string(k) + "]);\n";
      names += name + ", ";
    }
    out += "void " + o + "(const tn_value* in, const core::Impl* outs) {\n" + make + "  " + s.name +
           "_out(" + names + unboxed(s, 0) + ");\n}\n";
  }
  const auto decomposition = [&](const std::string& name) {
    const std::string boxed = "boxed_decomp_" + name;
    out += "void " + boxed +
           "(const tn_value* in, core::OwnedValue* out) {\n  NoGradGuard no_grad;\n  const Today "
           "today;\n  " +
           put(s, "decomp::" + name + "(" + unboxed(s, 0) + ")") + "\n}\n";
    return boxed;
  };
  if (r.decomp) d = decomposition(id);
  if (r.complex_decomp) c = decomposition("complex_" + id);
  entries += "    {op_id::" + id + ", " + f + ", " + i + ", " + o + ", " + d + ", " + c + "},\n";
  return out;
}

std::string bodies(const std::vector<Definition>& definitions, const std::string& family) {
  std::string out;
  for (const Definition& r : definitions) {
    if (r.family != family || r.body.empty()) continue;
    out += cpp_result_type(r.schema) + " " + r.ident() + "(" + params(r.schema, false) +
           ") {\n  (void)std::forward_as_tuple(" + forward_args(r.schema) +
           ");  // a body need not use all\n  return " + r.body + ";\n}\n";
  }
  return out.empty() ? "" : "namespace composite {\n\n" + out + "\n}  // namespace composite\n";
}

}  // namespace

void emit_functions(const std::vector<Definition>& definitions, const std::string& family,
                    const std::string& path) {
  std::string out =
      std::string(kGenerated) + "#include \"nodes_" + family +
      ".gen.h\"\n#include \"op_ids.gen.h\"\n#include \"tenon/call/autocast.h\"\n#include "
      "\"tenon/call/era04.h\"\n#include "
      "\"tenon/ops/composite/components.h\"\n#include \"tenon/ops/composite.gen.h\"\n\n";
  out += "namespace tenon {\nusing namespace autograd;\nnamespace op_id = core::op_id;\n" +
         bodies(definitions, family) + "namespace {\n\n";
  std::string api = "}  // namespace\n\n", boxed, entries;
  for (const Definition& r : definitions) {
    if (r.family != family) continue;
    NodePlan plan = plan_node(r);
    if (!r.grads.empty()) out += record_function(r, plan);
    const Schema& s = r.schema;
    std::string callee = "call_" + r.ident();
    if (r.composite()) {
      out += composite_call(r);
    } else if (r.function || r.method || r.named) {
      out += functional(r, plan);
    }
    if (r.inplace) out += inplace_form(r, plan);
    const std::string rule = era_rule(r);
    if (!rule.empty()) out += era_forms(r, rule);
    const auto era = [&](const std::string& form, const std::string& args) {
      return rule.empty()
                 ? ""
                 : era_test(rule) + " return era04_" + form + r.ident() + "(" + args + ");\n";
    };
    // What a factory makes has no history; that it is to have one from here on is said last. The
    // schema knows nothing of it, and a definition that does not make its result refuses it by
    // itself.
    const bool has_options = params(s, false).find("TensorOptions& options") != std::string::npos;
    const auto called = [&](const std::string& args) {
      const std::string call = callee + "(" + args + ")";
      return "  return " + (has_options ? "with_requires_grad(" + call + ", options)" : call) +
             ";\n}\n";
    };
    if (r.function)
      api += cpp_result_type(s) + " " + s.name + "(" + params(s, false) + ") {\n" +
             era("", forward_args(s)) + called(forward_args(s));
    std::string self_args = forward_args(s);
    if (r.method || r.inplace) self_args = "*this" + self_args.substr(s.args[0].name.size());
    if (r.method)
      api += cpp_result_type(s) + " Tensor::" + s.name + "(" + params(s, false, true) +
             ") const {\n" + era("", self_args) + called(self_args);
    if (r.inplace) {
      std::string rest = params(s, false, true);
      const auto write = [&](const std::string& args) {
        return (rule.empty() ? ""
                             : era_test(rule) + "\n    era04_inplace_" + r.ident() + "(" + args +
                                   ");\n  else\n  ") +
               "  inplace_" + r.ident() + "(" + args + ");\n";
      };
      api += "Tensor& Tensor::" + s.name + "_(" + rest + ") const {\n" + write(self_args) +
             "  return const_cast<Tensor&>(*this);\n}\n";
      if (r.function)
        api += "Tensor& " + s.name + "_(Tensor& self" + (rest.empty() ? "" : ", " + rest) +
               ") {\n" + write(forward_args(s)) + "  return self;\n}\n";
    }
    if (r.out) api += out_form(r, plan);
    boxed += by_name(r, entries);
  }
  out += api + "\nnamespace {\n" + boxed + "const OperatorEntry entries[] = {\n" + entries +
         "};\nconst OperatorRegistration registration(entries, sizeof entries / sizeof "
         "entries[0]);\n}  "
         "// namespace\n";
  write_if_changed(path, out + "}  // namespace tenon\n");
}

}  // namespace opgen
