// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls of functions and methods of programs stay calls: their control flow is decided again in
// each run.
#include <algorithm>
#include <optional>

#include "jit/trace/recorder.h"
#include "tenon/runtime/error.h"

namespace tenon::jit::tracing {
namespace {

bool is_method(const Function& f, const Stack& arguments) {
  if (arguments.empty() || !arguments[0].isObject()) return false;
  const auto* cls = dynamic_cast<const ClassType*>(arguments[0].toObjectRef().type.get());
  return cls && cls->find_method(f.name()) == &f;
}

}  // namespace

IValue Recorder::call(const Function& f, Stack arguments) {
  if (error_ && run_ == Run::Trial) std::rethrow_exception(error_);
  if (depth_ > 0 || error_) {
    f.run(arguments);
    return pop(arguments);
  }
  const Unrecorded pause;
  const FunctionSchema& schema = f.schema();
  std::vector<Value*> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Value* v = value_of(arguments[i], schema.arguments[i].type);
    if (arguments[i].isObject()) v->set_type(type_of(arguments[i]));
    inputs.push_back(v);
  }
  const bool method = is_method(f, arguments);
  f.run(arguments);
  IValue result = pop(arguments);

  auto& target = const_cast<Function&>(f);
  Node* n = graph_->create(method ? "prim::CallMethod" : "prim::CallFunction", inputs);
  n->set("name", method ? std::string(f.name()) : f.qualified_name());
  if (!method) n->function = &target;
  n->output()->set_type(schema.returns.empty() ? Type::none() : schema.returns[0].type);
  graph_->insert(n);
  bind(n->output(), result);
  if (f.unit()) {
    if (auto unit = f.unit()->weak_from_this().lock();
        unit && std::find(units_.begin(), units_.end(), unit) == units_.end())
      units_.push_back(std::move(unit));
  }
  return result;
}

namespace {

// The same memory and history under another identity, as an argument may be captured, too, or be
// there twice.
IValue alias_of(const IValue& v) {
  if (v.isTensor()) {
    const Tensor& t = v.toTensor();
    return t.defined() && t.layout() == kStrided ? t.alias() : t;
  }
  if (!v.isList() && !v.isTuple()) return v;
  std::vector<IValue> items;
  for (const IValue& item : v.isList() ? v.toListRef().items : v.toTupleRef().items)
    items.push_back(alias_of(item));
  if (v.isTuple()) return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items)));
  return core::Ref<ivalue::List>::adopt(new ivalue::List(v.toListRef().element, std::move(items)));
}

}  // namespace

IValue Recorder::add_input(const std::string& name, const IValue& example) {
  const Unrecorded pause;
  std::optional<NoGradGuard> no_grad;
  if (run_ == Run::Trial) no_grad.emplace();
  IValue argument = run_ == Run::Trial ? example.deepcopy() : alias_of(example);
  Value* v = graph_->add_input(name, type_of(argument));
  bind(v, argument);
  return argument;
}

}  // namespace tenon::jit::tracing
