// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// x.index({Slice(1, 9, 2), Ellipsis, None, mask, 3}), as in libtorch.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {
namespace indexing {

struct EllipsisIndexType {};
inline constexpr std::nullopt_t None = std::nullopt;
inline constexpr EllipsisIndexType Ellipsis{};

constexpr int64_t INDEX_MIN = std::numeric_limits<int64_t>::min();
constexpr int64_t INDEX_MAX = std::numeric_limits<int64_t>::max();

// start:stop:step over one dimension; an end that is None is that of the dimension.
struct Slice {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : step_(step.value_or(1)),
        start_(start.value_or(step_ < 0 ? INDEX_MAX : 0)),
        stop_(stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX)) {}
  int64_t start() const { return start_; }
  int64_t stop() const { return stop_; }
  int64_t step() const { return step_; }

 private:
  int64_t step_, start_, stop_;
};

enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor, SymInt = Integer };

// One entry of a list of indices. What an accessor returns is of the entry's type alone.
struct TENON_API TensorIndex {
  TensorIndex(std::nullopt_t) : type_(TensorIndexType::None) {}
  TensorIndex(EllipsisIndexType) : type_(TensorIndexType::Ellipsis) {}
  TensorIndex(const char* text);  // "..."; ValueError otherwise
  template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
  TensorIndex(T i)
      : type_(std::is_same_v<T, bool> ? TensorIndexType::Boolean : TensorIndexType::Integer),
        integer_(static_cast<int64_t>(i)) {}
  TensorIndex(Slice s) : type_(TensorIndexType::Slice), slice_(s) {}
  TensorIndex(Tensor t) : type_(TensorIndexType::Tensor), tensor_(std::move(t)) {}

  TensorIndexType type() const { return type_; }
  bool is_none() const { return type_ == TensorIndexType::None; }
  bool is_ellipsis() const { return type_ == TensorIndexType::Ellipsis; }
  bool is_integer() const { return type_ == TensorIndexType::Integer; }
  bool is_boolean() const { return type_ == TensorIndexType::Boolean; }
  bool is_slice() const { return type_ == TensorIndexType::Slice; }
  bool is_tensor() const { return type_ == TensorIndexType::Tensor; }

  int64_t integer() const { return integer_; }
  bool boolean() const { return integer_ != 0; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  TensorIndexType type_;
  int64_t integer_ = 0;
  Slice slice_;
  Tensor tensor_;
};

// Not in `indexing` itself, where it would meet the function `all` of programs that use both
// namespaces.
namespace sugar {
struct All {
  operator TensorIndex() const { return Slice(); }
};
inline constexpr All all{};
}  // namespace sugar

// 1:3:2; None; ...; (None, 0, 1:3:1).
TENON_API std::ostream& operator<<(std::ostream& out, const Slice& slice);
TENON_API std::ostream& operator<<(std::ostream& out, const TensorIndex& index);
TENON_API std::ostream& operator<<(std::ostream& out, const std::vector<TensorIndex>& indices);

}  // namespace indexing
}  // namespace tenon
