// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The arguments of a node, weights, and the entries of the archive.
#include <algorithm>
#include <cmath>

#include "jit/formats/exported/writer/program_writer.h"
#include "tenon/autograd/mode.h"
#include "tenon/core/op.h"
#include "tenon/jit/pickle.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

using core::ArgType;

Json real(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return v;
}

Json list_argument(const std::vector<IValue>& items) {
  bool real_numbers = false, booleans = !items.empty();
  for (const IValue& v : items) {
    real_numbers = real_numbers || v.isDouble();
    booleans = booleans && v.isBool();
  }
  Json values = Json::array();
  for (const IValue& v : items) {
    if (real_numbers)
      values.push_back(real(v.isDouble() ? v.toDouble() : static_cast<double>(v.toInt())));
    else
      values.push_back(booleans ? Json(v.toBool()) : Json(v.isBool() ? v.toBool() : v.toInt()));
  }
  return {{real_numbers ? "as_floats" : booleans ? "as_bools" : "as_ints", std::move(values)}};
}

Json numbers(IntArrayRef values) {
  Json out = Json::array();
  for (const int64_t v : values) out.push_back(Json{{"as_int", v}});
  return out;
}

// The numbers of torch's files.
int64_t memory_format_number(int64_t of_programs) {
  constexpr int64_t kNumbers[] = {1, 4, 2, 3};  // contiguous, preserve, channels last of 4 and 5
  return kNumbers[of_programs];
}

}  // namespace

