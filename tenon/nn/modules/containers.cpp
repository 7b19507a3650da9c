// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/containers.h"
#include "tenon/nn/modules/shown_namespace.h"

#include <ostream>

namespace tenon {
namespace nn {

std::shared_ptr<Module> ModuleListImpl::clone(const std::optional<Device>& device) const {
  auto out = std::make_shared<ModuleListImpl>();
  for (const auto& module : modules_) out->append(module->clone(device));
  out->Module::train(is_training());
  return out;
}
void ModuleListImpl::reset() {}
void ModuleListImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "ModuleList";
}

void ModuleListImpl::append(std::shared_ptr<Module> module) {
  register_module(core::join(modules_.size()), module);
  modules_.push_back(std::move(module));
}

void ModuleListImpl::insert_at(std::size_t index, std::shared_ptr<Module> module) {
  TENON_CHECK(index <= size(), IndexError, "Index out of range: ", index, " of a ModuleList of ",
              size(), " modules");
  if (index == size()) return append(std::move(module));
  TENON_CHECK(module != nullptr, ValueError, "module ", index, " is a null pointer");
  modules_.insert(modules_.begin() + static_cast<std::ptrdiff_t>(index), std::move(module));
  children_.clear();
  for (std::size_t i = 0; i < modules_.size(); ++i) register_module(core::join(i), modules_[i]);
}

std::shared_ptr<Module> ModuleListImpl::ptr(std::size_t index) const {
  TENON_CHECK(index < size(), IndexError, "Index out of range: ", index, " of a ModuleList of ",
              size(), " modules");
  return modules_[index];
}

ModuleDictImpl::ModuleDictImpl(
    const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  update(modules);
}
ModuleDictImpl::ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  update(modules);
}
std::shared_ptr<Module> ModuleDictImpl::clone(const std::optional<Device>& device) const {
  auto out = std::make_shared<ModuleDictImpl>();
  for (const auto& child : children_)
    out->register_module(child.key(), child.value()->clone(device));
  out->Module::train(is_training());
  return out;
}
void ModuleDictImpl::reset() {}
void ModuleDictImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "ModuleDict";
}
void ModuleDictImpl::update(
    const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules) {
  for (const auto& item : modules) {
    if (contains(item.first)) {
      replace_module(item.first, item.second);
    } else {
      register_module(item.first, item.second);
    }
  }
}
void ModuleDictImpl::update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules) {
  update(modules.pairs());
}
void ModuleDictImpl::update(const ModuleDictImpl& other) { update(other.items()); }
std::shared_ptr<Module> ModuleDictImpl::pop(const std::string& key) {
  auto out = children_[key];
  unregister_module(key);
  return out;
}

namespace {

// A copy that shares nothing and is a leaf.
Tensor copy_leaf(const Tensor& t, const std::optional<Device>& device) {
  if (!t.defined()) return Tensor();
  const Tensor data = t.detach();
  Tensor out = device && data.device() != *device ? data.to(*device) : data.clone();
  return out.set_requires_grad(t.requires_grad());
}

void print_parameters(std::ostream& stream, const char* name,
                      const OrderedDict<std::string, Tensor>& parameters) {
  stream << detail::shown_namespace() << name << "(\n";
  for (const auto& p : parameters) {
    stream << "(" << p.key() << "): Parameter containing: [";
    if (p.value().defined()) {
      stream << toString(p.value().scalar_type()) << " of size " << core::join(p.value().sizes());
      if (!p.value().device().is_cpu()) stream << " (" << p.value().device().str() << ")";
    } else {
      stream << "undefined";
    }
    stream << "]\n";
  }
  stream << ")";
}

}  // namespace

std::shared_ptr<Module> ParameterListImpl::clone(const std::optional<Device>& device) const {
  auto out = std::make_shared<ParameterListImpl>();
  for (const auto& p : parameters_) out->append(copy_leaf(p.value(), device));
  out->Module::train(is_training());
  return out;
}
void ParameterListImpl::reset() {}
void ParameterListImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterList", parameters_);
}
void ParameterListImpl::append(Tensor parameter) {
  const bool tracked = parameter.defined() && parameter.requires_grad();
  register_parameter(core::join(size()), std::move(parameter), tracked);
}
Tensor& ParameterListImpl::at(std::size_t index) {
  TENON_CHECK(index < size(), IndexError, "Index out of range: ", index, " of a ParameterList of ",
              size(), " parameters");
  return parameters_[index].value();
}
const Tensor& ParameterListImpl::at(std::size_t index) const {
  return const_cast<ParameterListImpl*>(this)->at(index);
}

ParameterDictImpl::ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters) {
  for (const auto& p : parameters) insert(p.key(), p.value());
}
std::shared_ptr<Module> ParameterDictImpl::clone(const std::optional<Device>& device) const {
  auto out = std::make_shared<ParameterDictImpl>();
  for (const auto& p : parameters_) out->insert(p.key(), copy_leaf(p.value(), device));
  out->Module::train(is_training());
  return out;
}
void ParameterDictImpl::reset() {}
void ParameterDictImpl::pretty_print(std::ostream& stream) const {
  print_parameters(stream, "ParameterDict", parameters_);
}
Tensor& ParameterDictImpl::insert(std::string key, Tensor parameter) {
  const bool tracked = parameter.defined() && parameter.requires_grad();
  return register_parameter(std::move(key), std::move(parameter), tracked);
}
void ParameterDictImpl::update(const ParameterDictImpl& other) {
  for (const auto& p : other.parameters_) get(p.key()) = p.value();
}
Tensor ParameterDictImpl::pop(const std::string& key) {
  Tensor out = parameters_[key];
  parameters_.erase(key);
  return out;
}

FunctionalImpl::FunctionalImpl(Function function) : function_(std::move(function)) {}
void FunctionalImpl::reset() {}
void FunctionalImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Functional()";
}
Tensor FunctionalImpl::forward(Tensor input) { return function_(std::move(input)); }
bool FunctionalImpl::is_serializable() const { return false; }

}  // namespace nn
}  // namespace tenon
