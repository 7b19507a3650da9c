// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/formats/exported/program_writer.h"

#include <algorithm>

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

const std::vector<IValue>& items_of(const IValue& v) {
  return v.isTuple() ? v.toTupleRef().items : v.toListRef().items;
}

// Nothing happens at these where the program runs through.
bool is_silent(const Node& n) {
  return n.is("prim::RaiseException") || n.is("prim::Print") || n.is("aten::warn");
}

}  // namespace

ProgramWriter::ProgramWriter(const Module& m) : module_(m) {
  if (module_.is_training()) {
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
  tensors_[name] = tensor_meta(t, requires_grad);
  return name;
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

const ProgramWriter::Item* ProgramWriter::add_input(const IValue& example, const std::string& name,
                                                    Json& tree) {
  Item* made = make(example);
  if (example.isTensor()) {
    made->example = example.toTensor().detach().clone();  // the program may write it
    made->name = add_tensor(name, example.toTensor());
    tree = tree_leaf();
    inputs_.push_back({{"as_tensor", {{"name", made->name}}}});
    specs_.push_back({{"user_input", {{"arg", {{"as_tensor", {{"name", made->name}}}}}}}});
    return made;
  }
  if (!example.isTuple() && !example.isList()) {  // a number is a part of the program
    made->constant = true;
    tree = tree_leaf();
    const Json value = plain_argument(example);
    inputs_.push_back(value);
    specs_.push_back({{"user_input", {{"arg", value}}}});
    return made;
  }
  Json children = Json::array();
  made->has_parts = true;
  for (const IValue& v : items_of(example)) {
    children.emplace_back();
    made->parts.push_back(add_input(v, name, children.back()));
  }
  tree = tree_node(example.isTuple() ? "builtins.tuple" : "builtins.list", std::move(children));
  return made;
}

void ProgramWriter::walk(const std::vector<IValue>& given) {
  const NoGradGuard no_grad;
  const Module frozen = freeze(module_, std::nullopt, false);
  const std::shared_ptr<Graph> g = frozen.get_method("forward").graph()->copy();
  remove_dropout(*g);
  remove_checks(*g);
  lower_tuples(*g);
  eliminate_dead_code(*g);
  const std::vector<IValue> inputs =
      with_defaults(frozen.get_method("forward").function().schema(), given);
  TENON_CHECK(inputs.size() + 1 == g->inputs().size(), ValueError,
              "export_program: the program takes ", g->inputs().size() - 1, " inputs, ",
              inputs.size(), " examples were given");
  samples_ = inputs;
  items_[g->inputs()[0]] = make(IValue(frozen._ivalue()), true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = identifier("", g->inputs()[i + 1]->debug_name());
    in_tree_.emplace_back();
    items_[g->inputs()[i + 1]] = add_input(inputs[i], name, in_tree_.back());
    names_.push_back(name);
  }
  visit(*g->block());
  Json trees = Json::array();
  for (const Value* v : g->outputs()) trees.push_back(output(at(v), outputs_));
  out_tree_ = trees.size() == 1 ? trees[0] : tree_node("builtins.tuple", std::move(trees));
  for (const Json& o : outputs_) output_specs_.push_back({{"user_output", {{"arg", o}}}});
}

Json ProgramWriter::output(const Item& item, Json& outputs) {
  if (item.example.isTensor()) {
    outputs.push_back({{"as_tensor", {{"name", name_of(item)}}}});
    return tree_leaf();
  }
  if (!item.has_parts) {
    outputs.push_back(plain_argument(item.example));
    return tree_leaf();
  }
  Json children = Json::array();
  for (const Item* part : item.parts) children.push_back(output(*part, outputs));
  return tree_node(item.example.isTuple() ? "builtins.tuple" : "builtins.list",
                   std::move(children));
}

void ProgramWriter::visit(const Block& b) {
  for (const Node* n : b.nodes()) visit(*n);
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
  if (n.is("prim::If")) {
    const Item& condition = at(n.input(0));
    if (!condition.constant) refuse(n, "a branch by data");
    const Block& taken = *n.blocks()[condition.example.toBool() ? 0 : 1];
    visit(taken);
    for (std::size_t k = 0; k < n.outputs().size(); ++k)
      items_[n.output(k)] = items_.at(taken.outputs()[k]);
    return;
  }
  if (n.is("prim::Loop")) return visit_loop(n);
  if (n.is("prim::GetAttr")) {  // of what freezing left, since it may be written
    Item* made = make(at(n.input(0)).example.toObject()->getAttr(n.s("name")), true);
    made->given = true;
    return void(items_[n.output()] = made);
  }
  if (n.is("prim::isinstance"))
    return void(items_[n.output()] = make(is_instance(n, at(n.input(0)).example), true));
  if (n.is("prim::unchecked_cast")) return void(items_[n.output()] = items_.at(n.input(0)));
  if (n.is("prim::Uninitialized")) return void(items_[n.output()] = make({}, true));
  if (is_silent(n) || visit_list_change(n) || visit_structure(n) || write_constant(n) || fold(n))
    return;
  visit_operator(n);
}

// Turn by turn, as many as there are.
void ProgramWriter::visit_loop(const Node& n) {
  const Block& body = *n.blocks()[0];
  const auto is_true = [&](const Item& condition) {
    if (!condition.constant) refuse(n, "a loop whose turns depend on data");
    return condition.example.toBool();
  };
  if (!at(n.input(0)).constant) refuse(n, "a loop whose turns depend on data");
  std::vector<const Item*> carried;
  for (std::size_t k = 2; k < n.inputs().size(); ++k) carried.push_back(&at(n.input(k)));
  bool goes_on = is_true(at(n.input(1)));
  for (int64_t turn = 0, most = at(n.input(0)).example.toInt(); turn < most && goes_on; ++turn) {
    items_[body.inputs()[0]] = make(turn, true);
    for (std::size_t k = 0; k < carried.size(); ++k) items_[body.inputs()[k + 1]] = carried[k];
    visit(body);
    goes_on = is_true(at(body.outputs()[0]));
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = &at(body.outputs()[k + 1]);
  }
  for (std::size_t k = 0; k < carried.size(); ++k) items_[n.output(k)] = carried[k];
}

std::vector<IValue> ProgramWriter::examples_of(const std::vector<const Item*>& parts) {
  std::vector<IValue> values;
  values.reserve(parts.size());
  for (const Item* p : parts) values.push_back(p->example);
  return values;
}

// The list that `v` is, of these elements.
IValue ProgramWriter::list_of(const std::vector<const Item*>& parts, const Value& v) {
  return IValue(
      core::Ref<ivalue::List>::adopt(new ivalue::List(v.type()->element(), examples_of(parts))));
}

// Changes of a list: of numbers that are known as the program does it, else one more element.
bool ProgramWriter::visit_list_change(const Node& n) {
  static const std::set<std::string, std::less<>> kChanges = {
      "aten::append",  "aten::add_",      "aten::extend", "aten::insert",
      "aten::pop",     "aten::_set_item", "aten::sort",   "aten::clear",
      "aten::reverse", "aten::Delete",    "aten::remove"};
  if (!kChanges.count(n.kind()) || !n.input(0)->type()->is(TypeKind::List)) return false;
  Item& list = const_cast<Item&>(at(n.input(0)));  // every value that is this list sees it
  bool known = true;
  for (const Value* v : n.inputs()) known = known && at(v).constant;
  if (known && n.op) {
    Stack stack;
    for (const Value* v : n.inputs()) stack.push_back(at(v).example);
    n.op->call(stack, n.inputs().size());
    list.parts.clear();
    list.has_parts = false;
    for (std::size_t k = 0; k < n.outputs().size(); ++k)
      items_[n.output(k)] =
          n.output(k)->type()->is(TypeKind::List) ? &list : make(stack.at(k), true);
    return true;
  }
  const bool set = n.is("aten::_set_item");
  if (!n.is("aten::append") && !n.is("aten::add_") && !n.is("aten::extend") &&
      !(set && at(n.input(1)).constant))
    refuse(n, "a list that depends on data");
  give_parts(list);
  Item& more = const_cast<Item&>(at(n.input(set ? 2 : 1)));
  if (set) {
    const int64_t i = at(n.input(1)).example.toInt(),
                  length = static_cast<int64_t>(list.parts.size());
    list.parts.at(static_cast<std::size_t>(i < 0 ? i + length : i)) = &more;
  } else if (n.is("aten::append")) {
    list.parts.push_back(&more);
  } else {
    give_parts(more);
    list.parts.insert(list.parts.end(), more.parts.begin(), more.parts.end());
  }
  list.constant = false;
  list.example = list_of(list.parts, *n.input(0));
  if (!n.outputs().empty()) items_[n.output()] = &list;
  return true;
}

// Of a list or tuple that is known, whose elements become values of their own.
void ProgramWriter::give_parts(Item& list) {
  if (list.has_parts) return;
  list.has_parts = true;
  for (const IValue& v : items_of(list.example)) list.parts.push_back(make(v, true));
}

bool ProgramWriter::visit_structure(const Node& n) {
  const bool list = n.is("prim::ListConstruct");
  if (list || n.is("prim::TupleConstruct")) {
    Item* made = make({});
    made->has_parts = made->constant = true;
    for (const Value* v : n.inputs()) {
      made->parts.push_back(&at(v));
      made->constant = made->constant && at(v).constant;
    }
    made->example =
        list ? list_of(made->parts, *n.output())
             : IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(examples_of(made->parts))));
    items_[n.output()] = made;
    return true;
  }
  const bool unpacks = n.is("prim::ListUnpack") || n.is("prim::TupleUnpack");
  if (unpacks && at(n.input(0)).constant) give_parts(const_cast<Item&>(at(n.input(0))));
  if (n.inputs().empty() || !at(n.input(0)).has_parts) return false;
  const std::vector<const Item*>& parts = at(n.input(0)).parts;
  if (n.is("aten::add") && n.inputs().size() == 2 && at(n.input(1)).has_parts) {
    Item* made = make({}, at(n.input(0)).constant && at(n.input(1)).constant);
    made->has_parts = true;
    made->parts = parts;
    for (const Item* p : at(n.input(1)).parts) made->parts.push_back(p);
    made->example = list_of(made->parts, *n.output());
    items_[n.output()] = made;
    return true;
  }
  if (unpacks) {
    for (std::size_t k = 0; k < n.outputs().size(); ++k) items_[n.output(k)] = parts.at(k);
    return true;
  }
  if ((n.is("aten::__getitem__") || n.is("prim::TupleIndex")) && at(n.input(1)).constant) {
    int64_t i = at(n.input(1)).example.toInt();
    if (i < 0) i += static_cast<int64_t>(parts.size());
    items_[n.output()] = parts.at(static_cast<std::size_t>(i));
    return true;
  }
  return false;
}

