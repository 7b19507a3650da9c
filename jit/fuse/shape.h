// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kinds of inputs: what a fused program is made for. Sizes are not part of it, but which of them
// are 1, since those broadcast.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/jit/operator.h"
#include "tenon/ops.h"

namespace tenon::jit::fuse {

inline constexpr int kMaxDims = 8;

// Dimensions count from the last, which is bit 0. Those that a tensor does not have are of size 1.
struct Broadcast {
  uint8_t dim = 0;
  uint8_t ones = 0xff;
  bool is_one(int d) const noexcept { return (ones >> d & 1) != 0; }
  bool operator==(const Broadcast& o) const noexcept { return dim == o.dim && ones == o.ones; }
  Broadcast operator&(const Broadcast& o) const noexcept {
    return {dim > o.dim ? dim : o.dim, static_cast<uint8_t>(ones & o.ones)};
  }
};

struct Kind {
  enum class Of : uint8_t { Tensor, Int, Float } of = Of::Tensor;
  ScalarType dtype = kFloat;
  Broadcast shape;
  bool operator==(const Kind& o) const noexcept {
    return of == o.of && dtype == o.dtype && shape == o.shape;
  }
};

// Sizes and strides of what all results are parts of.
struct Extent {
  int dim = 0;
  int64_t sizes[kMaxDims], strides[kMaxDims];  // from the first dimension on
  int64_t numel = 1;
};

// Elements of the shape to which the tensors among the last n of the stack broadcast, if they do.
int64_t points_at_most(const Stack& stack, std::size_t n) noexcept;

// What the inputs (the last n of the stack) are and where their results lie in memory. Nothing if
// they are not for a fused program: gradients are wanted, other layouts and devices than one,
// sizes that do not broadcast, memory that is not dense in one order.
bool look_at_inputs(const Stack& stack, std::size_t n, std::vector<Kind>& kinds, Extent& extent);

}  // namespace tenon::jit::fuse