// As a contiguous one, which is how weights are written.
Json tensor_meta(const Tensor& t, bool requires_grad) {
  std::vector<int64_t> strides(t.sizes().size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(t.sizes()[d], 1);
  const bool cuda = t.device().is_cuda();
  return Json{
      {"dtype", number_of_dtype(t.scalar_type())},
      {"sizes", numbers(t.sizes())},
      {"requires_grad", requires_grad},
      {"device",
       {{"type", cuda ? "cuda" : "cpu"}, {"index", cuda ? Json(t.device().index()) : Json()}}},
      {"strides", numbers(strides)},
      {"storage_offset", {{"as_int", 0}}},
      {"layout", 7}};
}

// As tensor_meta, with the sizes that vary as expressions.
Json ProgramWriter::meta_of(const Item& tensor) {
  const Tensor& t = tensor.example.toTensor();
  Json meta = tensor_meta(t, false);
  if (tensor.others.empty()) return meta;
  SizeExpressions::Values stride(tensor.runs(), 1);
  std::string text;
  for (auto d = static_cast<std::size_t>(t.dim()); d-- > 0;) {
    const SizeExpressions::Values sizes = sizes_in_runs(tensor, d);
    const std::string size = sizes_.text_of(sizes);
    meta["strides"][d] = size_argument(stride, text);
    meta["sizes"][d] = size_argument(sizes, size);
    text = text.empty() ? size : "Mul(" + size + ", " + text + ")";
    for (std::size_t r = 0; r < stride.size(); ++r) stride[r] *= std::max<int64_t>(sizes[r], 1);
  }
  return meta;
}

Json ProgramWriter::plain_argument(const IValue& v) const {
  if (v.isNone()) return {{"as_none", true}};
  if (v.isBool()) return {{"as_bool", v.toBool()}};
  if (v.isInt()) return {{"as_int", v.toInt()}};
  if (v.isDouble()) return {{"as_float", real(v.toDouble())}};
  if (v.isString()) return {{"as_string", std::string(v.toStringView())}};
  if (v.isComplexDouble())
    return {{"as_complex",
             {{"real", v.toComplexDouble().real()}, {"imag", v.toComplexDouble().imag()}}}};
  TENON_CHECK(v.isList() && !v.toListRef().element->is(TypeKind::String), NotImplementedError,
              "export_program: a value of the kind ", v.tagKind(), " cannot be written");
  return list_argument(v.toListRef().items);
}

const std::string& ProgramWriter::name_of(const Item& item) {
  if (!item.name.empty()) return item.name;
  const Tensor t = item.example.toTensor();
  auto& named = const_cast<Item&>(item);
  if (!item.number.empty()) return make_tensor_of(named);
  TENON_CHECK(t.layout() == kStrided, NotImplementedError,
              "export_program: cannot write a constant of layout ", toString(t.layout()),
              ": torch.export has none");
  const auto weight = t.numel() > 0 ? by_memory_.find(t.data_ptr()) : by_memory_.end();
  const bool known = weight != by_memory_.end() &&
                     weights_[weight->second].tensor.sizes() == t.sizes() &&
                     weights_[weight->second].tensor.strides() == t.strides();
  if (known) return named.name = weights_[weight->second].name;
  const std::string fqn = "lifted_tensor_" + std::to_string(weights_.size());
  named.name = add_tensor("c_" + fqn, t);
  weights_.push_back({named.name, fqn, t, Weight::Kind::Constant});
  return named.name;
}

Json ProgramWriter::tensor_argument(const Item& tensor) {
  return {{"as_tensor", {{"name", name_of(tensor)}}}};
}

namespace {

// Operators of the host, which libraries have, take tensors, lists of them, and numbers.
ArgType type_of_argument(const Operator& op, std::size_t k) {
  if (op.op) return op.op->args[k].type;
  const Type& t = *op.schema.arguments[k].type;
  const bool list = t.is(TypeKind::List) && t.element()->is(TypeKind::Tensor);
  return list ? ArgType::TensorList : ArgType::Scalar;
}

}  // namespace

Json ProgramWriter::argument(const Operator& op, std::size_t k, const Item& item) {
  const IValue& v = item.example;
  const auto tensor = [&](const Item& i) -> Json {
    if (i.example.isNone() || !i.example.toTensor().defined()) return {{"as_none", true}};
    return tensor_argument(i);
  };
  if (v.isTensor()) return tensor(item);
  const ArgType type = type_of_argument(op, k);
  if (v.isNone()) return {{"as_none", true}};
  switch (type) {
    case ArgType::TensorList:
    case ArgType::OptTensorList: {
      Json all = Json::array();
      std::vector<const Item*> parts = item.parts;
      if (!item.has_parts)
        for (const IValue& each : v.toListRef().items) parts.push_back(make(each, true));
      const bool optional = type == ArgType::OptTensorList;
      for (const Item* p : parts)
        all.push_back(optional ? tensor(*p) : Json{{"name", name_of(*p)}});
      return {{optional ? "as_optional_tensors" : "as_tensors", std::move(all)}};
    }
    case ArgType::Dtype:
    case ArgType::OptDtype:
      return {{"as_scalar_type", number_of_dtype(static_cast<ScalarType>(v.toInt()))}};
    case ArgType::Layout:
      return {{"as_layout", v.toInt() == 0 ? 7 : 1}};
    case ArgType::MemoryFormat:
      return {{"as_memory_format", memory_format_number(v.toInt())}};
    case ArgType::Device: {
      const Device d = v.isDevice() ? v.toDevice() : Device(v.toStringRef());
      return {{"as_device",
               {{"type", std::string(d.is_cuda() ? "cuda" : "cpu")},
                {"index", d.is_cuda() ? Json(d.index()) : Json()}}}};
    }
    default:
      break;
  }
  if (!item.number.empty()) return number_argument(item);
  const bool varies = std::any_of(item.parts.begin(), item.parts.end(),
                                  [](const Item* p) { return !p->number.empty(); });
  if (!varies) return plain_argument(v);
  Json all = Json::array();
  for (const Item* p : item.parts)
    all.push_back(p->number.empty() ? plain_argument(p->example) : Json{{"as_name", p->number}});
  return {{"as_sym_ints", std::move(all)}};
}

// Up to the last argument that differs from its default, those by keyword where they differ.
Json ProgramWriter::inputs_of(const Node& n) {
  constexpr int kPositional = 1, kKeyword = 2;
  const FunctionSchema& schema = n.op->schema;
  std::size_t last = 0;
  std::vector<bool> differs;
  for (std::size_t k = 0; k < n.inputs().size(); ++k) {
    const Argument& a = schema.arguments[k];
    const Item& item = at(n.input(k));
    const bool plain = item.constant && !item.example.isTensor() && !item.example.isDevice();
    const bool same = a.default_value && plain &&
                      plain_argument(item.example) == plain_argument(*a.default_value);
    differs.push_back(!same);
    if (!same && !a.keyword_only) last = k + 1;
  }
  Json inputs = Json::array();
  for (std::size_t k = 0; k < n.inputs().size(); ++k) {
    const Argument& a = schema.arguments[k];
    if (a.keyword_only ? !differs[k] : k >= last) continue;
    const Item& item = at(n.input(k));
    if (item.truth && item.example.isBool()) {  // a flag by data is the example's, as in a branch
      const bool holds = decide(n, item);
      inputs.push_back({{"name", a.name},
                        {"arg", plain_argument(holds)},
                        {"kind", a.keyword_only ? kKeyword : kPositional}});
      continue;
    }
    const auto fits = [this](const Item& i) { return i.example.isTensor() || is_known(i); };
    if (!fits(item) && !(item.has_parts && std::all_of(item.parts.begin(), item.parts.end(),
                                                       [&](const Item* p) { return fits(*p); })))
      refuse(n, "argument '" + a.name + "' is a number that depends on data");
    inputs.push_back({{"name", a.name},
                      {"arg", argument(*n.op, k, item)},
                      {"kind", a.keyword_only ? kKeyword : kPositional}});
  }
  return inputs;
}

namespace {

std::string tree_text(const Json& tree) { return Json::array({1, tree}).dump(); }

IValue tuple_of(std::vector<IValue> items) {
  return IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items))));
}

}  // namespace

