// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/unit.h"

#include <algorithm>

#include "jit/language/emit.h"
#include "tenon/jit.h"
#include "tenon/jit/custom_class.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {

CompilationUnit::CompilationUnit() = default;
CompilationUnit::~CompilationUnit() = default;

Function* CompilationUnit::find_function(std::string_view name) const {
  auto it = by_name_.find(name);
  if (it == by_name_.end() && importer) {
    importer(name);
    it = by_name_.find(name);
  }
  return it == by_name_.end() ? find_custom_function(name) : it->second;
}

Function& CompilationUnit::get_function(std::string_view name) const {
  Function* f = find_function(name);
  TENON_CHECK(f, IndexError, "there is no function '", name, "'");
  return *f;
}

Function* CompilationUnit::add_function(std::unique_ptr<Function> f) {
  TENON_CHECK(by_name_.count(f->qualified_name()) == 0, ValueError, "function ",
              f->qualified_name(), " is already defined");
  Function* p = f.get();
  p->unit_ = this;
  functions_.push_back(std::move(f));
  by_name_.emplace(p->qualified_name(), p);
  return p;
}

std::vector<Function*> CompilationUnit::functions() const {
  std::vector<Function*> out;
  for (const auto& f : functions_) out.push_back(f.get());
  return out;
}

TypePtr CompilationUnit::find_type(std::string_view name) const {
  auto it = types_by_name_.find(name);
  if (it != types_by_name_.end()) return it->second;
  if (ClassTypePtr custom = find_custom_class(name)) return custom;
  if (importer) {
    importer(name);
    it = types_by_name_.find(name);
  }
  return it == types_by_name_.end() ? nullptr : it->second;
}

ClassTypePtr CompilationUnit::find_class(std::string_view name) const {
  const TypePtr t = find_type(name);
  return t && t->is(TypeKind::Class) ? static_cast<const ClassType&>(*t).self() : nullptr;
}

void CompilationUnit::add_type(TypePtr t) {
  TENON_CHECK(types_by_name_.count(t->name()) == 0, ValueError, "type ", t->name(),
              " is already defined");
  if (ClassTypePtr cls = std::dynamic_pointer_cast<ClassType>(std::const_pointer_cast<Type>(t)))
    cls->unit_ = weak_from_this();
  types_by_name_.emplace(t->name(), t);
  types_.push_back(std::move(t));
}

void CompilationUnit::define(const std::string& text) {
  auto source = std::make_shared<Source>();
  source->text = text;
  source->file = "<text>";
  language::define_file(*this, "", language::parse_file(source),
                        std::make_shared<language::Resolver>());
  for (std::size_t i = 0; i < functions_.size(); ++i) functions_[i]->ensure_defined();
}

IValue CompilationUnit::run_method(std::string_view name, std::vector<IValue> arguments) {
  return get_function(name)(std::move(arguments));
}

bool CompilationUnit::keeps(const CompilationUnit& other) const {
  return &other == this || std::any_of(kept_units_.begin(), kept_units_.end(),
                                       [&](const auto& u) { return u->keeps(other); });
}

// Two that use each other would never go: the later one is not kept.
void CompilationUnit::keep(const std::shared_ptr<CompilationUnit>& other) {
  if (other && !keeps(*other) && !other->keeps(*this)) kept_units_.push_back(other);
}

Function* CompilationUnit::add_host_function(const std::string& schema, HostFunctionBody f) {
  return add_host_function(parse_schema(schema), std::move(f));
}

Function* CompilationUnit::add_host_function(FunctionSchema s, HostFunctionBody f) {
  TENON_CHECK(s.returns.size() <= 1 && !s.vararg, ValueError, "add_host_function: ", s.name,
              " must have a fixed number of arguments and one result");
  auto op = std::make_unique<Operator>();
  op->has_side_effects = true;
  op->schema = s;
  op->schema.name = "host::" + s.name;
  op->registered = [f = std::move(f), n = s.arguments.size()](Stack& stack) {
    std::vector<IValue> arguments(stack.end() - static_cast<std::ptrdiff_t>(n), stack.end());
    drop(stack, n);
    stack.push_back(f(std::move(arguments)));
  };
  auto graph = std::make_shared<Graph>();
  std::vector<Value*> inputs;
  for (const Argument& a : s.arguments) inputs.push_back(graph->add_input(a.name, a.type));
  Node* node = graph->insert(graph->create("host::" + s.name, inputs));
  node->op = op.get();
  node->output()->set_type(s.returns.empty() ? Type::none() : s.returns[0].type);
  graph->register_output(node->output());
  const std::string name = s.name;
  Function* made = add_function(std::make_unique<Function>(name, graph, std::move(s)));
  host_operators_.push_back(std::move(op));
  return made;
}

std::shared_ptr<CompilationUnit> compile(const std::string& text) {
  auto unit = std::make_shared<CompilationUnit>();
  unit->define(text);
  return unit;
}

}  // namespace tenon::jit
