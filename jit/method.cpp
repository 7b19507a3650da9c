// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/module.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {

IValue Method::operator()(std::vector<IValue> arguments,
                          const std::map<std::string, IValue>& keywords) const {
  arguments.insert(arguments.begin(), IValue(owner_));
  return (*function_)(std::move(arguments), keywords);
}

std::optional<Method> Module::find_method(std::string_view name) const {
  Function* f = type()->find_method(name);
  if (!f) return std::nullopt;
  return Method(object_, f);
}

Method Module::get_method(std::string_view name) const {
  if (auto m = find_method(name)) return *m;
  std::string known;
  for (const Function* f : type()->methods()) {
    known += (known.empty() ? "" : ", ") + std::string(f->name());
  }
  throw Error(core::join("module ", object_->name(), " has no method '", name, "'; it has ",
                         known.empty() ? "none" : known));
}

std::vector<Method> Module::get_methods() const {
  std::vector<Method> out;
  for (Function* f : type()->methods()) out.emplace_back(object_, f);
  return out;
}

IValue Module::forward(std::vector<IValue> arguments,
                       const std::map<std::string, IValue>& keywords) const {
  return get_method("forward")(std::move(arguments), keywords);
}

namespace {
IValue tuple_of(std::vector<IValue> items) {
  return core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::move(items)));
}
}  // namespace

IValue Module::operator()(std::vector<IValue> arguments) const {
  const ClassTypePtr cls = type();
  for (const std::string& hook : cls->forward_pre_hooks) {
    const IValue changed = run_method(hook, {tuple_of(arguments)});
    if (changed.isTuple())
      arguments = changed.toTupleRef().items;
    else if (!changed.isNone())
      arguments = {changed};
  }
  IValue out = forward(arguments);
  for (const std::string& hook : cls->forward_hooks) {
    IValue changed = run_method(hook, {tuple_of(arguments), out});
    if (!changed.isNone()) out = std::move(changed);
  }
  return out;
}

}  // namespace tenon::jit
