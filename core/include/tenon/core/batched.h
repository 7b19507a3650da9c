// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batched tensors (vmap): what a program computes with one slice is computed for all of them.
#pragma once

#include <atomic>

#include "tenon/abi/value.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/ref.h"

namespace tenon::core {

struct Op;
class TensorImpl;
enum class Form : uint8_t;

enum class Randomness : uint8_t { Error, Different, Same };

// A vmap in progress. The tensors of one that has returned are refused. Or, where `call` is set,
// another meaning of a value that operators must not see as it is.
struct TENON_API BatchLevel : RefCounted {
  // Makes a call with tensors of the level, as core::call does.
  using Call = void (*)(const Op& op, const tn_value* in, TensorImpl** outs, Form form);
  BatchLevel(int level, int64_t slices, Randomness r) : number(level), size(slices), random(r) {}
  explicit BatchLevel(Call c) : number(0), size(1), random(Randomness::Error), call(c) {}
  virtual ~BatchLevel() = default;
  static void destroy(BatchLevel* l) noexcept;
  int number;  // 1 is the outermost
  int64_t size;
  Randomness random;
  std::atomic<bool> alive{true};
  const Call call = nullptr;  // null: by the rules of vmap
};

// What cannot be asked of many slices at once: an element, an address, a write of different values
// to one place. A composite that asks is called slice by slice.
class TENON_API NeedsSlices : public Error {
 public:
  using Error::Error;
};

}  // namespace tenon::core
