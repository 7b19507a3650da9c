// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/writer/program_writer.h"

#include <algorithm>

#include "jit/frozen/freezer.h"
#include "jit/passes/nodes.h"
#include "jit/passes/passes.h"
#include "jit/passes/values.h"
#include "tenon/autograd/mode.h"
#include "tenon/core/op.h"
#include "tenon/jit/freeze.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::formats {
namespace {

// "p_" and "layer1.0.weight" -> "p_layer1_0_weight".
std::string identifier(const std::string& prefix, std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return prefix + name;
}

Json tree_node(const char* type, Json children, const char* context = "null") {
  return Json{{"type", type}, {"context", context}, {"children_spec", std::move(children)}};
}
Json tree_leaf() {
  return Json{{"type", nullptr}, {"context", nullptr}, {"children_spec", Json::array()}};
}

// Of a tuple, list or dictionary with these keys.
Json tree_of_parts(const IValue& v, const std::vector<IValue>& keys, Json children) {
  if (v.isTuple()) return tree_node("builtins.tuple", std::move(children));
  if (!v.isGenericDict()) return tree_node("builtins.list", std::move(children));
  Json names = Json::array();
  for (const IValue& key : keys)
    names.push_back(key.isString() ? Json(key.toStringRef()) : Json(key.toInt()));
  return tree_node("builtins.dict", std::move(children), names.dump().c_str());
}

// As errors and options name it.
std::string path_of_part(const std::string& path, const std::vector<IValue>& keys, std::size_t i) {
  if (keys.empty()) return core::join(path, "[", i, "]");
  if (keys[i].isInt()) return core::join(path, "[", keys[i].toInt(), "]");
  return core::join(path, "['", keys[i].toStringRef(), "']");
}

// As torch names them: "x_0". The name of an argument that is a builtin of Python gets "_1" in
// torch.
std::string name_of_part(const std::string& name, const std::vector<IValue>& keys, std::size_t i) {
  if (keys.empty()) return core::join(name, "_", i);
  if (keys[i].isInt()) return core::join(name, "_", keys[i].toInt());
  return identifier(name + "_", keys[i].toStringRef());
}

// Nothing happens at these where the program runs through.
bool is_silent(const Node& n) {
  return n.is("prim::RaiseException") || n.is("prim::Print") || n.is("aten::warn");
}

}  // namespace

ProgramWriter::ProgramWriter(const Module& m, const ExportProgramOptions& options)
    : module_(m), options_(options) {
  for (const auto& [input, axes] : options.dynamic_axes)
    for (const auto& [axis, size] : axes) unused_axes_.insert(core::join(input, ":", axis));
  if (module_.is_training() && !options.training) {
    module_ = module_.clone();
    module_.eval();
  }
  add_weights();
}

void ProgramWriter::refuse(const Node& n, const std::string& why) {
  const std::string at = n.range.highlight();
  throw NotImplementedError(
      core::join("export_program: cannot write ", n.kind(), ": ", why, at.empty() ? "" : "\n", at));
}

ProgramWriter::Item* ProgramWriter::make(IValue example, bool constant) {
  all_.push_back(std::make_unique<Item>());
  all_.back()->example = std::move(example);
  all_.back()->constant = constant;
  return all_.back().get();
}

std::string ProgramWriter::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::string ProgramWriter::add_tensor(const std::string& wanted, const Tensor& t,
                                      bool requires_grad) {
  const std::string name = fresh(wanted);
  graph_.tensors[name] = tensor_meta(t, requires_grad);
  return name;
}

void ProgramWriter::add_tensor(const std::string& wanted, Item& item) {
  item.name = fresh(wanted);
  graph_.tensors[item.name] = meta_of(item);
}

