// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors, inputs and outputs of a model, and the file.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "onnx/export/exporter.h"
#include "onnx/export/external_data.h"
#include "onnx/export/size_rules.h"
#include "onnx/export/unused.h"
#include "tenon/autograd.h"
#include "tenon/io/file_writer.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {

int32_t onnx_type(ScalarType t) {
  switch (t) {
    case kFloat32:
      return pb::FLOAT;
    case kFloat64:
      return pb::DOUBLE;
    case kFloat16:
      return pb::FLOAT16;
    case kBFloat16:
      return pb::BFLOAT16;
    case kInt8:
      return pb::INT8;
    case kUInt8:
      return pb::UINT8;
    case kInt16:
      return pb::INT16;
    case kInt32:
      return pb::INT32;
    case kInt64:
      return pb::INT64;
    case kBool:
      return pb::BOOL;
    case kComplex64:
      return pb::COMPLEX64;
    case kComplex128:
      return pb::COMPLEX128;
    default:
      throw Refusal{std::string("ONNX has no dtype ") + std::string(toString(t))};
  }
}

Tensor as_tensor(const IValue& v) {
  if (v.isTensor()) return is_quantized(v.toTensor()) ? dequantize(v.toTensor()) : v.toTensor();
  if (v.isBool()) return full({}, v.toBool(), TensorOptions(kBool));
  if (v.isInt()) return full({}, v.toInt(), TensorOptions(kInt64));
  if (v.isDouble()) return full({}, v.toDouble(), TensorOptions(kFloat32));
  need(v.isList(), "a value that ONNX does not have");
  const auto& items = v.toListRef().items;
  const bool numbers = std::all_of(items.begin(), items.end(), [](const IValue& i) {
    return i.isInt() || i.isDouble() || i.isBool();
  });
  need(numbers, "a list of other things than numbers, which ONNX does not have");
  const bool floats = !items.empty() && items.front().isDouble();
  Tensor t = empty({static_cast<int64_t>(items.size())}, TensorOptions(floats ? kFloat32 : kInt64));
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (floats)
      t.data_ptr<float>()[i] = static_cast<float>(items[i].toDouble());
    else
      t.data_ptr<int64_t>()[i] = items[i].isBool() ? items[i].toBool() : items[i].toInt();
  }
  return t;
}

void write_tensor(const Tensor& given, const std::string& name, pb::TensorProto* out) {
  const Tensor t = given.detach().cpu().contiguous();
  out->set_data_type(onnx_type(t.scalar_type()));
  for (const int64_t s : t.sizes()) out->add_dims(s);
  if (!name.empty()) out->set_name(name);
  out->set_raw_data(t.data_ptr(), static_cast<std::size_t>(t.nbytes()));
}

void Exporter::add_value_info(pb::ValueInfoProto* info, const std::string& name, const Item& i,
                              bool output) {
  info->set_name(name);
  if (is_tensor_list(i.example)) {
    const auto& items = i.example.toListRef().items;
    info->mutable_type()
        ->mutable_sequence_type()
        ->mutable_elem_type()
        ->mutable_tensor_type()
        ->set_elem_type(items.empty() ? pb::FLOAT : onnx_type(items[0].toTensor().scalar_type()));
    return;
  }
  const Tensor t = as_tensor(i.example);
  auto* type = info->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx_type(t.scalar_type()));
  // Shapes inside of branches and loops may change from run to run, those of numbers do not.
  if (output && graphs_.size() > 1) {
    if (!i.example.isTensor() && !i.example.isList()) type->mutable_shape();
    return;
  }
  const auto axes = options_.dynamic_axes.find(name);
  auto* shape = type->mutable_shape();
  for (int64_t d = 0; d < t.dim(); ++d) {
    auto* dim = shape->add_dim();
    const auto* names = axes == options_.dynamic_axes.end() ? nullptr : &axes->second;
    const auto at = names ? names->find(d) : std::map<int64_t, std::string>::const_iterator();
    if (names && at != names->end())
      dim->set_dim_param(at->second);
    else if (!output || is_static())
      dim->set_dim_value(t.size(d));
  }
}

namespace {

// A list of numbers is one value.
bool is_container(const IValue& v) {
  if (!v.isList()) return v.isTuple() || v.isGenericDict();
  const auto& items = v.toListRef().items;
  return std::any_of(items.begin(), items.end(),
                     [](const IValue& i) { return i.isTensor() || is_container(i); });
}

}  // namespace