namespace {

bool writes_first(const Node& n) {
  return n.op && n.op->op && n.op->form == Operator::Form::Inplace && n.outputs().size() == 1;
}

bool is_written(const Value& v) {
  return std::any_of(v.uses().begin(), v.uses().end(),
                     [](const Use& u) { return u.index == 0 && writes_first(*u.user); });
}

bool shares_memory(const IValue& v, const Tensor& t) {
  return v.isTensor() && v.toTensor().defined() && v.toTensor().has_storage() &&
         v.toTensor().is_alias_of(t);
}

}  // namespace

bool ProgramWriter::is_weight(const Tensor& t) const {
  return std::any_of(weights_.begin(), weights_.end(), [&](const Weight& w) {
    return w.kind != Weight::Kind::Constant && shares_memory(w.tensor, t);
  });
}

// Numbers, and lists of them: recorded programs, and those of ONNX, compute with sizes as tensors.
bool ProgramWriter::holds_numbers(const IValue& v) {
  constexpr int64_t kMaxNumbers = 64;
  if (!v.isTensor()) return true;
  const Tensor& t = v.toTensor();
  return t.defined() && t.layout() == kStrided && t.numel() <= kMaxNumbers &&
         (t.dim() == 0 || isIntegralType(t.scalar_type(), /*includeBool=*/true));
}

