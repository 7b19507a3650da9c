// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that exporting puts into programs and that Tenon has under another name, or as a part
// of another operator.
#include <algorithm>

#include "jit/formats/exported/build.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// The same arguments, another name. What torch made a view of may lie otherwise here (the result of
// attention, for example): then it is copied.
const std::map<std::string, const char*>& renamed_operators() {
  static const std::map<std::string, const char*> kNames = {
      {"aten::lift_fresh_copy", "aten::clone"},
      {"aten::detach_", "aten::detach"},
      {"aten::where", "aten::nonzero_numpy"},
      {"aten::t_", "aten::t"},
      {"aten::squeeze_", "aten::squeeze"},
      {"aten::squeeze_.dim", "aten::squeeze.dim"},
      {"aten::squeeze_.dims", "aten::squeeze.dims"},
      {"aten::unsqueeze_", "aten::unsqueeze"},
      {"aten::transpose_", "aten::transpose.int"},
      {"aten::view", "aten::reshape"},
      {"aten::_unsafe_view", "aten::reshape"},
      {"aten::_reshape_copy", "aten::reshape"},
      {"aten::_unsafe_index.Tensor", "aten::index.Tensor"},
      {"aten::_unsafe_index_put", "aten::index_put"},
      {"aten::__and__.Tensor", "aten::bitwise_and.Tensor"},
      {"aten::__and__.Scalar", "aten::bitwise_and.Scalar"},
      {"aten::__or__.Tensor", "aten::bitwise_or.Tensor"},
      {"aten::__or__.Scalar", "aten::bitwise_or.Scalar"},
      {"aten::__xor__.Tensor", "aten::bitwise_xor.Tensor"},
      {"aten::__xor__.Scalar", "aten::bitwise_xor.Scalar"},
      {"aten::__iand__.Tensor", "aten::bitwise_and_.Tensor"},
      {"aten::__ior__.Tensor", "aten::bitwise_or_.Tensor"},
      {"aten::__ixor__.Tensor", "aten::bitwise_xor_.Tensor"},
      {"aten::__iand__.Scalar", "aten::bitwise_and_.Scalar"},
      {"aten::__ior__.Scalar", "aten::bitwise_or_.Scalar"},
      {"aten::__ixor__.Scalar", "aten::bitwise_xor_.Scalar"},
      {"aten::__lshift__.Tensor", "aten::bitwise_left_shift.Tensor"},
      {"aten::__lshift__.Scalar", "aten::bitwise_left_shift.Tensor_Scalar"},
      {"aten::__rshift__.Tensor", "aten::bitwise_right_shift.Tensor"},
      {"aten::__rshift__.Scalar", "aten::bitwise_right_shift.Tensor_Scalar"},
      {"aten::_embedding_bag_forward_only", "aten::_embedding_bag"},
      {"aten::_conj_physical", "aten::conj_physical"},
      {"aten::_reshape_alias", "aten::as_strided"},
      {"aten::_cdist_forward", "aten::cdist"},
      {"aten::_sparse_addmm", "aten::addmm"},
  };
  return kNames;
}

// What states a fact of the exported program, or gives the value as it is.
bool is_statement(const std::string& name) {
  return name == "aten::_assert_tensor_metadata" || name == "aten::_print" ||
         name == "torch::_check";
}
bool is_identity(const std::string& name) {
  return name == "aten::lift_fresh" || name == "aten::lift" || name == "aten::alias_";
}

// "aten::select_copy.int" -> "aten::select.int", where Tenon has only the view. Else empty.
std::string copied_view(const std::string& name) {
  constexpr std::string_view kEnd = "_copy";
  const std::size_t dot = std::min(name.find('.'), name.size());
  if (dot < kEnd.size() || name.compare(dot - kEnd.size(), kEnd.size(), kEnd) != 0) return "";
  if (!operators_named(name.substr(0, dot)).empty()) return "";
  const std::string view = name.substr(0, dot - kEnd.size()) + name.substr(dot);
  return find_operator(view) ? view : "";
}

// Kernels of attention, by their own names.
bool is_attention(const std::string& name) {
  static const std::set<std::string> kNames = {
      "aten::_scaled_dot_product_flash_attention",
      "aten::_scaled_dot_product_flash_attention_for_cpu",
      "aten::_scaled_dot_product_efficient_attention",
      "aten::_scaled_dot_product_cudnn_attention",
      "aten::_scaled_dot_product_fused_attention_overrideable",
      "aten::_scaled_dot_product_attention_math",
      "aten::_scaled_dot_product_attention_math_for_mps"};
  return kNames.count(name) != 0;
}

Value* input_named(const NodeInputs& inputs, const char* name) {
  for (const NodeInput& in : inputs)
    if (in.name == name) return in.value;
  return nullptr;
}

}  // namespace

// Whether the program reads a result of the node at hand.
bool ExportedBuilder::uses_output(std::size_t i) {
  const Json& outputs = list_of(member(*node_, "outputs"), "outputs");
  if (i >= outputs.size()) return false;
  if (used_.empty()) {
    add_used_names(graph_json_, used_);
    add_names(member(member(module_, "signature"), "output_specs"), used_);
  }
  return mentions(outputs[i], used_);
}

