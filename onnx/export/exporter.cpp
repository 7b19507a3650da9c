// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/export/exporter.h"

#include <algorithm>

#include "jit/frozen/freezer.h"
#include "jit/passes/passes.h"
#include "jit/passes/values.h"
#include "onnx/export/carry_attributes.h"
#include "onnx/export/unused.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/quantized.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx::exporting {
namespace {

using jit::Node;
using jit::TypeKind;

// Tensors of the module by their memory: a frozen program has them as constants.
std::map<const void*, std::string> names_of_weights(const jit::Module& m) {
  std::map<const void*, std::string> names;
  const auto add = [&](const std::vector<jit::NamedTensor>& all) {
    for (const auto& [name, t] : all)
      if (t.defined() && t.numel() > 0 && t.layout() == kStrided && !is_quantized(t))
        names.emplace(t.data_ptr(), name);
  };
  add(m.named_parameters());
  add(m.named_buffers());
  return names;
}

bool has_side_effects(const Node& n) { return n.op && n.op->has_side_effects; }

// Of inputs that an exported program takes with these sizes alone; -1: any.
std::map<const jit::Value*, std::vector<int64_t>> promised_sizes(const jit::Graph& g) {
  std::map<const jit::Value*, std::vector<int64_t>> out;
  for (const Node* n : g.block()->nodes()) {
    if (!n->is("exported::check_sizes") || n->input(0)->node() != g.block()->param_node()) continue;
    if (const auto sizes = jit::to_constant(n->input(2)); sizes && sizes->isList())
      for (const IValue& v : sizes->toListRef().items) out[n->input(0)].push_back(v.toInt());
  }
  return out;
}

// Nothing happens at these when a model runs.
bool is_silent(const Node& n) {
  return n.is("prim::RaiseException") || n.is("prim::Print") || n.is("aten::warn");
}

// What a message says is for errors, which a model does not have.
bool gives_text(const Node& n) {
  return n.outputs().size() == 1 && n.output()->type()->is(TypeKind::String);
}

}  // namespace

Exporter::Exporter(const jit::Module& module, const ExportOptions& options)
    : module_(module), options_(options), forms_(plugin_forms()) {
  TENON_CHECK(options.opset >= kMinOpset && options.opset <= kMaxOpset, ValueError,
              "onnx::export_: opset ", options.opset, " is outside of [", kMinOpset, ", ",
              kMaxOpset, "]");
  if (module_.is_training()) {
    module_ = module_.clone();
    module_.eval();
  }
  weight_names_ = names_of_weights(module_);
  // The names of weights are theirs.
  for (const auto& [data, name] : weight_names_) taken_.insert(name);
}

std::string Exporter::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

void Exporter::refuse(const Node& n, const std::string& reason) {
  std::string text = "cannot export " + n.kind() + ": " + reason;
  if (const std::string at = n.range.highlight(); !at.empty()) text += "\n" + at;
  if (std::find(refused_.begin(), refused_.end(), text) == refused_.end())
    refused_.push_back(std::move(text));
}

void Exporter::set(const jit::Value* v, ItemPtr item) {
  if (item->depth == 0) item->depth = graphs_.size();
  items_[v] = std::move(item);
}

ItemPtr Exporter::item(const jit::Value* v) const {
  const auto at = items_.find(v);
  if (at == items_.end()) throw Missing{};
  return at->second;
}

Item* Exporter::find_item(const jit::Value* v) const {
  const auto at = items_.find(v);
  return at == items_.end() ? nullptr : at->second.get();
}

pb::ModelProto Exporter::run(const std::vector<IValue>& inputs) {
  const NoGradGuard no_grad;
  const jit::Module frozen = jit::freeze_with_operators(module_);
  const std::shared_ptr<jit::Graph> g = frozen.get_method("forward").graph()->copy();
  jit::lower_forks(*g);
  jit::lower_objects(*g);
  jit::lower_outs(*g);
  jit::remove_dropout(*g);
  const auto promised = promised_sizes(*g);
  jit::remove_checks(*g);
  carry_attributes(*g, frozen._ivalue());
  jit::functionalize(*g);
  jit::lower_tuples(*g);
  jit::eliminate_dead_code(*g);
  name_pieces(*g);
  pb::ModelProto model;
  pb::GraphProto* graph = model.mutable_graph();
  const std::string& name = module_.type()->name();
  graph->set_name(name.empty() ? "program" : name);
  graphs_.push_back({graph, {}});
  const jit::Function& forward = frozen.get_method("forward").function();
  add_inputs(*g, forward.schema(),
             jit::arguments_of_call(forward, IValue(frozen._ivalue()), inputs), graph);
  set(g->inputs().at(0), std::make_shared<Item>(Item{frozen._ivalue(), true}));
  for (const auto& [v, sizes] : promised) check_axes(*item(v), sizes);
  program_ = g->block();
  walk(*program_);
  if (refused_.empty()) add_outputs(*g, graph);
  if (!refused_.empty()) {
    std::string all;
    for (const auto& r : refused_) all += (all.empty() ? "" : "\n") + r;
    throw NotImplementedError("onnx::export_: " + all);
  }
  remove_unused_nodes(graph);
  add_initializers(graph);
  return model;
}

