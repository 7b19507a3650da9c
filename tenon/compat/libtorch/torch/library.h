// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TORCH_LIBRARY. Its block runs when an operator is first looked up, because an exception at the
// start would end the process.
#pragma once

#include <torch/namespaces.h>

#include "tenon/library.h"

#define TORCH_LIBRARY(ns, m) TENON_LIBRARY(ns, m)
#define TORCH_LIBRARY_FRAGMENT(ns, m) TENON_LIBRARY_FRAGMENT(ns, m)
#define TORCH_LIBRARY_IMPL(ns, key, m) TENON_LIBRARY_IMPL(ns, key, m)
#define TORCH_FN(function) (&function)
// Nothing is left out of a build.
#define TORCH_SELECTIVE_SCHEMA(schema) schema
#define TORCH_SELECTIVE_NAME(name) name

namespace torch {

using library::CppFunction;
using library::Library;
using library::RegisterOperators;

// A function for the key, or for the backend of a device.
inline CppFunction dispatch(library::DispatchKey key, CppFunction f) {
  f.key = key;
  return f;
}
inline CppFunction dispatch(DeviceType device, CppFunction f) {
  using Key = library::DispatchKey;
  return dispatch(device == kCPU    ? Key::CPU
                  : device == kCUDA ? Key::CUDA
                                    : Key::PrivateUse1,
                  std::move(f));
}

}  // namespace torch

namespace c10 {
using library::Dispatcher;
using library::DispatchKey;
using library::OperatorHandle;
using library::OperatorName;
using library::RegisterOperators;
using library::TypedOperatorHandle;
}  // namespace c10

namespace tenon::impl {
using library::ExcludeDispatchKeyGuard;
}

namespace at {
using library::AutoDispatchBelowAutograd;
// Writes and views have no functions of their own below Autograd.
using AutoDispatchBelowADInplaceOrView = library::AutoDispatchBelowAutograd;
}  // namespace at

// Library::class_; an install without Tenon::jit has none.
#if __has_include(<torch/custom_class.h>)
#include <torch/custom_class.h>
#endif
