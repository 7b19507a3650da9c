// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/any.h"

#include <cxxabi.h>

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

namespace {

std::string wrong_count(const std::string& module, std::size_t given, std::size_t wanted,
                        std::size_t defaults) {
  std::string text = core::join(module, "'s forward() method expects ");
  if (defaults > 0) {
    text += core::join("at least ", wanted - defaults, " argument(s) and at most ");
  }
  text += core::join(wanted, " argument(s), but received ", given, ".");
  if (defaults == 0 && given < wanted) {
    text += core::join(" If ", module, "'s forward() method has default arguments, please make ",
                       "sure the forward() method is declared with a corresponding ",
                       "`FORWARD_HAS_DEFAULT_ARGS` macro.");
  }
  return text;
}

}  // namespace

void complete_arguments(const Module& module, std::vector<AnyValue>& args, std::size_t wanted,
                        DefaultArgs defaults) {
  const std::size_t given = args.size();
  if (given > wanted || given + defaults.size() < wanted) {
    throw TypeError(wrong_count(module.name(), given, wanted, defaults.size()));
  }
  for (std::size_t i = given; i < wanted; ++i) {
    for (auto& d : defaults) {
      if (d.first == i) args.push_back(std::move(d.second));
    }
  }
  TENON_CHECK(args.size() == wanted, TypeError, "forward() of ", module.name(),
              ": TENON_FORWARD_HAS_DEFAULT_ARGS must list the last arguments, one each");
}

}  // namespace detail

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

void AnyModule::check_type(const std::type_info& wanted) const {
  TENON_CHECK(!is_empty(), ValueError, "Cannot call get() on an empty AnyModule");
  TENON_CHECK(*type_ == wanted, TypeError, "Attempted to cast module of type ",
              detail::type_name(*type_), " to type ", detail::type_name(wanted));
}

}  // namespace nn
}  // namespace tenon