void Exporter::check_axes(const Item& input, const std::vector<int64_t>& sizes) const {
  const auto axes = options_.dynamic_axes.find(input.name);
  if (axes == options_.dynamic_axes.end()) return;
  for (const auto& [dim, name] : axes->second) {
    const auto at =
        static_cast<std::size_t>(dim < 0 ? dim + static_cast<int64_t>(sizes.size()) : dim);
    TENON_CHECK(at >= sizes.size() || sizes[at] == -1, ValueError,
                "onnx::export_: dynamic_axes names dimension ", dim, " of '", input.name,
                "', which the program was exported for ", sizes[at],
                " of: torch.export.export takes its dynamic_shapes");
  }
}

void Exporter::walk(const std::vector<Node*>& nodes) {
  for (const Node* n : nodes) {
    try {
      visit(*n);
    } catch (const Missing&) {  // what it needs was refused, but for texts
      if (refused_.empty() && !gives_text(*n)) refuse(*n, "it needs a value that no model has");
    } catch (const Refusal& r) {
      refuse(*n, r.reason);
    } catch (const Error& e) {
      refuse(*n, e.msg());
    }
  }
}

// One that freezing left, as the program writes it. Each run begins with the file's value; all who
// read it have one item, which writes in place change.
void Exporter::visit_attribute(const Node& n) {
  const IValue& owner = item(n.input(0))->example;
  need(owner.isObject(), "an attribute of what is not an object");
  ItemPtr& known = attributes_[{owner.toObject().get(), n.s("name")}];
  if (!known) {
    IValue value = owner.toObject()->getAttr(n.s("name"));
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage()) {
      value = value.toTensor().clone();
      program_tensors_.push_back(value.toTensor());
    }
    known = std::make_shared<Item>(Item{value, true});
  }
  set(n.output(), known);
}

void Exporter::write_attribute(const Node& n) {
  const IValue& owner = item(n.input(0))->example;
  need(owner.isObject(), "an attribute of what is not an object");
  need(graphs_.size() == 1, "it writes an attribute in a branch or a loop");
  attributes_[{owner.toObject().get(), n.s("name")}] = item(n.input(1));
}

void Exporter::visit(const Node& n) {
  if (n.is("prim::Constant")) {
    const std::optional<IValue> v = jit::to_constant(n.output());
    need(v.has_value(), "a function is not a value of ONNX");
    if (v->isTensor() && v->toTensor().defined() && v->toTensor().has_storage())
      program_tensors_.push_back(v->toTensor());
    return set(n.output(), std::make_shared<Item>(Item{*v, true}));
  }
  if (n.is("prim::GetAttr")) return visit_attribute(n);
  if (n.is("prim::SetAttr")) return write_attribute(n);
  if (n.is("prim::CreateObject"))
    return set(n.output(), std::make_shared<Item>(Item{jit::new_object(n), true}));
  if (n.is("prim::If") || n.is("prim::Loop")) {
    const std::vector<Node*> after = carry_writes(n);
    n.is("prim::If") ? visit_if(n) : visit_loop(n);
    return walk(after);
  }
  if (visit_optional(n)) return;
  if (n.is("prim::isinstance"))
    return set(n.output(), std::make_shared<Item>(
                               Item{IValue(jit::is_instance(n, item(n.input(0))->example)), true}));
  if (n.is("prim::unchecked_cast")) return set(n.output(), item(n.input(0)));
  if (n.is("prim::Uninitialized")) return set(n.output(), unset_item());
  if (is_silent(n)) return;
  if (visit_structure(n) || fold(n) || write_constant(n) || gives_text(n)) return;
  visit_operator(n);
}