// Whether the node computes with numbers alone; those that fill a tensor are asked what they give.
bool ProgramWriter::is_arithmetic(const Node& n) const {
  if (!n.op->op) return true;  // of the host
  const auto is_number = [&](const Value* v) {
    return at(v).example.isTensor() && at(v).example.toTensor().dim() == 0;
  };
  const bool scalars = std::any_of(n.inputs().begin(), n.inputs().end(), is_number);
  return std::all_of(n.inputs().begin(), n.inputs().end(),
                     [&](const Value* v) { return holds_numbers(at(v).example); }) &&
         std::all_of(n.outputs().begin(), n.outputs().end(), [&](const Value* v) {
           return !v->type()->is(TypeKind::List) && (scalars || !is_written(*v));
         });
}

// Numbers that are the same in every run become constants.
bool ProgramWriter::fold(const Node& n) {
  if (!n.op || n.op->has_side_effects || n.outputs().empty()) return false;
  bool constant = true;
  for (const Value* v : n.inputs()) constant = constant && at(v).constant;
  const bool asks = asks_rank_or_dtype(n) || asks_sizes(n);
  if (!asks && !(constant && is_arithmetic(n))) return false;
  Stack stack;
  for (const Value* v : n.inputs()) stack.push_back(at(v).example);
  n.op->call(stack, n.inputs().size());
  if (!asks && n.op->op && !std::all_of(stack.begin(), stack.end(), holds_numbers)) return false;
  for (std::size_t k = 0; k < n.outputs().size(); ++k)
    items_[n.output(k)] = make(stack.at(k), true);
  return true;
}