// In a frozen program weights are constants, known by their memory.
void ProgramWriter::add_weights() {
  const auto add = [&](const std::string& fqn, const Tensor& t, Weight::Kind kind) {
    if (!t.defined() || t.layout() != kStrided) return;
    const bool parameter = kind == Weight::Kind::Parameter;
    const std::string name =
        add_tensor(identifier(parameter ? "p_" : "b_", fqn), t, parameter && t.requires_grad());
    if (t.numel() > 0) by_memory_.emplace(t.data_ptr(), weights_.size());
    weights_.push_back({name, fqn, t, kind});
    inputs_.push_back({{"as_tensor", {{"name", name}}}});
    Json spec{{"arg", {{"name", name}}}, {parameter ? "parameter_name" : "buffer_name", fqn}};
    if (!parameter) spec["persistent"] = true;
    specs_.push_back({{parameter ? "parameter" : "buffer", std::move(spec)}});
  };
  for (const auto& [name, t] : module_.named_parameters()) add(name, t, Weight::Kind::Parameter);
  for (const auto& [name, t] : module_.named_buffers()) add(name, t, Weight::Kind::Buffer);
}

// Weights that the program writes to are attributes of the frozen module, and copies there.
void ProgramWriter::add_written_weights(const Module& frozen) {
  const auto add = [&](const std::string& fqn, const Tensor& t) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i].fqn != fqn || t.numel() == 0) continue;
      weights_[i].written = t;
      by_memory_.emplace(t.data_ptr(), i);
    }
  };
  for (const auto& [name, t] : frozen.named_parameters()) add(name, t);
  for (const auto& [name, t] : frozen.named_buffers()) add(name, t);
}

const ProgramWriter::Item* ProgramWriter::add_input(const IValue& example, const std::string& name,
                                                    const std::string& path, Json& tree) {
  Item* made = make(example);
  if (example.isTensor()) {
    made->example = example.toTensor().detach().clone();  // the program may write it
    resize_input(*made, path);
    add_tensor(name, *made);
    tree = tree_leaf();
    inputs_.push_back({{"as_tensor", {{"name", made->name}}}});
    specs_.push_back({{"user_input", {{"arg", {{"as_tensor", {{"name", made->name}}}}}}}});
    return made;
  }
  if (!example.isTuple() && !example.isList() && !example.isGenericDict()) {
    // A number is a part of the program.
    made->constant = true;
    tree = tree_leaf();
    const Json value = plain_argument(example);
    inputs_.push_back(value);
    specs_.push_back({{"user_input", {{"arg", value}}}});
    return made;
  }
  Json children = Json::array();
  give_parts(*made);
  for (std::size_t i = 0; i < made->parts.size(); ++i) {
    children.emplace_back();
    made->parts[i] = add_input(made->parts[i]->example, name_of_part(name, made->keys, i),
                               path_of_part(path, made->keys, i), children.back());
  }
  tree = tree_of_parts(example, made->keys, std::move(children));
  set_parts(*made, *type_of(example));
  return made;
}

namespace {

// The rows of `t`, as often as it takes. Lists of integers stay in order if they are: lengths are
// sorted where a program says so.
Tensor resized(const Tensor& t, int64_t dim, int64_t size) {
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  sizes[static_cast<std::size_t>(dim)] = size;
  if (t.numel() == 0) return zeros(sizes, t.options());
  const bool is_list = t.dim() == 1 && isIntegralType(t.scalar_type(), false);
  const Tensor at = arange(size, TensorOptions(kLong)),
               rows = is_list ? (at * t.size(0)).floor_divide(size) : remainder(at, t.size(dim));
  return t.index_select(dim, rows.to(t.device()));
}

}  // namespace

// What it is in the other runs.
void ProgramWriter::resize_input(Item& input, const std::string& path) {
  const auto axes = options_.dynamic_axes.find(path);
  if (axes == options_.dynamic_axes.end()) return;
  const Tensor t = input.example.toTensor();
  std::vector<Tensor> runs(SizeExpressions::kRuns - 1, t);
  for (const auto& [axis, name] : axes->second) {
    TENON_CHECK(-t.dim() <= axis && axis < t.dim(), IndexError, "export_program: '", path, "' has ",
                t.dim(), " dimensions, so it has no axis ", axis);
    const int64_t dim = axis < 0 ? axis + t.dim() : axis;
    const auto range = options_.ranges.find(name);
    const SizeExpressions::Values& values = sizes_.add_symbol(
        name, t.size(dim),
        range == options_.ranges.end() ? SizeExpressions::Range{0, INT64_MAX} : range->second);
    for (std::size_t r = 0; r < runs.size(); ++r) runs[r] = resized(runs[r], dim, values[r + 1]);
    unused_axes_.erase(core::join(path, ":", axis));
  }
  input.others.assign(runs.begin(), runs.end());
}

