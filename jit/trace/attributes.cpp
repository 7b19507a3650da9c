// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From functions whose graphs hold tensors and objects to modules with attributes.
#include <set>

#include "jit/trace/program.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace tracing {
namespace {

// What the constant is: a tensor or an object.
const void* identity(const Node& n) {
  if (!n.is("prim::Constant") || !n.has("value")) return nullptr;
  const IValue& v = n.ival("value");
  if (v.isTensor()) return v.toTensor().unsafeGetTensorImpl();
  return v.isObject() ? &v.toObjectRef() : nullptr;
}

// self.layer1.weight, each step once.
class Paths {
 public:
  Paths(Graph& graph, Value* self) : graph_(graph) { made_[{}] = self; }
  Value* get(const std::vector<std::string>& names) {
    if (auto it = made_.find(names); it != made_.end()) return it->second;
    const std::vector<std::string> outer(names.begin(), names.end() - 1);
    Value* object = get(outer);
    const ClassAttribute* a = as_class(object->type())->find_attribute(names.back());
    TENON_CHECK(a, Error, "trace: there is no attribute ", names.back());
    Node* n = graph_.insert(graph_.create("prim::GetAttr", {object}));
    n->set("name", names.back());
    return made_[names] = n->output()->set_type(a->type);
  }

 private:
  Graph& graph_;
  std::map<std::vector<std::string>, Value*> made_;
};

}  // namespace

std::shared_ptr<Graph> with_self(const Graph& graph, const Module& self,
                                 const Attributes& attributes) {
  auto made = std::make_shared<Graph>();
  Value* object = made->add_input("self", self.type());
  std::map<const Value*, Value*> map;
  for (const Value* v : graph.inputs()) map[v] = made->add_input(v->name(), v->type());
  for (Value* v : made->inline_block(*graph.block(), map)) made->register_output(v);
  Paths paths(*made, object);
  made->set_insert_point(made->block()->param_node()->next());
  for (Node* n : made->block()->nodes()) {
    const auto it = attributes.find(identity(*n));
    if (it == attributes.end() || n->output()->uses().empty()) continue;
    n->output()->replace_all_uses_with(paths.get(it->second.names));
    n->destroy();
  }
  made->set_insert_point(made->block());
  made->lint();
  return made;
}

void add_forward(Module& m, std::shared_ptr<Graph> graph, const FunctionSchema& without_self) {
  FunctionSchema schema = without_self;
  Argument self;
  self.name = "self";
  self.type = m.type();
  schema.arguments.insert(schema.arguments.begin(), std::move(self));
  const std::string name = m.type()->name() + ".forward";
  m.type()->add_method(m.unit()->add_function(
      std::make_unique<Function>(name, std::move(graph), std::move(schema))));
}

namespace {

void add_buffers_and_parameters(const nn::Module& from, Module& to,
                                const std::vector<std::string>& path, Attributes& attributes) {
  const auto add = [&](const auto& named, bool is_buffer) {
    for (const auto& item : named) {
      if (!item.value().defined()) continue;
      to.register_parameter(item.key(), item.value(), is_buffer);
      AttributePath at{path};
      at.names.push_back(item.key());
      attributes.emplace(item.value().unsafeGetTensorImpl(), std::move(at));
    }
  };
  add(from.named_parameters(false), false);
  add(from.named_buffers(false), true);
}

// The classes of a program have names of their own: "__torch__.Net", "__torch__.Net_layer1".
class Tree {
 public:
  explicit Tree(Attributes& attributes) : attributes_(attributes) {}

  Module make(const nn::Module& from, const std::string& name,
              const std::vector<std::string>& path) {
    Module made(name);
    made._ivalue()->setAttr("training", from.is_training());
    add_buffers_and_parameters(from, made, path, attributes_);
    for (const auto& child : from.named_children()) {
      std::vector<std::string> inner = path;
      inner.push_back(child.key());
      made.register_module(child.key(), make(*child.value(), name + "_" + child.key(), inner));
    }
    return made;
  }

 private:
  Attributes& attributes_;
};

// Modules of programs that the graph calls become submodules; captured tensors that require grad
// parameters.
void add_captured(const Graph& graph, Module& to, Attributes& attributes) {
  int objects = 0, tensors = 0;
  for (const Node* n : graph.block()->nodes()) {
    const void* id = identity(*n);
    if (!id || attributes.count(id)) continue;
    const IValue& v = n->ival("value");
    if (v.isModule()) {
      const std::string name = "called_" + std::to_string(objects++);
      to.register_module(name, Module(v.toObject(), to.unit()));
      attributes.emplace(id, AttributePath{{name}});
    } else if (v.isTensor() && v.toTensor().requires_grad() && v.toTensor().is_leaf()) {
      const std::string name = "captured_" + std::to_string(tensors++);
      to.register_parameter(name, v.toTensor());
      attributes.emplace(id, AttributePath{{name}});
    }
  }
}

void freeze(const Module& m) {
  for (const Module& each : m.modules()) {
    if (each.type()->methods().empty()) each.type()->frozen_by_tracing = true;
  }
  m.type()->frozen_by_tracing = true;
}

// The last part of "tenon::nn::LinearImpl".
std::string class_name(const nn::Module& m) {
  const std::string& full = m.name();
  std::string name;
  for (char c : full.substr(full.rfind(':') + 1)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain ? c : '_';
  }
  const std::size_t impl = name.rfind("Impl");  // of TENON_MODULE
  if (impl != std::string::npos && impl > 0 && impl + 4 == name.size()) name.erase(impl);
  return "__torch__." + (name.empty() ? std::string("Module") : name);
}

Module finished(Module m, Attributes attributes, const TracedProgram& program) {
  const Graph& graph = *program.graph();
  m.unit()->keep(program.unit());
  add_captured(graph, m, attributes);
  add_forward(m, with_self(graph, m, attributes), program.function().schema());
  freeze(m);
  return m;
}

}  // namespace

Module module_of(const nn::Module& module, const TracedProgram& program) {
  Attributes attributes;
  Module m = Tree(attributes).make(module, class_name(module), {});
  return finished(std::move(m), std::move(attributes), program);
}

}  // namespace tracing

Module TracedProgram::module() const {
  return tracing::finished(Module("__torch__.Traced"), {}, *this);
}

void TracedProgram::add_to(CompilationUnit& unit, const std::string& name) const {
  unit.keep(unit_);
  unit.add_function(
      std::make_unique<Function>(name, function_->graph()->copy(), function_->schema()));
}

}  // namespace tenon::jit
