// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Before and behind what the fake NVRTC compiles: how the fake runtime launches a kernel.
#pragma once

#include <tuple>
#include <utility>

#include "tests/loop_program/printer/cuda_on_host.h"

namespace tenon::fake {

template <class F>
struct Kernel;
template <class... P>
struct Kernel<void (*)(P...)> {
  using Arguments = std::tuple<P...>;

  // As a launch copies its arguments before it returns.
  static void* copy(void** from) { return copy(from, std::index_sequence_for<P...>{}); }
  template <std::size_t... I>
  static void* copy(void** from, std::index_sequence<I...>) {
    return new Arguments(*static_cast<P*>(from[I])...);
  }
};

}  // namespace tenon::fake

#define TENON_FAKE_KERNEL(f)                                                                   \
  using f##_kernel = tenon::fake::Kernel<decltype(&f)>;                                        \
  extern "C" void* f##_copy(void** from) { return f##_kernel::copy(from); }                    \
  extern "C" void f##_drop(void* p) { delete static_cast<f##_kernel::Arguments*>(p); }         \
  extern "C" void f##_run(void* p, unsigned grid, unsigned block) {                            \
    run_threads([&] { std::apply(f, *static_cast<f##_kernel::Arguments*>(p)); }, grid, block); \
  }
