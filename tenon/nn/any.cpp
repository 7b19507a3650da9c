// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/any.h"

#include <cxxabi.h>

#include <cstdlib>

namespace tenon {
namespace nn {

namespace {

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string out = status == 0 ? demangled : type.name();
  std::free(demangled);
  return out;
}

}  // namespace

namespace detail {

void bad_argument(std::size_t i, const std::type_info& wanted, const std::type_info& given) {
  throw TypeError(core::join("expected argument #", i, " of forward() to be of type ",
                             type_name(wanted), ", but got ", type_name(given)));
}

void complete_arguments(const Module& module, std::vector<AnyValue>& args, std::size_t wanted,
                        DefaultArgs defaults) {
  const std::size_t given = args.size();
  TENON_CHECK(given < wanted && given + defaults.size() >= wanted, TypeError, "forward() of ",
              module.name(), " takes ", wanted, " arguments, of which ", defaults.size(),
              " may be left out, but got ", given,
              "; TENON_FORWARD_HAS_DEFAULT_ARGS declares defaults");
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
  TENON_CHECK(!is_empty(), ValueError, "cannot call forward() on an empty AnyModule");
  return forward_(*module_, args);
}

std::shared_ptr<Module> AnyModule::ptr() const {
  TENON_CHECK(!is_empty(), ValueError, "cannot call ptr() on an empty AnyModule");
  return module_;
}

const std::type_info& AnyModule::type_info() const {
  TENON_CHECK(!is_empty(), ValueError, "cannot call type_info() on an empty AnyModule");
  return *type_;
}

void AnyModule::check_type(const std::type_info& wanted) const {
  TENON_CHECK(!is_empty(), ValueError, "cannot call get() on an empty AnyModule");
  TENON_CHECK(*type_ == wanted, TypeError, "the AnyModule holds a ", type_name(*type_), ", but a ",
              type_name(wanted), " is wanted");
}

}  // namespace nn
}  // namespace tenon
