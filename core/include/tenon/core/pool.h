// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Free lists of fixed-size blocks, one list a thread: objects that every op makes and drops cost no heap call.
// A block freed on another thread joins that thread's list. A list keeps at most kKept blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/core/export.h"

namespace tenon::core {

inline constexpr std::size_t kPoolStep = 32;
inline constexpr std::size_t kPoolClasses = 24;  // blocks up to 768 bytes; larger ones go to the heap
inline constexpr uint32_t kPoolKept = 4096;

struct PoolLists {
  struct Node { Node* next; };
  Node* head[kPoolClasses];
  uint32_t kept[kPoolClasses];
  bool closed;  // the thread is ending: everything goes to the heap
};

TENON_API PoolLists& pool_lists() noexcept;
TENON_API TENON_COLD void* pool_refill(std::size_t bytes);
TENON_API TENON_COLD void pool_spill(void* p, std::size_t bytes) noexcept;

TENON_API void* pool_alloc(std::size_t bytes);
TENON_API void pool_free(void* p, std::size_t bytes) noexcept;

}  // namespace tenon::core