void ProgramWriter::walk(const std::vector<IValue>& given) {
  const NoGradGuard no_grad;
  const Module frozen = freeze_with_operators(module_);
  add_written_weights(frozen);
  const std::shared_ptr<Graph> g = frozen.get_method("forward").graph()->copy();
  lower_forks(*g);
  lower_objects(*g);
  lower_outs(*g);
  remove_dropout(*g);
  remove_checks(*g);
  lower_tuples(*g);
  eliminate_dead_code(*g);
  const Function& forward = frozen.get_method("forward").function();
  const std::vector<IValue> inputs = arguments_of_call(forward, IValue(frozen._ivalue()), given);
  const std::size_t n_given = std::min(given.size(), inputs.size());
  samples_.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(n_given));
  const FunctionSchema& schema = forward.schema();
  items_[g->inputs()[0]] = make(IValue(frozen._ivalue()), true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i >= n_given) {  // its default is a part of the program, as in torch
      items_[g->inputs()[i + 1]] = make(inputs[i], true);
      continue;
    }
    const std::string name = identifier("", schema.arguments.at(i + 1).name);
    in_tree_.emplace_back();
    items_[g->inputs()[i + 1]] = add_input(inputs[i], name, name, in_tree_.back());
    names_.push_back(name);
  }
  TENON_CHECK(unused_axes_.empty(), ValueError, "export_program: no input has the dynamic axis '",
              *unused_axes_.begin(), "'; the inputs are ", names_.dump());
  visit(*g->block());
  Json trees = Json::array();
  for (const Value* v : g->outputs()) trees.push_back(output(at(v), outputs_));
  write_state();
  out_tree_ = trees.size() == 1 ? trees[0] : tree_node("builtins.tuple", std::move(trees));
  drop_unused_numbers();
  for (const Json& o : outputs_) output_specs_.push_back({{"user_output", {{"arg", o}}}});
}

// Sizes that were asked with others, and what was computed from them.
void ProgramWriter::drop_unused_numbers() {
  Names used;
  add_names(outputs_, used);
  Json kept = Json::array();
  for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
    Json& node = graph_.nodes[i];
    if (expressions_.count(node["name"].get<std::string>()) && !mentions(node["outputs"], used))
      continue;
    drop_unused_results(node, used);
    for (const Json& in : node["inputs"]) add_names(in["arg"], used);
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.nodes = std::move(kept);
}

Json ProgramWriter::output(const Item& item, Json& outputs) {
  if (item.example.isTensor()) {
    const bool shows_state = !state_.empty() && is_weight(item.example.toTensor());
    outputs.push_back(tensor_argument(shows_state ? *copied(item) : item));
    return tree_leaf();
  }
  const IValue& v = item.example;
  TENON_CHECK(
      !grown_.count(&item) && !flags_.count(&item), NotImplementedError,
      "export_program: cannot write a result that is a list which a loop or branch by data has "
      "grown: stack it");
  const bool container = v.isList() || v.isTuple() || v.isGenericDict();
  if (!item.has_parts && container && item.constant) give_parts(const_cast<Item&>(item));
  if (!item.has_parts) {
    TENON_CHECK(is_known(item), NotImplementedError,
                "export_program: cannot write a result that is a bool by data: give the tensor");
    TENON_CHECK(!v.isString(), NotImplementedError, "export_program: cannot write the text '",
                v.toStringView(), "' as a result: torch reads none");
    outputs.push_back(item.number.empty() ? plain_argument(item.example) : number_argument(item));
    return tree_leaf();
  }
  Json children = Json::array();
  for (const Item* part : item.parts) children.push_back(output(*part, outputs));
  return tree_of_parts(item.example, item.keys, std::move(children));
}

