// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One scalar of any dtype, as the program wrote it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tenon/abi/value.h"
#include "tenon/core/dtype.h"

namespace tenon {

class TENON_API Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T v) {
    if constexpr (std::is_same_v<T, bool>) {
      tag_ = TN_TAG_BOOL;
      i_ = v;
    } else if constexpr (std::is_floating_point_v<T>) {
      tag_ = TN_TAG_F64;
      f_ = static_cast<double>(v);
    } else {
      tag_ = TN_TAG_I64;
      i_ = static_cast<int64_t>(v);
    }
  }
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}

  bool isFloatingPoint() const { return tag_ == TN_TAG_F64; }
  bool isIntegral(bool include_bool = false) const {
    return tag_ == TN_TAG_I64 || (include_bool && tag_ == TN_TAG_BOOL);
  }
  bool isBoolean() const { return tag_ == TN_TAG_BOOL; }
  // The dtype category: Double, Long or Bool.
  ScalarType type() const {
    return tag_ == TN_TAG_F64    ? ScalarType::Double
           : tag_ == TN_TAG_BOOL ? ScalarType::Bool
                                 : ScalarType::Long;
  }
  // Converts as a C++ cast does; ValueError if an integer type cannot hold the value.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return tag_ == TN_TAG_F64 ? f_ != 0 : i_ != 0;
    else if constexpr (std::is_floating_point_v<T>)
      return tag_ == TN_TAG_F64 ? static_cast<T>(f_) : static_cast<T>(i_);
    else if constexpr (std::is_integral_v<T>) {
      if (tag_ != TN_TAG_F64) {
        check_range(i_, static_cast<int64_t>(static_cast<T>(i_)));
        return static_cast<T>(i_);
      }
      check_integral(f_, sizeof(T), std::is_signed_v<T>);
      return static_cast<T>(f_);
    } else
      return T(to<float>());
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  Scalar operator-() const {
    return tag_ == TN_TAG_F64 ? Scalar(-f_)
                              : Scalar(static_cast<int64_t>(-static_cast<uint64_t>(i_)));
  }
  bool equal(double v) const { return toDouble() == v; }

  tn_value abi() const {
    tn_value v;
    v.tag = tag_;
    v.len = 0;
    v.u.i64 = i_;
    return v;
  }
  static Scalar from_abi(const tn_value& v);  // TypeError unless I64, F64 or BOOL

 private:
  static void check_range(int64_t given, int64_t kept);
  static void check_integral(double v, std::size_t bytes, bool is_signed);
  tn_tag tag_;
  union {
    int64_t i_;
    double f_;
  };
};

}  // namespace tenon
