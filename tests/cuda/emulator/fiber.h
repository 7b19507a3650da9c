// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fibers over Boost.Context's context switch, annotated for the address sanitizer. A fiber's
// function never returns; it switches back, and the fiber may be destroyed there.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace tenon::emulator {

class Fiber {
 public:
  explicit Fiber(void (*body)(Fiber& self, void* arg), void* arg);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  // From outside: runs the fiber until it leaves.
  void enter();
  // From inside: back to where enter() was called.
  void leave();

 private:
  static void start(boost::context::detail::transfer_t from);
  void (*body_)(Fiber&, void*);
  void* arg_;
  char* stack_;
  boost::context::detail::fcontext_t inside_, outside_ = nullptr;
  void* inside_fake_ = nullptr;
  void* outside_fake_ = nullptr;
  const void* outside_stack_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace tenon::emulator