void ProgramWriter::visit(const Node& n) {
  if (n.is("prim::Constant")) {
    const std::optional<IValue> v = to_constant(n.output());
    if (!v) refuse(n, "a function is not a value of exported programs");
    Item* made = make(*v, true);
    made->given = true;
    items_[n.output()] = made;
    return;
  }
  if (n.is("prim::If") && !is_by_data(at(n.input(0))))
    return visit_taken(n, *n.blocks()[decide(n, at(n.input(0))) ? 0 : 1]);
  if (n.is("prim::If") || (n.is("prim::Loop") && may_go_by_data(n))) return visit_by_data(n);
  if (n.is("prim::Loop")) return visit_loop(n);
  if (appends_.count(&n) || (!grown_.empty() && visit_grown(n))) return;
  if (!flags_.empty() && visit_flagged(n)) return;
  if (n.is("prim::GetAttr")) return void(items_[n.output()] = attribute(n));
  if (n.is("prim::SetAttr")) return set_attribute(n);
  if (n.is("prim::CreateObject")) return void(items_[n.output()] = make(new_object(n), true));
  if (n.is("prim::isinstance"))
    return void(items_[n.output()] = make(is_instance(n, at(n.input(0)).example), true));
  if (n.is("prim::unchecked_cast")) return void(items_[n.output()] = items_.at(n.input(0)));
  if (n.is("prim::data")) return void(items_[n.output()] = emit("aten::detach", {&at(n.input(0))}));
  if (n.is("aten::get_autocast_dtype"))
    return void(items_[n.output()] = make(call(n).at(0).at(0), true));
  if (n.is("prim::Uninitialized")) return void(items_[n.output()] = make({}, true));
  if (is_silent(n) || visit_nested(n) || visit_dict(n) || visit_list_change(n) ||
      visit_structure(n) || write_number(n) || write_constant(n) || fold(n) || visit_truth(n) ||
      visit_value(n) || visit_move(n) || visit_values(n))
    return;
  visit_operator(n);
}

// The results in each run.
std::vector<Stack> ProgramWriter::call(const Node& n) const {
  std::size_t runs = 1;
  for (const Value* v : n.inputs()) runs = std::max(runs, at(v).runs());
  std::vector<Stack> results(runs);
  for (std::size_t r = 0; r < runs; ++r) {
    for (const Value* v : n.inputs()) results[r].push_back(at(v).in_run(r));
    try {
      n.op->call(results[r], n.inputs().size());
    } catch (const Error& e) {
      if (r == 0) throw;
      core::throw_error(
          e.code(),
          core::join("export_program: the program fails where ", sizes_.describe(r), ": ", e.msg(),
                     "\nA range or fewer dynamic axes may help.\n", n.range.highlight()));
    }
  }
  return results;
}

// Numbers that are the same in every run become constants, others are computed from sizes.
bool ProgramWriter::fold(const Node& n) {
  if (!n.op || n.op->has_side_effects || n.outputs().empty() || dequantizes(n)) return false;
  bool constant = true, known = true;
  for (const Value* v : n.inputs()) {
    constant = constant && at(v).constant;
    known = known && is_known(at(v));
  }
  const bool asks = asks_rank_or_dtype(n) || asks_sizes(n) || n.is("aten::stride");
  if (!asks && !(known && is_arithmetic(n))) return false;
  const std::vector<Stack> runs = call(n);
  const auto fits = [constant](const IValue& v) {
    return constant ? holds_numbers(v) : !v.isTensor() || v.toTensor().dim() == 0;
  };
  if (!asks && n.op->op && !std::all_of(runs[0].begin(), runs[0].end(), fits)) return false;
  visit_number(n, runs);
  return true;
}

