// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What goes into the graph of an exported program and what comes out: parameters, buffers, results,
// and what is written back.
#include "jit/formats/exported/build.h"

#include "tenon/runtime/error.h"

namespace tenon::jit::formats {

ExportedBuilder::ExportedBuilder(const Json& program, CompilationUnit& unit, ClassTypePtr cls,
                                 PlaceDevice place)
    : program_(program),
      module_(member(program, "graph_module")),
      graph_json_(member(module_, "graph")),
      unit_(unit),
      cls_(std::move(cls)),
      place_(std::move(place)),
      graph_(std::make_shared<Graph>()),
      source_(std::make_shared<Source>()),
      graph_at_hand_(&graph_json_) {
  source_->file = "graph of the exported program";
}

Node* ExportedBuilder::insert(std::string_view kind, const std::vector<Value*>& inputs,
                              const std::vector<TypePtr>& types) {
  Node* n = graph_->insert(graph_->create(kind, inputs, types.size()));
  n->range = range_;
  for (std::size_t i = 0; i < types.size(); ++i) n->output(i)->set_type(types[i]);
  return n;
}

std::vector<Value*> ExportedBuilder::apply(std::string_view full_name,
                                           const std::vector<Value*>& inputs) {
  const Operator* op = find_operator(full_name);
  TENON_CHECK(op, NotImplementedError, "there is no operator ", full_name);
  TENON_CHECK(op->schema.arguments.size() == inputs.size(), Error, full_name, " takes ",
              op->schema.arguments.size(), " arguments, not ", inputs.size());
  std::vector<TypePtr> types;
  for (const Argument& r : op->schema.returns)
    types.push_back(r.type->is(TypeKind::Var) ? Type::any() : r.type);
  Node* n = insert(op->schema.name, inputs, types);
  n->op = op;
  return n->outputs();
}

// What the signature says of one input of the graph.
void ExportedBuilder::read_input(const Json& spec) {
  const Tagged t = tagged(spec, "an input's specification");
  const auto lift = [&](const char* key) {
    lifted_.emplace_back(text_of(member(member(t.value, "arg"), "name"), "the name of an input"),
                         text_of(member(t.value, key), key));
  };
  if (t.tag == "parameter") return lift("parameter_name");
  if (t.tag == "buffer") return lift("buffer_name");
  if (t.tag == "tensor_constant") return lift("tensor_constant_name");
  if (t.tag == "custom_obj") {
    const Json& arg = member(t.value, "arg");
    throw NotImplementedError(core::join(
        "the program holds an object of class ", text_of(member(arg, "class_fqn"), "class_fqn"),
        " as '", text_of(member(t.value, "custom_obj_name"), "custom_obj_name"),
        "'; objects of C++ classes are not supported"));
  }
  if (t.tag == "token") {
    tokens_.push_back(text_of(member(member(t.value, "arg"), "name"), "the name of a token"));
    return;
  }
  UserInput in;
  const bool fixed = t.tag == "constant_input";
  TENON_CHECK(fixed || t.tag == "user_input", ValueError, "unknown kind of input '", t.tag, "'");
  const Tagged arg = tagged(member(t.value, fixed ? "value" : "arg"), "an input");
  if (arg.tag == "as_tensor" || arg.tag == "as_optional_tensor") {
    const Json& tensor = arg.tag == "as_tensor" ? arg.value : tagged(arg.value, "an input").value;
    in.name = text_of(member(tensor, "name"), "the name of an input");
    in.type = Type::tensor();
  } else if (arg.tag == "as_none") {
    in.type = Type::none();
    in.constant = IValue();
  } else if (arg.tag == "as_int") {
    in.type = Type::integer();
    in.constant = IValue(integer_of(arg.value, "an input"));
  } else if (arg.tag == "as_float") {
    in.type = Type::floating();
    in.constant = IValue(real_of(arg.value, "an input"));
  } else if (arg.tag == "as_bool") {
    in.type = Type::boolean();
    in.constant = IValue(boolean_of(arg.value, "an input"));
  } else if (arg.tag == "as_string") {
    in.type = Type::string();
    in.constant = IValue(text_of(arg.value, "an input"));
  } else if (arg.tag == "as_sym_int" || arg.tag == "as_sym_float" || arg.tag == "as_sym_bool") {
    in.type = arg.tag == "as_sym_int"     ? Type::integer()
              : arg.tag == "as_sym_float" ? Type::floating()
                                          : Type::boolean();
    in.name = text_of(member(arg.value, "as_name"), "the name of an input");
  } else {
    throw NotImplementedError(core::join("inputs of kind '", arg.tag, "' are not supported"));
  }
  inputs_.push_back(std::move(in));
}

void ExportedBuilder::read_inputs() {
  const Json& specs = list_of(member(member(module_, "signature"), "input_specs"), "input_specs");
  for (const Json& spec : specs) read_input(spec);
}

// The value of "layer1.0.weight", read from self where it is first asked for.
Value* ExportedBuilder::attribute(const std::string& dotted) {
  if (const auto it = attributes_.find(dotted); it != attributes_.end()) return it->second;
  const std::size_t dot = dotted.rfind('.');
  Value* owner = dot == std::string::npos ? self_ : attribute(dotted.substr(0, dot));
  const std::string name = dotted.substr(dot + 1);
  const ClassType* cls = as_class(owner->type());
  const ClassAttribute* a = cls ? cls->find_attribute(name) : nullptr;
  TENON_CHECK(a, ValueError, "the graph asks for '", dotted,
              "', which is not among the weights and constants");
  Node* n = insert("prim::GetAttr", {owner}, {a->type});
  n->set("name", Attribute(std::in_place_type<std::string>, name));
  n->output()->set_name(name);
  return attributes_[dotted] = n->output();
}

void ExportedBuilder::add_parameters() {
  for (const std::string& name : tokens_) top_.values[name] = constant(IValue());
  for (const auto& [name, dotted] : lifted_) {
    Value* v = attribute(dotted);
    TENON_CHECK(v->type()->is(TypeKind::Tensor), ValueError, "'", dotted, "' is not a tensor");
    top_.values[name] = v;
  }
}

// After all nodes: buffers and inputs become what the functional form computed for them.
void ExportedBuilder::write_back(const Json& spec) {
  const Tagged t = tagged(spec, "an output's specification");
  const bool buffer = t.tag == "buffer_mutation", parameter = t.tag == "parameter_mutation";
  if (!buffer && !parameter && t.tag != "user_input_mutation") return;
  Value* from = named(member(member(t.value, "arg"), "name"), top_);
  if (buffer || parameter) {
    const char* key = buffer ? "buffer_name" : "parameter_name";
    apply("exported::write_back", {attribute(text_of(member(t.value, key), key)), from});
  } else {
    Value* to = named(member(t.value, "user_input_name"), top_);
    apply("aten::copy_", {to, from, constant(false)});
  }
}

Value* ExportedBuilder::build_tree(const Tree& tree, const std::vector<Value*>& leaves,
                                   std::size_t& at, const TypePtr& type) {
  if (tree.kind == Tree::Kind::Leaf) return leaves.at(at++);
  const bool tuple = tree.kind == Tree::Kind::Tuple || tree.kind == Tree::Kind::NamedTuple;
  const std::vector<TypePtr>& of = type->contained();
  std::vector<Value*> parts;
  for (std::size_t i = 0; i < tree.children.size(); ++i) {
    if (tree.kind == Tree::Kind::Dict) parts.push_back(constant(tree.keys[i]));
    // An element of a container of Any has the type of its own form.
    TypePtr own = tuple ? of.at(i) : of.back();
    if (own->is(TypeKind::Any) && tree.children[i].kind != Tree::Kind::Leaf) {
      std::vector<TypePtr> types;
      for (std::size_t k = at; k < at + tree.children[i].leaves(); ++k)
        types.push_back(leaves.at(k)->type());
      std::size_t first = 0;
      own = type_of_tree(tree.children[i], types, first, unit_);
    }
    parts.push_back(build_tree(tree.children[i], leaves, at, own));
  }
  const char* kind = tuple                           ? "prim::TupleConstruct"
                     : tree.kind == Tree::Kind::List ? "prim::ListConstruct"
                                                     : "prim::DictConstruct";
  return insert1(kind, parts, type);
}

void ExportedBuilder::write_outputs() {
  const Json& specs = list_of(member(member(module_, "signature"), "output_specs"), "output_specs");
  std::vector<Value*> leaves;
  std::size_t n_gradients = 0;  // of a program with its backward
  for (const Json& spec : specs) {
    const Tagged t = tagged(spec, "an output's specification");
    const bool gradient = t.tag == "gradient_to_parameter" || t.tag == "gradient_to_user_input";
    if (gradient || t.tag == "loss_output") {
      leaves.push_back(named(member(member(t.value, "arg"), "name"), top_));
      n_gradients += gradient;
    } else if (t.tag == "user_output") {
      leaves.push_back(argument(member(t.value, "arg"), top_));
    } else {
      TENON_CHECK(t.tag == "buffer_mutation" || t.tag == "parameter_mutation" ||
                      t.tag == "user_input_mutation" || t.tag == "token",
                  NotImplementedError, "outputs of kind '", t.tag, "' are not supported");
    }
  }
  for (const Json& spec : specs) write_back(spec);
  const Json& calls = list_of(member(module_, "module_call_graph"), "module_call_graph");
  TENON_CHECK(!calls.empty(), ValueError, "the list module_call_graph is empty");
  Tree tree = parse_tree(text_of(member(member(calls[0], "signature"), "out_spec"), "out_spec"),
                         find_member(module_, "treespec_namedtuple_fields"));
  // The form is that of forward alone: what it gave, then the gradients.
  if (n_gradients != 0 && tree.leaves() + n_gradients == leaves.size()) {
    Tree all;
    all.kind = Tree::Kind::Tuple;
    all.children.assign(n_gradients + 1, Tree());
    all.children[0] = std::move(tree);
    tree = std::move(all);
  }
  TENON_CHECK(tree.leaves() == leaves.size(), ValueError, "the graph has ", leaves.size(),
              " results, but the form of the result has ", tree.leaves());
  std::vector<TypePtr> types;
  types.reserve(leaves.size());
  for (const Value* v : leaves) types.push_back(v->type());
  std::size_t at = 0;
  const TypePtr type = type_of_tree(tree, types, at, unit_);
  at = 0;
  graph_->register_output(build_tree(tree, leaves, at, type));
  Argument result;
  result.type = type;
  schema_.returns = {result};
}

std::pair<std::shared_ptr<Graph>, FunctionSchema> ExportedBuilder::build() {
  graph_->set_insert_point(graph_->block());
  schema_.name = cls_->name() + ".forward";
  Argument self;
  self.name = "self";
  self.type = cls_;
  schema_.arguments = {self};
  self_ = graph_->add_input("self", cls_);
  read_inputs();
  add_arguments();
  add_parameters();
  check_inputs();
  add_nodes(graph_json_, top_);
  range_ = {};
  std::string text;
  for (const auto& [what, times] : missing_)
    text += core::join("\n  ", what, ", ", times, times == 1 ? " call" : " calls");
  TENON_CHECK(missing_.empty(), NotImplementedError, "the program needs ", missing_.size(),
              missing_.size() == 1 ? " operator that is" : " operators that are",
              " not there:", text);
  write_outputs();
  return {graph_, schema_};
}

}  // namespace tenon::jit::formats