// A linear layer and the cross entropy of its results, which torch computes in chunks of rows.
Value* ExportedBuilder::chunked_cross_entropy(const std::string& name, const NodeInputs& inputs) {
  for (std::size_t i = 1; i < 4; ++i)
    TENON_CHECK(!uses_output(i), NotImplementedError, name,
                ": its gradients are not supported as results");
  const auto given = [&](const char* key, IValue otherwise = {}) {
    Value* v = input_named(inputs, key);
    return v ? v : constant(std::move(otherwise));
  };
  const auto reduction = to_constant(given("reduction", IValue(std::string("none"))));
  TENON_CHECK(reduction && reduction->isString(), ValueError, name, ": reduction is not a text");
  const std::string& how = reduction->toStringRef();
  const int64_t code = how == "mean" ? 1 : how == "sum" ? 2 : 0;
  // Products and sums of 16-bit floats are in the dtype that the program names.
  Value* wide = given("acc_dtype");
  const auto widened = [&](Value* v) {
    const bool plain = wide->type()->is(TypeKind::None) || v->type()->is(TypeKind::None);
    return plain ? v : apply1("exported::autocast", {v, wide});
  };
  Value* x = given("input");
  Value* y = apply1("aten::linear",
                    {widened(x), widened(given("linear_weight")), widened(given("linear_bias"))});
  Value* loss =
      apply1("aten::cross_entropy_loss",
             {y, given("target"), widened(given("weight")), constant(code),
              given("ignore_index", IValue(int64_t{-100})), given("label_smoothing", IValue(0.0))});
  return apply1("aten::type_as", {loss, x});
}

// The nodes instead of `full_name`, or nothing where it is used as it is.
std::optional<std::vector<Value*>> ExportedBuilder::rewrite(const std::string& full_name,
                                                            const NodeInputs& inputs) {
  const auto given = [&](const char* name, IValue otherwise = {}) {
    Value* v = input_named(inputs, name);
    return v ? v : constant(std::move(otherwise));
  };
  const auto needed = [&](const char* name) {
    Value* v = input_named(inputs, name);
    TENON_CHECK(v, ValueError, full_name, ": argument '", name, "' is missing");
    return v;
  };
  if (is_statement(full_name)) return std::vector<Value*>{};
  if (full_name.compare(0, 7, "prims::") == 0)
    return rewrite_primitive(full_name.substr(7), inputs);
  if (is_identity(full_name) && !inputs.empty()) return std::vector<Value*>{inputs[0].value};
  if (const auto it = renamed_operators().find(full_name); it != renamed_operators().end())
    return call_operator(it->second, inputs);
  if (const std::string view = copied_view(full_name); !view.empty()) {
    const std::vector<Value*> made = call_operator(view, inputs);
    if (made.size() != 1 || !made[0]->type()->is(TypeKind::Tensor)) return made;
    return apply("aten::clone", {made[0], constant({})});
  }
  if (full_name == "aten::empty_permuted")
    return std::vector<Value*>{apply1("aten::empty.memory_format",
                                      {needed("size"), given("dtype"), given("layout"),
                                       given("device"), given("pin_memory"), constant(IValue())})};
  if (full_name == "aten::_native_batch_norm_legit_no_training") {
    Value* y =
        apply1("aten::batch_norm", {needed("input"), given("weight"), given("bias"),
                                    needed("running_mean"), needed("running_var"), constant(false),
                                    needed("momentum"), needed("eps"), constant(false)});
    Value* none = apply1("aten::new_empty", {y, constant(std::vector<int64_t>{0}), constant({}),
                                             constant({}), constant({}), constant({})});
    return std::vector<Value*>{y, none, none};
  }
  if (full_name == "aten::_native_batch_norm_legit" ||
      full_name == "aten::_native_batch_norm_legit.no_stats")
    return apply("aten::native_batch_norm",
                 {needed("input"), given("weight"), given("bias"), given("running_mean"),
                  given("running_var"), needed("training"), needed("momentum"), needed("eps")});
  if (full_name == "aten::_native_batch_norm_legit_functional") {
    Value* no_format = constant({});
    Value* mean = apply1("aten::clone", {needed("running_mean"), no_format});
    Value* var = apply1("aten::clone", {needed("running_var"), no_format});
    std::vector<Value*> made = apply("aten::native_batch_norm",
                                     {needed("input"), given("weight"), given("bias"), mean, var,
                                      needed("training"), needed("momentum"), needed("eps")});
    made.push_back(mean);
    made.push_back(var);
    return made;
  }
  if (full_name == "aten::rrelu_with_noise_functional") {
    Value* noise = apply1("aten::clone", {needed("noise"), constant({})});
    Value* y =
        apply1("aten::rrelu_with_noise", {needed("self"), noise, given("lower", IValue(0.125)),
                                          given("upper", IValue(0.3333333333333333)),
                                          given("training", IValue(false)), given("generator")});
    return std::vector<Value*>{y, noise};
  }
  if (is_attention(full_name) && !uses_output(1)) {
    Value* mask = given("attn_mask");
    if (Value* bias = input_named(inputs, "attn_bias")) mask = bias;
    Value* y = apply1(
        "aten::scaled_dot_product_attention",
        {needed("query"), needed("key"), needed("value"), mask, given("dropout_p", IValue(0.0)),
         given("is_causal", IValue(false)), given("scale"), given("enable_gqa", IValue(false))});
    // The others serve the gradient, which Tenon records on its own.
    std::vector<Value*> out(9, y);
    return out;
  }
  if (full_name.compare(0, 42, "torch_nn::_linear_cross_entropy_batch_chun") == 0)
    return std::vector<Value*>(4, chunked_cross_entropy(full_name, inputs));
  return std::nullopt;
}

}  // namespace tenon::jit::formats
