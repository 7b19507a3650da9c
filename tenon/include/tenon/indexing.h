// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// x.index({Slice(1, 9, 2), Ellipsis, None, mask, 3}), as in libtorch.
#pragma once

#include <limits>
#include <optional>
#include <string_view>

#include "tenon/tensor.h"

namespace tenon {
namespace indexing {

struct EllipsisIndexType {};
inline constexpr std::nullopt_t None = std::nullopt;
inline constexpr EllipsisIndexType Ellipsis{};

// start:stop:step over one dimension; an open end is None.
struct Slice {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  std::optional<int64_t> start() const { return start_; }
  std::optional<int64_t> stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  std::optional<int64_t> start_, stop_;
  int64_t step_;
};

struct TensorIndex {
  enum Kind { None, Ellipsis, Integer, Boolean, SliceKind, TensorKind };
  TensorIndex(std::nullopt_t) : kind(None) {}
  TensorIndex(EllipsisIndexType) : kind(Ellipsis) {}
  TensorIndex(const char* text);  // "..." or "None"
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  TensorIndex(T i)
      : kind(std::is_same_v<T, bool> ? Boolean : Integer), integer(static_cast<int64_t>(i)) {}
  TensorIndex(Slice s) : kind(SliceKind), slice(s) {}
  TensorIndex(Tensor t) : kind(TensorKind), tensor(std::move(t)) {}

  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};

}  // namespace indexing
}  // namespace tenon
