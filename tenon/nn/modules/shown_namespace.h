// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tenon/print.h"

namespace tenon {
namespace nn {
namespace detail {

// What stands before the name of a module that is printed: programs for libtorch may compare the
// text.
inline const char* shown_namespace() {
  return print_style() == PrintStyle::Libtorch ? "torch::nn::" : "tenon::nn::";
}

// The name of a class of this library, "tenon::nn::LSTMImpl", as it is printed; others stay.
inline std::string shown_name(const std::string& name) {
  const std::string own = "tenon::nn::";
  return name.compare(0, own.size(), own) == 0 ? shown_namespace() + name.substr(own.size()) : name;
}

}  // namespace detail
}  // namespace nn
}  // namespace tenon
