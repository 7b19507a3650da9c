// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/any.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace tenon {
namespace nn {
namespace detail {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? demangled : type.name();
  std::free(demangled);
  return out;
}

void bad_argument(std::size_t i, const std::type_info& wanted, const std::type_info& given) {
  throw TypeError(core::join("Expected argument #", i, " to be of type ", type_name(wanted),
                             ", but received value of type ", type_name(given)));
}

void bad_result(const std::type_info& result, const std::type_info& wanted) {
  throw TypeError(core::join("The type of the return value is ", type_name(result),
                             ", but you asked for type ", type_name(wanted)));
}

void complete_arguments(const Module& module, std::vector<AnyValue>& args, std::size_t wanted,
                        DefaultArgs defaults) {
  const std::size_t given = args.size();
  const std::string expected =
      defaults.empty() ? core::join(wanted, " argument(s)")
                       : core::join("at least ", wanted - std::min(wanted, defaults.size()),
                                    " argument(s) and at most ", wanted, " argument(s)");
  const std::string hint =
      defaults.empty() && given < wanted
          ? core::join(" If ", module.name(),
                       "'s forward() method has default arguments, please make sure the forward() "
                       "method is declared with a corresponding `FORWARD_HAS_DEFAULT_ARGS` macro.")
          : "";
  TENON_CHECK(given < wanted && given + defaults.size() >= wanted, TypeError, module.name(),
              "'s forward() method expects ", expected, ", but received ", given, ".", hint);
  for (std::size_t i = given; i < wanted; ++i) {
    for (auto& d : defaults) {
      if (d.first == i) args.push_back(std::move(d.second));
    }
  }
  TENON_CHECK(args.size() == wanted, TypeError, "forward() of ", module.name(),
              ": TENON_FORWARD_HAS_DEFAULT_ARGS must list the last arguments, one each");
}

}  // namespace detail

using detail::type_name;

AnyModule AnyModule::clone(const std::optional<Device>& device) const {
  AnyModule out = *this;
  if (module_) out.module_ = module_->clone(device);
  return out;
}

AnyValue AnyModule::run(std::vector<AnyValue>& args) {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call forward() on an empty AnyModule");
  return forward_(*module_, args);
}

std::shared_ptr<Module> AnyModule::ptr() const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call ptr() on an empty AnyModule");
  return module_;
}

const std::type_info& AnyModule::type_info() const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call type_info() on an empty AnyModule");
  return *type_;
}

void AnyModule::check_type(const std::type_info& wanted, const char* call) const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call ", call, "() on an empty AnyModule");
  TENON_CHECK(*type_ == wanted, TypeError, "Attempted to cast module of type ", type_name(*type_),
              " to type ", type_name(wanted));
}

}  // namespace nn
}  // namespace tenon