namespace {

// Draws random numbers by an operator of the host, which torch has.
bool draws_on_host(const Node& n) {
  static const std::set<std::string, std::less<>> kDraws = {
      "aten::bernoulli", "aten::cauchy",     "aten::exponential",
      "aten::geometric", "aten::log_normal", "aten::normal_functional",
      "aten::poisson",   "aten::random"};
  return n.op && !n.op->op && kDraws.count(n.kind()) != 0;
}

// An operator of the host that is one of tensors in torch, or in a library beside it, which has it
// under the same name.
bool is_of_tensors(const Node& n, const std::string& space) {
  static const std::set<std::string, std::less<>> kLibraries = {"torchvision", "transformers",
                                                                "quantized_decomposed"};
  static const std::set<std::string, std::less<>> kInAten = {
      "aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd",
      "aten::_convert_indices_from_coo_to_csr", "aten::_convert_indices_from_csr_to_coo",
      "aten::_grouped_mm"};
  if (!n.op || n.op->op) return false;
  if (space == "torchaudio") return true;  // they write to what they are given
  if (draws_on_host(n)) return true;
  if (n.op->has_side_effects) return false;
  if (n.is("aten::where")) return n.inputs().size() == 1;
  return kLibraries.count(space) != 0 || kInAten.count(n.kind()) != 0;
}

}  // namespace

void ProgramWriter::visit_operator(const Node& n) {
  const std::size_t colons = n.kind().find("::");
  const std::string space = n.kind().substr(0, colons);
  const bool of_host = is_of_tensors(n, space);
  if (n.op && !n.op->op && !of_host && n.outputs().size() == 1 &&
      !n.output()->type()->is(TypeKind::Tensor))
    refuse(n, "its result depends on data");
  if (!n.op || !(n.op->op || of_host)) refuse(n, "it is not an operator of tensors");
  if (n.op->form == Operator::Form::Out) refuse(n, "it writes to given outputs");
  if (space != "aten" && !of_host) refuse(n, "torch does not have it");
  const FunctionSchema& schema = n.op->schema;
  const std::string base = schema.name.substr(colons + 2);
  const bool by_data = gives_sizes_by_data(n);
  Json inputs = inputs_of(n);
  give_memory_per_run(n);
  const std::vector<Stack> runs = call(n);
  Json outputs = Json::array();
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    Item* made = result_of_run(runs, k);
    made->sizes_by_data = by_data;
    if (n.op->op && n.op->op->flags & core::kOpDynamic) note_unknown_sizes(*made);
    outputs.push_back(result(n, identifier("", base), *made));
    if (outputs.back().is_null()) refuse(n, "its result is a number that depends on data");
    items_[n.output(k)] = made;
  }
  const bool one = outputs.size() == 1 && outputs[0].contains("as_tensor");
  const std::string name =
      one ? outputs[0]["as_tensor"]["name"].get<std::string>() : fresh(identifier("", base));
  const std::string overload = schema.overload.empty() ? "default" : schema.overload;
  add_node("torch.ops." + space + "." + base + "." + overload, std::move(inputs),
           std::move(outputs), name);
}

void ProgramWriter::add_node(const std::string& target, Json inputs, Json outputs,
                             const std::string& name) {
  graph_.nodes.push_back({{"target", target},
                          {"inputs", std::move(inputs)},
                          {"outputs", std::move(outputs)},
                          {"metadata", Json::object()},
                          {"name", name}});
}

Json ProgramWriter::result(const Node& n, const std::string& base, Item& to) {
  if (to.example.isTensor() && !to.example.toTensor().defined()) {  // attention without its weights
    to.example = IValue();
    to.others.clear();
    to.constant = true;
    return {{"as_none", true}};
  }
  if (to.example.isTensor()) {
    add_tensor(base, to);
    return tensor_argument(to);
  }
  if (!to.example.isList() || !to.example.toListRef().element->is(TypeKind::Tensor)) return {};
  Json names = Json::array();
  to.has_parts = true;
  for (std::size_t i = 0; i < to.example.toListRef().items.size(); ++i) {
    Item* part = make(to.example.toListRef().items[i]);
    for (const IValue& run : to.others) {
      if (run.toListRef().items.size() != to.example.toListRef().items.size())
        refuse(n, "the number of its results depends on a size that varies");
      part->others.push_back(run.toListRef().items[i]);
    }
    part->sizes_by_data = to.sizes_by_data;
    add_tensor(base, *part);
    to.parts.push_back(part);
    names.push_back({{"name", part->name}});
  }
  return {{"as_tensors", std::move(names)}};
}

}  // namespace tenon::jit::formats
