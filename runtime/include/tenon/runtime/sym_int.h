// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sizes by libtorch's names for sizes that may be symbols. Sizes of tensors are known here, so that
// a SymInt is a number: it converts to one and from one, and computes as one.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/runtime/array_ref.h"

namespace tenon {

class SymInt {
 public:
  constexpr SymInt(int64_t v = 0) noexcept : value_(v) {}
  constexpr operator int64_t() const noexcept { return value_; }
  constexpr int64_t guard_int(const char* /*file*/, int64_t /*line*/) const noexcept {
    return value_;
  }
  constexpr int64_t expect_int() const noexcept { return value_; }
  constexpr int64_t as_int_unchecked() const noexcept { return value_; }
  constexpr std::optional<int64_t> maybe_as_int() const noexcept { return value_; }
  constexpr bool is_symbolic() const noexcept { return false; }
  SymInt& operator+=(int64_t v) noexcept { return *this = value_ + v; }
  SymInt& operator-=(int64_t v) noexcept { return *this = value_ - v; }
  SymInt& operator*=(int64_t v) noexcept { return *this = value_ * v; }

 private:
  int64_t value_;
};
static_assert(sizeof(SymInt) == sizeof(int64_t), "lists of both are the same memory");

using SymIntArrayRef = ArrayRef<SymInt>;

// The same memory, by the other type.
inline SymIntArrayRef fromIntArrayRefSlow(ArrayRef<int64_t> v) {
  return SymIntArrayRef(reinterpret_cast<const SymInt*>(v.data()), v.size());
}
inline ArrayRef<int64_t> asIntArrayRefUnchecked(SymIntArrayRef v) {
  return ArrayRef<int64_t>(reinterpret_cast<const int64_t*>(v.data()), v.size());
}

}  // namespace tenon
