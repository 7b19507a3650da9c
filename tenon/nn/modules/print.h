// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Parts of what modules print, which is libtorch's text.
#pragma once

#include <string>

#include "tenon/nn/module.h"
#include "tenon/print.h"

namespace tenon {
namespace nn {
namespace detail {

// The name of a class with its namespace, which programs written for libtorch know as torch.
inline std::string qualified(const std::string& name) {
  return (print_style() == PrintStyle::Libtorch ? "torch::nn::" : "tenon::nn::") + name;
}
// The class of a module in namespace nn, without its "Impl".
inline std::string printed_name(const Module& module) {
  const std::string& name = module.name();
  const std::size_t first = name.rfind(':') + 1;  // 0 if there is no namespace
  return qualified(name.substr(first, name.size() - first - 4));
}
// An option that is printed where it is set.
inline const char* if_inplace(bool inplace) { return inplace ? ", inplace=true" : ""; }
inline const char* only_inplace(bool inplace) { return inplace ? "inplace=true" : ""; }

}  // namespace detail
}  // namespace nn
}  // namespace tenon
