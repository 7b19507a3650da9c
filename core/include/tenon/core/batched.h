// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batched tensors (vmap): what a program computes with one slice is computed for all of them.
#pragma once

#include <atomic>

#include "tenon/runtime/error.h"
#include "tenon/runtime/ref.h"

namespace tenon::core {

enum class Randomness : uint8_t { Error, Different, Same };

// A vmap in progress. The tensors of one that has returned are refused.
struct TENON_API BatchLevel : RefCounted {
  BatchLevel(int level, int64_t slices, Randomness r) : number(level), size(slices), random(r) {}
  static void destroy(BatchLevel* l) noexcept;
  int number;  // 1 is the outermost
  int64_t size;
  Randomness random;
  std::atomic<bool> alive{true};
};

// What cannot be asked of many slices at once: an element, an address, a write of different values
// to one place. A composite that asks is called slice by slice.
class TENON_API NeedsSlices : public Error {
 public:
  using Error::Error;
};

}  // namespace tenon::core
