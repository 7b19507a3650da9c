// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch's own primitives (prims::), which programs hold that call them or torch's references.
#include <algorithm>

#include "jit/formats/exported/build.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// The same arguments by place, another name.
const std::map<std::string, const char*>& renamed_primitives() {
  static const std::map<std::string, const char*> kNames = {
      {"cat", "aten::cat"},
      {"clone", "aten::clone"},
      {"collapse", "aten::flatten.using_ints"},
      {"collapse_view", "aten::flatten.using_ints"},
      {"convert_element_type", "aten::to.dtype"},
      {"erf_inv", "aten::erfinv"},
      {"reshape", "aten::reshape"},
      {"rev", "aten::flip"},
      {"scalar_tensor", "aten::scalar_tensor"},
      {"squeeze", "aten::squeeze.dims"},
      {"transpose", "aten::permute"},
      {"view_of_dtype", "aten::view.dtype"},
      {"where", "aten::where.self"},
  };
  return kNames;
}

// Pointwise, and the same in ATen by that name.
bool is_pointwise(const std::string& name) {
  static const std::set<std::string> kNames = {
      "abs",   "acos",       "acosh", "asin",    "asinh",   "atan",        "atan2",  "atanh",
      "ceil",  "cos",        "cosh",  "digamma", "erf",     "erfc",        "exp",    "exp2",
      "expm1", "floor",      "gcd",   "hypot",   "imag",    "isfinite",    "lgamma", "log",
      "log10", "log1p",      "log2",  "maximum", "minimum", "bitwise_not", "neg",    "nextafter",
      "real",  "reciprocal", "round", "rsqrt",   "sign",    "signbit",     "sin",    "sinh",
      "sqrt",  "tan",        "tanh",  "trunc"};
  return kNames.count(name) != 0;
}
bool is_pointwise_of_two(const std::string& name) {
  static const std::set<std::string> kNames = {
      "add", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "fmod",      "ge",
      "gt",  "le",          "lt",         "mul",         "ne", "remainder", "sub"};
  return kNames.count(name) != 0;
}

Value* input_at(const NodeInputs& inputs, std::size_t i, const std::string& name) {
  TENON_CHECK(i < inputs.size() && inputs[i].value, ValueError, name, ": argument ", i,
              " is missing");
  return inputs[i].value;
}

}  // namespace

// broadcast_in_dim(a, shape, dims): dimension i of a is dimension dims[i] of the result.
Value* ExportedBuilder::broadcast_in_dim(const NodeInputs& inputs) {
  const char* name = "prims::broadcast_in_dim";
  Value *v = input_at(inputs, 0, name), *shape = input_at(inputs, 1, name);
  const auto dims = to_constant(input_at(inputs, 2, name)), sizes = to_constant(shape);
  const bool listed = shape->node()->kind() == "prim::ListConstruct";
  TENON_CHECK(dims && dims->isIntList() && (listed || (sizes && sizes->isIntList())), ValueError,
              name, ": the dimensions must be constants");
  const std::vector<int64_t> at = dims->toIntVector();
  const std::size_t n = listed ? shape->node()->inputs().size() : sizes->toIntVector().size();
  for (std::size_t d = 0; d < n; ++d) {
    const auto i = static_cast<int64_t>(d);
    if (std::find(at.begin(), at.end(), i) == at.end())
      v = apply1("aten::unsqueeze", {v, constant(i)});
  }
  return apply1("aten::expand", {v, shape, constant(false)});
}

// A tensor that takes part in promotion by its dtype alone.
Value* ExportedBuilder::vector_of(Value* dtype) {
  Value* none = constant(IValue());
  return apply1("aten::empty.memory_format",
                {constant(std::vector<int64_t>{1}), dtype, none, none, none, none});
}

// Integers are divided towards zero.
Value* ExportedBuilder::divide(Value* a, Value* b) {
  Value* both = vector_of(apply1("aten::result_type.Tensor", {a, b}));
  Node* n = insert("prim::If", {apply1("aten::is_floating_point", {both})}, {});
  for (const bool real : {true, false}) {
    Block* block = n->add_block();
    const Graph::InsertPoint there(*graph_, block);
    block->register_output(
        real ? apply1("aten::div.Tensor", {a, b})
             : apply1("aten::div.Tensor_mode", {a, b, constant(IValue(std::string("trunc")))}));
  }
  return n->add_output(Type::tensor());
}

std::optional<std::vector<Value*>> ExportedBuilder::rewrite_primitive(const std::string& name,
                                                                      const NodeInputs& inputs) {
  const auto named_input = [&](const char* wanted) {
    for (const NodeInput& in : inputs)
      if (in.name == wanted && in.value) return in.value;
    return constant(IValue());
  };
  if (name == "view_of") return std::vector<Value*>{input_at(inputs, 0, name)};
  if (const auto it = renamed_primitives().find(name); it != renamed_primitives().end())
    return call_operator(it->second, inputs);
  if (is_pointwise(name)) return call_operator("aten::" + name, inputs);
  if (is_pointwise_of_two(name)) return call_operator("aten::" + name + ".Tensor", inputs);
  if (name == "sum")
    return apply("aten::sum.dim_IntList", {input_at(inputs, 0, name), input_at(inputs, 1, name),
                                           constant(false), named_input("output_dtype")});
  if (name == "amax" || name == "amin")
    return apply("aten::" + name,
                 {input_at(inputs, 0, name), input_at(inputs, 1, name), constant(false)});
  if (name == "div")
    return std::vector<Value*>{divide(input_at(inputs, 0, name), input_at(inputs, 1, name))};
  if (name == "copy_strided") {  // a copy that lies in memory as the strides say
    Value *from = input_at(inputs, 0, name), *strides = input_at(inputs, 1, name);
    Value *sizes = apply1("aten::size", {from}), *none = constant(IValue());
    Value* made = apply1("aten::new_empty_strided", {from, sizes, strides, none, none, none, none});
    return apply("aten::copy_", {made, from, constant(false)});
  }
  if (name == "broadcast_in_dim") return std::vector<Value*>{broadcast_in_dim(inputs)};
  if (name == "split_dim") {
    Value* sizes = list({input_at(inputs, 2, name), constant(int64_t{-1})}, Type::integer());
    return std::vector<Value*>{apply1(
        "aten::unflatten.int", {input_at(inputs, 0, name), input_at(inputs, 1, name), sizes})};
  }
  if (name == "iota") {
    Value *start = named_input("start"), *step = named_input("step");
    Value* span = apply1("aten::mul.int", {input_at(inputs, 0, name), step});
    Value* end = apply1("aten::add.int", {start, span});
    return std::vector<Value*>{
        apply1("aten::arange.start_step", {start, end, step, named_input("dtype"), constant({}),
                                           named_input("device"), constant({})})};
  }
  return std::nullopt;
}

}  // namespace tenon::jit::formats