// The tensors in containers are inputs of the model, "x_0" and "x_mask". `at`: of all values.
ItemPtr Exporter::add_input(const IValue& example, const std::string& own, std::size_t& at,
                            pb::GraphProto* graph) {
  auto i = std::make_shared<Item>();
  i->example = example;
  if (is_container(example)) {
    const auto add = [&](const IValue& part, const auto& name) {
      i->parts.push_back(add_input(part, core::join(own, "_", name), at, graph));
    };
    if (example.isGenericDict()) {
      for (const auto& [key, v] : example.toDictRef().items()) {
        i->keys.push_back(key);
        key.isString() ? add(v, key.toStringRef()) : add(v, i->parts.size());
      }
    } else {
      for (const IValue& v :
           example.isTuple() ? example.toTupleRef().items : example.toListRef().items)
        add(v, i->parts.size());
    }
    i->has_parts = true;
    i->constant = all_constant(i->parts);
    return i;
  }
  const std::size_t k = at++;
  if (!example.isTensor()) {  // a number of the program is a part of it
    i->constant = true;
    return i;
  }
  const std::string name = fresh(k < options_.input_names.size() ? options_.input_names[k] : own);
  TENON_CHECK(!is_complex(example), NotImplementedError, "onnx::export_: argument '", name,
              "' is complex, and ONNX has no operators on complex tensors: let the program take "
              "pairs, and torch.view_as_complex of them");
  i->name = name;
  i->example = example.toTensor().clone();  // the program may write to it
  i->sizes.emplace(static_cast<std::size_t>(example.toTensor().dim()), kFixed);
  if (const auto axes = options_.dynamic_axes.find(name); axes != options_.dynamic_axes.end())
    for (const auto& [dim, axis] : axes->second) {
      int64_t& symbol = axis_symbols_[axis];
      if (symbol == kFixed) symbol = fresh_symbol();
      if (dim >= 0 && dim < example.toTensor().dim())
        (*i->sizes)[static_cast<std::size_t>(dim)] = symbol;
    }
  add_value_info(graph->add_input(), name, *i, false);
  return i;
}

void Exporter::add_inputs(const jit::Graph& g, const jit::FunctionSchema& schema,
                          const std::vector<IValue>& inputs, pb::GraphProto* graph) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const jit::Value* v = g.inputs()[k + 1];
    // Values that the program names later may have taken the argument's name in the graph.
    const bool in_schema = k + 1 < schema.arguments.size();
    set(v, add_input(inputs[k], in_schema ? schema.arguments[k + 1].name : v->debug_name(), at,
                     graph));
  }
  TENON_CHECK(options_.input_names.size() <= at, ValueError,
              "onnx::export_: ", options_.input_names.size(), " input names for ", at, " inputs");
  for (const auto& [name, axes] : options_.dynamic_axes) {
    const auto& outs = options_.output_names;
    const bool known =
        taken_.count(name) || std::find(outs.begin(), outs.end(), name) != outs.end();
    TENON_CHECK(known, ValueError, "onnx::export_: dynamic_axes names '", name,
                "', which is neither an input nor an output");
  }
}

void Exporter::add_outputs(const jit::Graph& g, pb::GraphProto* graph) {
  std::vector<ItemPtr> flat;
  const std::function<void(const ItemPtr&)> add = [&](const ItemPtr& i) {
    if (i->has_parts)
      for (const ItemPtr& part : i->parts) add(part);
    else if (!i->constant || !i->example.isNone())  // auxiliary results that training alone has
      flat.push_back(i);
  };
  try {
    for (const jit::Value* v : g.outputs()) add(item(v));
    for (std::size_t k = 0; k < flat.size(); ++k) {
      const bool named = k < options_.output_names.size();
      std::string name = own(*flat[k]);
      const std::string wanted = named ? options_.output_names[k] : "output" + std::to_string(k);
      const std::string last = fresh(wanted);
      pb::NodeProto* n = graph->add_node();
      n->set_op_type("Identity");
      n->set_name(fresh("Identity"));
      n->add_input(name);
      n->add_output(last);
      add_value_info(graph->add_output(), last, *flat[k], true);
    }
  } catch (const Missing&) {
    refused_.push_back("cannot export the result: nothing computes it");
  } catch (const Refusal& r) {
    refused_.push_back("cannot export the result: " + r.reason);
  }
}