std::vector<IValue> Exporter::compute(const Node& n) {
  jit::Stack stack;
  need(n.op != nullptr, "it has no operator");
  const auto& arguments = n.op->schema.arguments;
  for (std::size_t k = 0; k < n.inputs().size(); ++k) {
    stack.push_back(item(n.input(k))->example);
    const bool written = k < arguments.size() && arguments[k].alias.write;
    // A constant of the model may be its memory.
    if (written && stack.back().isTensor()) stack.back() = stack.back().toTensor().clone();
  }
  n.op->call(stack, n.inputs().size());
  return stack;
}

// It makes a constant tensor and asks another one for its dtype, or for its sizes, which are known.
bool Exporter::fills_alike(const Node& n) const {
  if (n.inputs().empty()) return false;
  const bool known = n.is("aten::new_zeros") || n.is("aten::new_ones") || n.is("aten::new_full"),
             alike = n.is("aten::zeros_like") || n.is("aten::ones_like") || n.is("aten::full_like");
  if (!known && !(alike && is_fixed(*item(n.input(0))))) return false;
  return std::all_of(n.inputs().begin() + 1, n.inputs().end(),
                     [this](const jit::Value* v) { return item(v)->constant; });
}

// What is the same in every run is computed here.
bool Exporter::fold(const Node& n) {
  if (!n.op || has_side_effects(n) || n.outputs().empty() || jit::dequantizes(n)) return false;
  bool constant = !n.inputs().empty();
  for (const jit::Value* v : n.inputs()) constant = constant && item(v)->constant;
  if (!constant && !jit::asks_rank_or_dtype(n) && !asks_fixed_sizes(n) && !fills_alike(n))
    return compare_sizes(n);
  const std::vector<IValue> values = compute(n);
  constexpr int64_t kMaxFilled = 1 << 16;  // more would be a weight of the file
  if (!constant && values.at(0).isTensor() && values[0].toTensor().numel() > kMaxFilled)
    return false;
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    set(n.output(k), std::make_shared<Item>(Item{values.at(k), true}));
  return true;
}

bool Exporter::visit_structure(const Node& n) {
  if (visit_dict(n)) return true;
  if (n.is("prim::TupleConstruct")) {
    std::vector<ItemPtr> parts;
    for (const jit::Value* v : n.inputs()) parts.push_back(item(v));
    return set(n.output(), tuple_of(std::move(parts))), true;
  }
  if (n.is("prim::ListConstruct")) {
    auto made = std::make_shared<Item>();
    for (const jit::Value* v : n.inputs()) made->parts.push_back(item(v));
    made->has_parts = true;
    made->constant = all_constant(made->parts);
    made->example = list_of(n.output()->type()->element(), made->parts);
    return set(n.output(), made), true;
  }
  if (n.is("prim::ListUnpack") || n.is("prim::TupleUnpack")) {
    const auto parts = unpack(item(n.input(0)), n.outputs().size());
    for (std::size_t k = 0; k < n.outputs().size(); ++k) set(n.output(k), parts.at(k));
    return true;
  }
  if (n.is("prim::TupleIndex") && item(n.input(1))->constant) {
    const ItemPtr from = item(n.input(0));
    const auto parts = unpack(from, from->example.toTupleRef().items.size());
    const int64_t i = item(n.input(1))->example.toInt();
    return set(n.output(), parts.at(static_cast<std::size_t>(
                               i < 0 ? i + static_cast<int64_t>(parts.size()) : i))),
           true;
  }
  return visit_list(n);
}

Names Exporter::node(const std::string& type, const Names& inputs, const Attrs& attrs,
                     std::size_t outputs, const std::string& domain) {
  pb::NodeProto* n = graphs_.back().graph->add_node();
  n->set_op_type(type);
  n->set_name(fresh(type));
  if (!domain.empty()) {
    n->set_domain(domain);
    domains_.insert(domain);
  }
  std::size_t last = inputs.size();
  while (last > 0 && inputs[last - 1].empty()) --last;
  for (std::size_t i = 0; i < last; ++i) n->add_input(inputs[i]);
  for (const Attr& a : attrs) {
    if (a.value.isNone()) continue;
    pb::AttributeProto* to = n->add_attribute();
    to->set_name(a.name);
    const IValue& v = a.value;
    if (v.isInt() || v.isBool()) {
      to->set_type(pb::AttributeProto::INT);
      to->set_i(v.isBool() ? v.toBool() : v.toInt());
    } else if (v.isDouble()) {
      to->set_type(pb::AttributeProto::FLOAT);
      to->set_f(static_cast<float>(v.toDouble()));
    } else if (v.isString()) {
      to->set_type(pb::AttributeProto::STRING);
      to->set_s(std::string(v.toStringView()));
    } else if (v.isTensor()) {
      to->set_type(pb::AttributeProto::TENSOR);
      write_tensor(v.toTensor(), "", to->mutable_t());
    } else {
      bool floats = false, strings = false;
      for (const IValue& item : v.toListRef().items) {
        floats = floats || item.isDouble();
        strings = strings || item.isString();
      }
      to->set_type(floats    ? pb::AttributeProto::FLOATS
                   : strings ? pb::AttributeProto::STRINGS
                             : pb::AttributeProto::INTS);
      for (const IValue& item : v.toListRef().items) {
        if (floats)
          to->add_floats(static_cast<float>(item.toDouble()));
        else if (strings)
          to->add_strings(std::string(item.toStringView()));
        else
          to->add_ints(item.toInt());
      }
    }
  }
  Names names;
  for (std::size_t k = 0; k < outputs; ++k) {
    names.push_back(fresh(type + "_out"));
    n->add_output(names.back());
    graphs_.back().made.insert(names.back());
  }
  return names;
}

