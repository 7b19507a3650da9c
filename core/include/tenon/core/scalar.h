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
  template <class T>
  Scalar(const core::complex<T>& v) : tag_(TN_TAG_COMPLEX), c_{v.real(), v.imag()} {}
  template <class T>
  Scalar(const std::complex<T>& v) : Scalar(core::complex<T>(v)) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}
  template <const core::SmallFloat& format>
  Scalar(core::Float8<format> v) : Scalar(static_cast<float>(v)) {}

  bool isFloatingPoint() const { return tag_ == TN_TAG_F64; }
  bool isComplex() const { return tag_ == TN_TAG_COMPLEX; }
  bool isIntegral(bool include_bool = false) const {
    return tag_ == TN_TAG_I64 || (include_bool && tag_ == TN_TAG_BOOL);
  }
  bool isBoolean() const { return tag_ == TN_TAG_BOOL; }
  // The dtype category: ComplexDouble, Double, Long or Bool.
  ScalarType type() const {
    return tag_ == TN_TAG_F64       ? ScalarType::Double
           : tag_ == TN_TAG_BOOL    ? ScalarType::Bool
           : tag_ == TN_TAG_COMPLEX ? ScalarType::ComplexDouble
                                    : ScalarType::Long;
  }
  // Converts as a C++ cast does; ValueError if an integer type cannot hold the value, or a real
  // type an imaginary part.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      return to<core::complex<typename T::value_type>>();
    } else if constexpr (core::is_complex_v<T>) {
      using R = typename T::value_type;
      return tag_ == TN_TAG_COMPLEX ? T(static_cast<R>(c_[0]), static_cast<R>(c_[1])) : T(to<R>());
    } else if constexpr (std::is_same_v<T, bool>) {
      return tag_ == TN_TAG_COMPLEX ? c_[0] != 0 || c_[1] != 0
             : tag_ == TN_TAG_F64   ? f_ != 0
                                    : i_ != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (tag_ == TN_TAG_COMPLEX) check_real();
      return tag_ == TN_TAG_I64 || tag_ == TN_TAG_BOOL ? static_cast<T>(i_) : static_cast<T>(f_);
    } else if constexpr (std::is_integral_v<T>) {
      if (tag_ == TN_TAG_COMPLEX) check_real();
      if (tag_ == TN_TAG_I64 || tag_ == TN_TAG_BOOL) {
        check_range(i_, static_cast<int64_t>(static_cast<T>(i_)));
        return static_cast<T>(i_);
      }
      check_integral(f_, sizeof(T), std::is_signed_v<T>);
      return static_cast<T>(f_);
    } else {
      return T(to<float>());
    }
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  int16_t toShort() const { return to<int16_t>(); }
  int8_t toChar() const { return to<int8_t>(); }
  uint8_t toByte() const { return to<uint8_t>(); }
  Half toHalf() const { return to<Half>(); }
  BFloat16 toBFloat16() const { return to<BFloat16>(); }
  bool toBool() const { return to<bool>(); }
  core::complex<double> toComplexDouble() const { return to<core::complex<double>>(); }
  core::complex<float> toComplexFloat() const { return to<core::complex<float>>(); }
  Scalar operator-() const {
    return tag_ == TN_TAG_COMPLEX ? Scalar(-toComplexDouble())
           : tag_ == TN_TAG_F64   ? Scalar(-f_)
                                  : Scalar(static_cast<int64_t>(-static_cast<uint64_t>(i_)));
  }
  Scalar conj() const {
    return tag_ == TN_TAG_COMPLEX ? Scalar(core::complex<double>(c_[0], -c_[1])) : *this;
  }
  template <class T>
  bool equal(T v) const {
    return toComplexDouble() == core::complex<double>(v);
  }

  // That of a complex number points into this object.
  tn_value abi() const {
    tn_value v;
    v.tag = tag_;
    v.len = 0;
    if (TENON_UNLIKELY(tag_ == TN_TAG_COMPLEX))
      v.u.f64s = c_;
    else
      v.u.i64 = i_;
    return v;
  }
  static Scalar from_abi(const tn_value& v);  // TypeError unless a number

 private:
  void check_real() const;
  static void check_range(int64_t given, int64_t kept);
  static void check_integral(double v, std::size_t bytes, bool is_signed);
  tn_tag tag_;
  union {
    int64_t i_;
    double f_;
    double c_[2];  // real and imaginary part
  };
};

}  // namespace tenon
