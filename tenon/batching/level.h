// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The vmaps of a thread that are in progress. Private to libtenon.
#pragma once

#include "tenon/core/batched.h"
#include "tenon/tensor.h"

namespace tenon::batching {

using core::BatchLevel;
using core::Randomness;

// A vmap until the end of the block.
class LevelScope {
 public:
  LevelScope(int64_t size, Randomness randomness);
  ~LevelScope();
  LevelScope(const LevelScope&) = delete;
  BatchLevel& level() const { return *level_; }

 private:
  friend class BelowScope;
  friend BatchLevel* innermost() noexcept;
  friend Tensor empty_to_draw(IntArrayRef size, const TensorOptions& options);
  core::Ref<BatchLevel> level_;
  LevelScope* outer_;
  ModeGuard mode_;
};

// Whose random numbers are drawn; null outside of all.
BatchLevel* innermost() noexcept;

// What a rule computes with the values of a level belongs to those outside of it.
class BelowScope {
 public:
  explicit BelowScope(const BatchLevel& level) noexcept;
  ~BelowScope();
  BelowScope(const BelowScope&) = delete;

 private:
  LevelScope* before_;
};

// One slice of many, along `dim` of the value.
Tensor make_batched(const Tensor& value, int64_t dim, BatchLevel& level);
inline bool is_batched(const Tensor& t) {
  return t.defined() && t.unsafeGetTensorImpl()->batched();
}
inline bool is_batched_at(const Tensor& t, const BatchLevel& level) {
  return is_batched(t) && t.unsafeGetTensorImpl()->batch->level == &level;
}
// All slices of a batched tensor, along the dimension 0; it shares their memory.
Tensor slices_of(const Tensor& batched);

// Of every slice, of every level; a tensor that is not batched as it is.
Tensor all_values_of(Tensor t);

// A new tensor that nobody else holds, with a slice for each of those of the sources, which are
// going to be written to it.
Tensor writable_for(const Tensor& fresh, TensorList sources);

// Uninitialized, of one slice for each that draws numbers of its own.
Tensor empty_to_draw(IntArrayRef size, const TensorOptions& options);
Tensor empty_like_to_draw(const Tensor& self, const TensorOptions& options = {},
                          std::optional<MemoryFormat> format = std::nullopt);

}  // namespace tenon::batching
