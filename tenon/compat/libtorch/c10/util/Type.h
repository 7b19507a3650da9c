// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <string>
#include <typeinfo>

#include "tenon/autograd/function.h"

namespace c10 {

// The name of a type as C++ writes it.
inline std::string demangle(const char* name) { return ::tenon::autograd::demangle(name); }
template <class T>
const char* demangle_type() {
  static const std::string name = demangle(typeid(T).name());
  return name.c_str();
}

}  // namespace c10