std::string Exporter::initializer(const Tensor& given) {
  const Tensor t = given.detach();
  const auto weight = t.numel() > 0 && t.layout() == kStrided && t.device().is_cpu()
                          ? weight_names_.find(t.data_ptr())
                          : weight_names_.end();
  if (weight != weight_names_.end()) {
    for (const Stored& s : stored_)
      if (s.tensor.data_ptr() == t.data_ptr() && s.tensor.sizes() == t.sizes() &&
          s.tensor.strides() == t.strides())
        return s.name;
    bool first = true;
    for (const Stored& s : stored_) first = first && s.name != weight->second;
    const std::string name = first ? weight->second : fresh(weight->second);
    stored_.push_back({t, name, true});
    return name;
  }
  // Small ones are stored once, by their content.
  constexpr int64_t kSmall = 64;
  std::string key;
  if (t.numel() <= kSmall) {
    pb::TensorProto proto;
    write_tensor(t, "", &proto);
    proto.SerializeToString(&key);
    if (const auto at = small_.find(key); at != small_.end()) return at->second;
  }
  const std::string name = fresh("constant");
  if (!key.empty()) small_.emplace(key, name);
  stored_.push_back({t, name, false});
  return name;
}

ItemPtr unset_item() {
  auto i = std::make_shared<Item>();
  i->unset = true;
  return i;
}

bool is_complex(const IValue& v) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().is_complex();
}

bool is_mask(const IValue& v) {
  if (!v.isTensor() || !v.toTensor().defined()) return false;
  const ScalarType d = v.toTensor().scalar_type();
  return d == kBool || d == kUInt8;
}

std::string Exporter::pairs_of(Item& i) {
  need(is_complex(i.example), "pairs of what is not complex");
  if (i.name.empty() && i.constant)
    i.name = initializer(view_as_real(i.example.toTensor()).contiguous());
  need(!i.name.empty(), "a complex tensor that no model has");
  return i.name;
}

std::string Exporter::name_of(Item& i) {
  need(i.present.empty(), "a value that may be None");
  need(!is_complex(i.example),
       "of a complex tensor, which ONNX has no operators on: take torch.view_as_real of it");
  if (!i.name.empty()) return i.name;
  if (i.constant) return i.name = initializer(as_tensor(i.example));
  need(i.has_parts && i.example.isList(), "a value that ONNX does not have");
  // Integers side by side.
  Names parts;
  for (const ItemPtr& p : i.parts) {
    need(p->example.isInt() || p->example.isBool(), "a list of tensors as one value");
    if (p->constant)
      parts.push_back(initializer(as_tensor(IValue(std::vector<int64_t>{p->example.toInt()}))));
    else
      parts.push_back(
          node("Unsqueeze", {name_of(*p), initializer(as_tensor(IValue(std::vector<int64_t>{0})))})
              .front());
  }
  const std::string made = node("Concat", parts, {{"axis", int64_t{0}}}).front();
  if (i.depth == graphs_.size()) i.name = made;  // graphs around this one do not have it
  return made;
}

std::string Exporter::own(Item& item, const IValue& like) {
  const std::string name = value_of(item, like);
  const auto& outputs = graphs_.back().graph->output();
  const bool given =
      std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.name() == name; });
  if (!given && graphs_.back().made.count(name)) return name;
  need(!is_tensor_list(item.example) || opset() >= 14, "a list as a result needs opset 14");
  return node("Identity", {name}).front();
}

}  // namespace tenon::onnx::exporting
