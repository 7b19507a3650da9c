// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Weights in the layout that a product wants, kept from one call to the next. What was made of a tensor is found again
// under {id, writes} of its storage, and only where every write is counted (TN_STORAGE_EXPOSED is not set). It is
// kept when the same elements come a second time: training, whose weights change at each step, keeps nothing.
// TENON_CPU_PACKED_MB bounds the memory, 128 unless given; 0 keeps nothing.
#pragma once

#include <memory>

#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu::packed {

// Whose bytes, and of which moment; id 0: they may change unseen.
struct Origin {
  uint64_t id = 0, writes = 0;
  const void* data = nullptr;
};
Origin origin(sdk::Tensor t);

using Kept = std::shared_ptr<const Buffer>;

struct Found {
  Kept memory;          // null: there is none
  bool wanted = false;  // then: pack all into a buffer and `keep` it
};

// `layout` says how: shape, strides and kind of product. No heap in a steady state.
Found find(const Origin& from, sdk::Ints layout, int64_t bytes);
Kept keep(const Origin& from, sdk::Ints layout, Buffer packed, int64_t bytes);

void limit(int64_t bytes);  // of all that is kept
int64_t bytes_kept();

}  // namespace tenon::cpu::packed
