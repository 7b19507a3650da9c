// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// launch() and read_back() for sources that g++ compiles: the end of plugin_cuda/device/launch.cuh.
#pragma once

#include <tuple>

#include "tests/cuda/emulator/launches.h"

#if !defined(TENON_EMULATED_SOURCE)
#define TENON_EMULATED_SOURCE __BASE_FILE__
#endif

namespace tenon::cuda {

// Runs body(arg) in the order of the stream, then frees it; defined with the emulated plugin or
// with a test.
void emulate(const sdk::Call& call, const emulator::Launch& launch, void (*body)(void*), void* arg,
             void (*release)(void*));

// Waits for the stream's work and copies to the host.
void read_back(const sdk::Call& call, void* host, const void* device, std::size_t bytes);

namespace detail {
template <class F>
struct Arguments;
template <class... P>
struct Arguments<void (*)(P...)> {
  using Tuple = std::tuple<P...>;
};
}  // namespace detail

// Registers each kernel that a source could launch, whether it does or not.
template <auto Kernel>
struct Registered {
  static inline emulator::Launches launches{kernel_name<Kernel>(), TENON_EMULATED_SOURCE};
};

template <auto Kernel, class... A>
void launch(const sdk::Call& call, const Shape& s, const A&... args) {
  using Tuple = typename detail::Arguments<decltype(Kernel)>::Tuple;
  Tuple* arguments = new Tuple(args...);
  const int block = s.exact ? s.block : emulator::choose_block(s.block);
  Registered<Kernel>::launches.add(block);
  const emulator::Launch how{kernel_name<Kernel>(),
                             {static_cast<unsigned>(s.grid)},
                             {static_cast<unsigned>(block)},
                             s.shared_bytes};
  emulate(
      call, how, [](void* p) { std::apply(Kernel, *static_cast<Tuple*>(p)); }, arguments,
      [](void* p) { delete static_cast<Tuple*>(p); });
}

}  // namespace tenon::cuda
