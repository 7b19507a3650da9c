// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/any.h"

#include "tenon/autograd/function.h"

namespace tenon {
namespace nn {

namespace {

std::string type_name(const std::type_info& type) { return autograd::demangle(type.name()); }

}  // namespace

namespace detail {

void bad_cast(const std::type_info& wanted, const std::type_info& held) {
  throw TypeError(core::join("Attempted to cast AnyValue to ", type_name(wanted),
                             ", but its actual type is ", type_name(held)));
}

void bad_result(const std::type_info& wanted, const std::type_info& held) {
  throw TypeError(core::join("The type of the return value is ", type_name(held),
                             ", but you asked for type ", type_name(wanted)));
}

void bad_argument(std::size_t i, const std::type_info& wanted, const std::type_info& given) {
  throw TypeError(core::join("Expected argument #", i, " to be of type ", type_name(wanted),
                             ", but received value of type ", type_name(given)));
}

void complete_arguments(const Module& module, std::vector<AnyValue>& args, std::size_t wanted,
                        DefaultArgs defaults) {
  const std::size_t given = args.size();
  const std::string name = module.name() + "'s forward() method";
  TENON_CHECK(given < wanted && given + defaults.size() >= wanted, TypeError, name, " expects ",
              defaults.empty() ? core::join(wanted, " argument(s)")
                               : core::join("at least ", wanted - defaults.size(),
                                            " argument(s) and at most ", wanted, " argument(s)"),
              ", but received ", given, ".",
              given > wanted ? std::string()
                             : core::join(" If ", name,
                                          " has default arguments, please make sure the forward() "
                                          "method is declared with a corresponding "
                                          "`FORWARD_HAS_DEFAULT_ARGS` macro."));
  for (std::size_t i = given; i < wanted; ++i) {
    for (auto& d : defaults) {
      if (d.first == i) args.push_back(std::move(d.second));
    }
  }
  TENON_CHECK(args.size() == wanted, TypeError, "forward() of ", module.name(),
              ": TENON_FORWARD_HAS_DEFAULT_ARGS must list the last arguments, one each");
}

}  // namespace detail

template AnyValue::AnyValue(bool&&);
template AnyValue::AnyValue(Tensor&&);
template AnyValue::AnyValue(std::optional<std::vector<int64_t>>&&);
template AnyValue::AnyValue(std::optional<std::tuple<Tensor, Tensor>>&&);

AnyModule AnyModule::clone(const std::optional<Device>& device) const {
  AnyModule out = *this;
  if (module_) out.module_ = module_->clone(device);
  return out;
}

AnyValue AnyModule::run(std::vector<AnyValue>& args) {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call forward() on an empty AnyModule");
  module_->update_computed();
  if (!module_->has_hooks()) return forward_(*module_, args);
  detail::CallHooks hooks(*module_);
  std::vector<Tensor*> inputs, outputs;
  for (AnyValue& a : args) a.append_tensors(inputs);
  hooks.before(inputs);
  AnyValue result = forward_(*module_, args);
  result.append_tensors(outputs);
  hooks.after(outputs);
  return result;
}

std::shared_ptr<Module> AnyModule::ptr() const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call ptr() on an empty AnyModule");
  return module_;
}

const std::type_info& AnyModule::type_info() const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call type_info() on an empty AnyModule");
  return *type_;
}

void AnyModule::check_type(const char* method, const std::type_info& wanted) const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call ", method, " on an empty AnyModule");
  TENON_CHECK(*type_ == wanted, TypeError, "Attempted to cast module of type ", type_name(*type_),
              " to type ", type_name(wanted));
}

}  // namespace nn
}  // namespace tenon
