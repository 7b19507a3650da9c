// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_mpi/scratch.h"

#include <algorithm>
#include <new>

namespace tenon::mpi_engine {
namespace {

constexpr std::align_val_t kAlignment{64};  // as tensors have it: copies take longer without

}  // namespace

void Scratch::Free::operator()(char* p) const { ::operator delete(p, kAlignment); }

Scratch::Block Scratch::take(size_t bytes) {
  {
    std::lock_guard held(lock_);
    const auto fits =
        std::find_if(free_.begin(), free_.end(), [&](const Block& b) { return b.bytes >= bytes; });
    if (fits != free_.end()) {
      Block out = std::move(*fits);
      free_.erase(fits);
      return out;
    }
  }
  return {Memory(static_cast<char*>(::operator new(bytes, kAlignment))), bytes, {}};
}

void Scratch::give_back(Block block) {
  std::lock_guard held(lock_);
  free_.push_back(std::move(block));
  if (free_.size() <= kKept) return;
  free_.erase(std::min_element(free_.begin(), free_.end(),
                               [](const Block& a, const Block& b) { return a.bytes < b.bytes; }));
}

}  // namespace tenon::mpi_engine
