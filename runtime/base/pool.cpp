// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/pool.h"

#include <cstdlib>
#include <new>

#include "tenon/runtime/thread_end.h"

namespace tenon::core {

__thread PoolLists t_pool __attribute__((tls_model("initial-exec")));

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr uint32_t kRoom = 0;  // a pool would hide a use after free
#else
constexpr uint32_t kRoom = kPoolKept;
#endif

// Empties the lists when the thread ends. Objects that are freed after that go to the heap.
void close_lists() noexcept {
  for (std::size_t c = 0; c < kPoolClasses; ++c) {
    t_pool.room[c] = 0;
    while (PoolLists::Node* n = t_pool.head[c]) {
      t_pool.head[c] = n->next;
      std::free(n);
    }
  }
  t_pool.state = 2;
}
__thread ThreadEnd t_pool_end __attribute__((tls_model("initial-exec"))) = {close_lists};

void open_lists() noexcept {
  if (!at_thread_end(t_pool_end)) return;
  t_pool.state = 1;
  for (uint32_t& room : t_pool.room) room = kRoom;
}

}  // namespace

void* pool_refill(std::size_t bytes) {
  if (t_pool.state == 0) open_lists();
  std::size_t c = pool_class(bytes);
  void* p = std::malloc(c < kPoolClasses ? (c + 1) * kPoolStep : bytes);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void pool_spill(void* p, std::size_t bytes) noexcept {
  if (t_pool.state == 0) {
    open_lists();
    if (kRoom != 0 && t_pool.state == 1) return pool_free(p, bytes);
  }
  std::free(p);
}

}  // namespace tenon::core