// Those that the nodes use which stayed in the model.
void Exporter::add_initializers(pb::GraphProto* graph) {
  std::set<std::string> used;
  add_used_names(*graph, used);
  for (const Stored& s : stored_) {
    if (!used.count(s.name)) continue;
    const bool inputs =
        s.weight && (!options_.export_params || options_.keep_initializers_as_inputs);
    if (inputs) {
      auto* info = graph->add_input();
      info->set_name(s.name);
      auto* type = info->mutable_type()->mutable_tensor_type();
      type->set_elem_type(onnx_type(s.tensor.scalar_type()));
      for (const int64_t n : s.tensor.sizes()) type->mutable_shape()->add_dim()->set_dim_value(n);
    }
    if (!s.weight || options_.export_params)
      write_tensor(s.tensor, s.name, graph->add_initializer());
  }
}

namespace {

// Versions of the file format that go with the versions of operators.
int64_t ir_version(int64_t opset) {
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  return opset >= 15 ? 8 : 7;
}

constexpr int64_t kUsualOpset = 17;
constexpr std::size_t kMessageLimit = std::size_t{2} << 30;  // of protobuf

pb::ModelProto model_for_opset(const jit::Module& module, const std::vector<IValue>& inputs,
                               const ExportOptions& options) {
  Exporter exporter(module, options);
  pb::ModelProto model = exporter.run(inputs);
  model.set_ir_version(ir_version(options.opset));
  model.set_producer_name(options.producer_name);
  model.set_producer_version("0.1.0");
  if (!options.doc_string.empty()) model.set_doc_string(options.doc_string);
  auto* set = model.add_opset_import();
  set->set_domain("");
  set->set_version(options.opset);
  for (const std::string& domain : exporter.domains()) {
    auto* other = model.add_opset_import();
    other->set_domain(domain);
    other->set_version(1);
  }
  for (const auto& [key, value] : options.metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

// The greatest version that a refusal asks for, "needs opset 18"; 0: none does.
int64_t needed_opset(const std::string& refusal) {
  constexpr std::string_view kNeeds = "needs opset ";
  int64_t most = 0;
  for (std::size_t at = refusal.find(kNeeds); at != std::string::npos;
       at = refusal.find(kNeeds, at + 1))
    most = std::max<int64_t>(most, std::atoi(refusal.c_str() + at + kNeeds.size()));
  return most;
}

pb::ModelProto model_of(const jit::Module& module, const std::vector<IValue>& inputs,
                        const ExportOptions& options) {
  if (options.opset != 0) return model_for_opset(module, inputs, options);
  ExportOptions chosen = options;
  chosen.opset = kUsualOpset;
  while (true) {
    try {
      return model_for_opset(module, inputs, chosen);
    } catch (const NotImplementedError& e) {
      const int64_t next = needed_opset(e.msg());
      if (next <= chosen.opset || next > kMaxOpset) throw;
      chosen.opset = next;
    }
  }
}

std::string bytes_of(const pb::ModelProto& model) {
  TENON_CHECK(
      model.ByteSizeLong() < kMessageLimit, NotImplementedError, "onnx::export_: the model has ",
      model.ByteSizeLong(),
      " bytes; one of 2 GiB and more needs a file beside it for its weights, so write it to "
      "a path");
  std::string bytes;
  model.SerializeToString(&bytes);
  return bytes;
}

}  // namespace
}  // namespace tenon::onnx::exporting

namespace tenon::onnx {

void export_(const jit::Module& module, const std::vector<IValue>& inputs, std::ostream& out,
             const ExportOptions& options) {
  TENON_CHECK(!options.external_data, ValueError,
              "onnx::export_: a stream has no folder for external data");
  const std::string bytes = exporting::bytes_of(exporting::model_of(module, inputs, options));
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TENON_CHECK(out.good(), ValueError, "onnx::export_: the stream takes no more");
}

void export_(const jit::Module& module, const std::vector<IValue>& inputs, const std::string& path,
             const ExportOptions& options) {
  pb::ModelProto model = exporting::model_of(module, inputs, options);
  if (options.external_data || model.ByteSizeLong() >= exporting::kMessageLimit) {
    const std::string beside = path + ".data";
    serialize::detail::FileWriter weights(beside);
    exporting::move_weights(model, weights, std::filesystem::path(beside).filename().string());
    weights.commit();
  }
  const std::string bytes = exporting::bytes_of(model);
  serialize::detail::FileWriter file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace tenon::onnx
