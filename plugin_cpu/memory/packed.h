// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Weights in the layout that a product needs, cached between calls. The key is {id, writes} of the
// tensor's storage; nothing is cached unless every write is counted (TN_STORAGE_EXPOSED is not
// set). It is kept when the same elements come a second time, unless they are said to last:
// training, whose weights change at each step, keeps nothing. TENON_CPU_PACKED_MB bounds the
// memory, 128 unless given; 0 keeps nothing. At the bound what has not been used for long makes
// room; what is used stays.
#pragma once

#include <memory>

#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu::packed {

// The storage and its number of writes; id 0: writes are not counted. `lasting`: weights of an
// optimized program, which are kept at once.
struct Origin {
  uint64_t id = 0, writes = 0;
  const void* data = nullptr;
  bool lasting = false;
  int64_t file_bytes = 0;  // of data: pages that can be read from their file again
};
Origin origin(sdk::Tensor t, bool lasting = false);

using Kept = std::shared_ptr<const Buffer>;

struct Found {
  Kept memory;          // null: not cached
  bool wanted = false;  // then: pack all into a buffer and `add` it
};

// `layout`: shape, strides and kind of product. No heap allocation in a steady state. `wanted` does
// not promise that `add` finds room: what is used is not evicted.
Found find(const Origin& from, sdk::Ints layout, int64_t bytes);
Kept add(const Origin& from, sdk::Ints layout, Buffer packed, int64_t bytes);

void set_limit(int64_t bytes);  // of all that is kept
int64_t bytes_kept();

}  // namespace tenon::cpu::packed
