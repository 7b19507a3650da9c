// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulator/fiber.h"

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tenon::emulator {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t kStack = std::size_t{1} << 17;

// Stacks are reused by later launches; never destroyed, since they are used at process exit.
struct Stacks {
  std::mutex lock;
  std::vector<char*> idle;
};
Stacks& stacks() {
  static Stacks* all = new Stacks;
  return *all;
}

char* allocate_stack() {
  Stacks& s = stacks();
  std::lock_guard<std::mutex> hold(s.lock);
  if (s.idle.empty()) {
    void* p = std::aligned_alloc(64, kStack);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<char*>(p);
  }
  char* p = s.idle.back();
  s.idle.pop_back();
  return p;
}

void release_stack(char* p) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(p, kStack);  // of abandoned frames
#endif
  Stacks& s = stacks();
  std::lock_guard<std::mutex> hold(s.lock);
  s.idle.push_back(p);
}

}  // namespace

Fiber::Fiber(void (*body)(Fiber&, void*), void* arg)
    : body_(body), arg_(arg), stack_(allocate_stack()) {
  inside_ = make_fcontext(stack_ + kStack, kStack, &Fiber::start);
}

Fiber::~Fiber() { release_stack(stack_); }

void Fiber::start(transfer_t from) {
  Fiber& self = *static_cast<Fiber*>(from.data);
  self.outside_ = from.fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self.outside_stack_, &self.outside_size_);
#endif
  self.body_(self, self.arg_);
  std::abort();  // the body never returns
}

void Fiber::enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&outside_fake_, stack_, kStack);
#endif
  inside_ = jump_fcontext(inside_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(outside_fake_, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&inside_fake_, outside_stack_, outside_size_);
#endif
  outside_ = jump_fcontext(outside_, nullptr).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(inside_fake_, &outside_stack_, &outside_size_);
#endif
}

}  // namespace tenon::emulator