// A write to a constant. With constants it happens here, in the memory of the example, so that all
// views see it. With what depends on data the program writes to a copy, which is new in every run.
bool ProgramWriter::write_constant(const Node& n) {
  if (!writes_first(n) || !at(n.input(0)).constant) return false;
  Item& target = const_cast<Item&>(at(n.input(0)));
  if (!target.example.isTensor() || !target.example.toTensor().has_storage()) return false;
  const Tensor memory = target.example.toTensor();
  bool known = (n.op->op->flags & core::kOpRandom) == 0 && !target.given, alone = true;
  for (const Value* v : n.inputs()) known = known && at(v).constant;
  for (const auto& item : all_) {
    if (item.get() == &target || !shares_memory(item->example, memory)) continue;
    known = known && item->constant && !item->given;
    alone = false;
  }
  if (!known) {
    if (alone && !is_weight(memory)) copy_constant(target);
    return false;
  }
  for (Weight& w : weights_)
    if (shares_memory(w.tensor, memory)) w.tensor = w.tensor.clone();  // as it was until now
  Stack stack;
  for (const Value* v : n.inputs()) stack.push_back(at(v).example);
  n.op->call(stack, n.inputs().size());
  for (const auto& item : all_)
    if (shares_memory(item->example, memory)) item->name.clear();
  items_[n.output()] = &target;
  return true;
}

void ProgramWriter::copy_constant(Item& item) {
  const Json self{
      {"name", "self"}, {"arg", {{"as_tensor", {{"name", name_of(item)}}}}}, {"kind", 1}};
  item.example = item.example.toTensor().clone();
  item.constant = item.given = false;
  item.name = add_tensor("clone", item.example.toTensor());
  nodes_.push_back({{"target", "torch.ops.aten.clone.default"},
                    {"name", item.name},
                    {"inputs", Json::array({self})},
                    {"outputs", Json::array({{{"as_tensor", {{"name", item.name}}}}})},
                    {"metadata", Json::object()}});
}

void ProgramWriter::visit_operator(const Node& n) {
  if (n.op && !n.op->op && n.outputs().size() == 1 && !n.output()->type()->is(TypeKind::Tensor))
    refuse(n, "its result depends on data");
  if (!n.op || !n.op->op) refuse(n, "it is not an operator of tensors");
  if (n.op->form == Operator::Form::Out) refuse(n, "it writes to given outputs");
  const FunctionSchema& schema = n.op->schema;
  if (schema.name.compare(0, 6, "aten::") != 0) refuse(n, "torch does not have it");
  const std::string base = schema.name.substr(6);
  Json node{{"target", "torch.ops.aten." + base + "." +
                           (schema.overload.empty() ? "default" : schema.overload)},
            {"inputs", inputs_of(n)},
            {"metadata", Json::object()}};
  Stack stack;
  for (const Value* v : n.inputs()) stack.push_back(at(v).example);
  n.op->call(stack, n.inputs().size());
  Json outputs = Json::array();
  for (std::size_t k = 0; k < n.outputs().size(); ++k) {
    Item* made = make(stack.at(k));
    outputs.push_back(result(stack[k], identifier("", base), *made));
    if (outputs.back().is_null()) refuse(n, "its result is a number that depends on data");
    items_[n.output(k)] = made;
  }
  const bool one = outputs.size() == 1 && outputs[0].contains("as_tensor");
  node["name"] = one ? outputs[0]["as_tensor"]["name"] : Json(fresh(identifier("", base)));
  node["outputs"] = std::move(outputs);
  nodes_.push_back(std::move(node));
}

Json ProgramWriter::result(const IValue& v, const std::string& base, Item& to) {
  if (v.isTensor()) {
    to.name = add_tensor(base, v.toTensor());
    return {{"as_tensor", {{"name", to.name}}}};
  }
  if (!v.isList() || !v.toListRef().element->is(TypeKind::Tensor)) return {};
  Json names = Json::array();
  to.has_parts = true;
  for (const IValue& item : v.toListRef().items) {
    Item* part = make(item);
    part->name = add_tensor(base, item.toTensor());
    to.parts.push_back(part);
    names.push_back({{"name", part->name}});
  }
  return {{"as_tensors", std::move(names)}};
}

}  // namespace tenon::jit::formats
