// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/sequential.h"
#include "tenon/nn/modules/shown_namespace.h"

#include <ostream>

namespace tenon {
namespace nn {

SequentialImpl::SequentialImpl(OrderedDict<std::string, AnyModule>&& modules) {
  for (auto& item : modules) append(item.key(), std::move(item.value()));
}

SequentialImpl::SequentialImpl(std::initializer_list<NamedAnyModule> modules) {
  for (const auto& item : modules) append(item.name(), item.module());
}

std::shared_ptr<Module> SequentialImpl::clone(const std::optional<Device>& device) const {
  auto out = std::make_shared<SequentialImpl>();
  std::size_t i = 0;
  for (const auto& child : children_) out->append(child.key(), modules_[i++].clone(device));
  out->Module::train(is_training());
  return out;
}

Sequential::Sequential(std::initializer_list<NamedAnyModule> modules)
    : ModuleHolder(std::make_shared<SequentialImpl>(modules)) {}

void SequentialImpl::reset() {}

void SequentialImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "Sequential";
}

AnyValue SequentialImpl::forward_packed(Module& self, std::vector<AnyValue>& args) {
  auto& modules = static_cast<SequentialImpl&>(self).modules_;
  TENON_CHECK(!modules.empty(), ValueError, "Cannot call forward() on an empty Sequential");
  AnyValue value = modules.front().run(args);
  for (std::size_t i = 1; i < modules.size(); ++i) {
    std::vector<AnyValue> next;
    next.push_back(std::move(value));
    value = modules[i].run(next);
  }
  return value;
}

void SequentialImpl::append(std::string name, AnyModule module) {
  if (name.empty()) name = core::join(modules_.size());
  register_module(std::move(name), module.ptr());
  modules_.push_back(std::move(module));
}

AnyModule& SequentialImpl::any(std::size_t index) {
  TENON_CHECK(index < size(), IndexError, "Index out of range: ", index, " of a Sequential of ",
              size(), " modules");
  return modules_[index];
}
const AnyModule& SequentialImpl::any(std::size_t index) const {
  return const_cast<SequentialImpl*>(this)->any(index);
}

}  // namespace nn
}  // namespace tenon
