// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic on sizes, none of which wraps. An infer function or a composite that adds or
// multiplies integers of its caller does it in Size: a result beyond 64 bits is remembered, and
// get() throws.
#pragma once

#include <cstdint>

#include "tenon/runtime/error.h"

namespace tenon::core {

// Throws "op: ...": the bytes cannot be allocated, or the sizes are beyond 64 bits.
[[noreturn]] TENON_API TENON_COLD void too_large(const char* op, const char* what);
// OutOfMemoryError unless the host has memory for `count` objects of `bytes` each: before a loop
// whose count is an argument and whose every iteration allocates.
TENON_API void check_room(const char* op, const char* what, int64_t count, uint64_t bytes);

class Size {
 public:
  constexpr Size(int64_t v) noexcept : v_(v) {}
  // The value; ValueError "op: what is too large" where it does not fit.
  int64_t get(const char* op, const char* what) const {
    if (TENON_UNLIKELY(!fits_)) too_large(op, what);
    return v_;
  }
  constexpr bool fits() const noexcept { return fits_; }

  friend constexpr Size operator+(Size a, Size b) noexcept {
    Size r(0);
    r.fits_ = !__builtin_add_overflow(a.v_, b.v_, &r.v_) && a.fits_ && b.fits_;
    return r;
  }
  friend constexpr Size operator-(Size a, Size b) noexcept {
    Size r(0);
    r.fits_ = !__builtin_sub_overflow(a.v_, b.v_, &r.v_) && a.fits_ && b.fits_;
    return r;
  }
  friend constexpr Size operator*(Size a, Size b) noexcept {
    Size r(0);
    r.fits_ = !__builtin_mul_overflow(a.v_, b.v_, &r.v_) && a.fits_ && b.fits_;
    return r;
  }
  // Division by zero does not fit.
  friend constexpr Size operator/(Size a, Size b) noexcept {
    Size r(0);
    r.fits_ = a.fits_ && b.fits_ && b.v_ != 0 && !(a.v_ == INT64_MIN && b.v_ == -1);
    if (r.fits_) r.v_ = a.v_ / b.v_;
    return r;
  }
  constexpr Size& operator+=(Size b) noexcept { return *this = *this + b; }
  constexpr Size& operator*=(Size b) noexcept { return *this = *this * b; }

 private:
  int64_t v_;
  bool fits_ = true;
};

// The number of elements: a size of 0 makes it 0, whatever the others are.
constexpr Size product(const int64_t* sizes, int64_t n) noexcept {
  Size p(1);
  for (int64_t i = 0; i < n; ++i) {
    if (sizes[i] == 0) return Size(0);
    p *= sizes[i];
  }
  return p;
}

}  // namespace tenon::core