void ProgramWriter::write(ZipWriter& zip) const {
  Json configs[] = {Json::object(), Json::object()}, inputs = inputs_, specs = specs_;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const Weight& w = weights_[i];
    const bool constant = w.kind == Weight::Kind::Constant;
    const std::string path = (constant ? "tensor_" : "weight_") + std::to_string(i);
    const NoGradGuard no_grad;
    const Tensor t = w.tensor.detach().to(kCPU).contiguous();
    zip.add((constant ? "data/constants/" : "data/weights/") + path, t.const_data_ptr(),
            t.nbytes());
    const bool parameter = w.kind == Weight::Kind::Parameter;
    configs[constant][w.fqn] =
        Json{{"path_name", path},
             {"is_param", parameter},
             {"use_pickle", false},
             {"tensor_meta", tensor_meta(t, parameter && w.tensor.requires_grad())}};
    if (!constant) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);  // behind the weights, before the user's inputs
    inputs.insert(inputs.begin() + at, Json{{"as_tensor", {{"name", w.name}}}});
    specs.insert(
        specs.begin() + at,
        Json{{"tensor_constant", {{"arg", {{"name", w.name}}}, {"tensor_constant_name", w.fqn}}}});
  }
  zip.add("data/weights/model_weights_config.json", Json{{"config", std::move(configs[0])}}.dump());
  zip.add("data/constants/model_constants_config.json",
          Json{{"config", std::move(configs[1])}}.dump());
  Json graph{{"inputs", std::move(inputs)},
             {"outputs", outputs_},
             {"nodes", graph_.nodes},
             {"tensor_values", graph_.tensors},
             {"sym_int_values", graph_.integers},
             {"sym_bool_values", graph_.booleans},
             {"sym_float_values", graph_.reals},
             {"custom_obj_values", Json::object()},
             {"is_single_tensor_return", false}};
  Json call{
      {"inputs", Json::array()},
      {"outputs", Json::array()},
      {"in_spec",
       tree_text(
           {{"type", "builtins.tuple"},
            {"context", "null"},
            {"children_spec",
             {{{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", in_tree_}},
              {{"type", "builtins.dict"}, {"context", "[]"}, {"children_spec", Json::array()}}}}})},
      {"out_spec", tree_text(out_tree_)},
      {"forward_arg_names", names_}};
  const Json program{
      {"graph_module",
       {{"graph", std::move(graph)},
        {"signature", {{"input_specs", std::move(specs)}, {"output_specs", output_specs_}}},
        {"module_call_graph", Json::array({Json{{"fqn", ""}, {"signature", std::move(call)}}})},
        {"metadata", Json::object()},
        {"treespec_namedtuple_fields", Json::object()}}},
      {"opset_version", {{"aten", 10}}},
      {"range_constraints", sizes_.ranges()},
      {"schema_version", {{"major", 8}, {"minor", 8}}},
      {"verifiers", Json::array({"TRAINING"})},
      {"torch_version", "2.9.0"},
      {"guards_code", Json::array()}};
  zip.add("models/model.json", program.dump());
  const std::vector<char> samples = pickle_save(
      tuple_of({tuple_of(samples_), IValue(core::Ref<ivalue::Dict>::adopt(new ivalue::Dict()))}));
  zip.add("data/sample_inputs/model.pt", samples.data(), samples.size());
  zip.add("archive_format", std::string_view("pt2"));
  zip.add("archive_version", std::string_view("0"));
  zip.add("byteorder", std::string_view("little"));
  zip.add(".data/version", std::string_view("6\n"));
}

}  // namespace tenon::jit::formats
