// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Free lists of fixed-size blocks, one list per thread: objects that every op makes and drops cost
// no heap call. A block freed on another thread joins that thread's list. A list keeps at most
// kPoolKept blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::core {

inline constexpr std::size_t kPoolStep = 32;
// Blocks up to 768 bytes; larger ones go to the heap.
inline constexpr std::size_t kPoolClasses = 24;
inline constexpr uint32_t kPoolKept = 4096;

// All zero is both the state before first use and that of a thread that is ending: an empty list
// with no room sends every call to the cold path, which distinguishes the two.
struct PoolLists {
  struct Node {
    Node* next;
  };
  Node* head[kPoolClasses];
  uint32_t room[kPoolClasses];  // how many blocks the list may still take
  int state;                    // 0: not used yet, 1: open, 2: the thread is ending
};

// __thread, not thread_local: no guard call on access from other libraries. Initial-exec: one load
// instead of a call; the lists take 300 bytes of the static TLS block.
extern TENON_API __thread PoolLists t_pool __attribute__((tls_model("initial-exec")));

TENON_API TENON_COLD void* pool_refill(std::size_t bytes);
TENON_API TENON_COLD void pool_spill(void* p, std::size_t bytes) noexcept;

constexpr std::size_t pool_class(std::size_t bytes) {
  return bytes == 0 ? 0 : (bytes - 1) / kPoolStep;
}

// 16-byte aligned, uninitialized. std::bad_alloc when the heap is exhausted.
inline void* pool_alloc(std::size_t bytes) {
  std::size_t c = pool_class(bytes);
  if (TENON_UNLIKELY(c >= kPoolClasses)) return pool_refill(bytes);
  PoolLists& l = t_pool;
  PoolLists::Node* n = l.head[c];
  if (TENON_UNLIKELY(n == nullptr)) return pool_refill(bytes);
  l.head[c] = n->next;
  ++l.room[c];
  return n;
}

// `bytes` as given to pool_alloc.
inline void pool_free(void* p, std::size_t bytes) noexcept {
  std::size_t c = pool_class(bytes);
  PoolLists& l = t_pool;
  if (TENON_UNLIKELY(c >= kPoolClasses || l.room[c] == 0)) return pool_spill(p, bytes);
  auto* n = static_cast<PoolLists::Node*>(p);
  n->next = l.head[c];
  l.head[c] = n;
  --l.room[c];
}

}  // namespace tenon::core
