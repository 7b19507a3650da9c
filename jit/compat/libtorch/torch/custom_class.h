// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Classes of C++ for programs; those that make objects of them link Tenon::jit.
#pragma once

#include <ATen/core/jit_type.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/library.h>

#include <string>

#include "tenon/jit/custom_class.h"

// Nothing is left out of a build.
#define TORCH_SELECTIVE_CLASS(name) name

namespace torch {
template <class T>
class_<T> selective_class_(const std::string& ns, const std::string& name) {
  return class_<T>(ns, name);
}
}  // namespace torch

namespace torch::jit {
using ::tenon::class_;
using ::tenon::getCustomClass;
using ::tenon::isCustomClass;
}  // namespace torch::jit
