// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arguments and results as kernels see them. All of them borrow from the call.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tenon/sdk/dispatch.h"

namespace tenon::sdk {

template <class T>
class Span {
 public:
  Span() = default;
  Span(const T* p, int64_t n) : p_(p), n_(n) {}
  const T* begin() const { return p_; }
  const T* end() const { return p_ + n_; }
  const T* data() const { return p_; }
  int64_t size() const { return n_; }
  bool empty() const { return n_ == 0; }
  const T& operator[](int64_t i) const { return p_[i]; }

 private:
  const T* p_ = nullptr;
  int64_t n_ = 0;
};

using Ints = Span<int64_t>;
using Floats = Span<double>;
using Bools = Span<uint8_t>;
using Str = std::string_view;
using Device = tn_device;
struct Layout {
  int64_t id;
};

// "[2, 3]"
inline void append_text(std::string& s, const Ints& v) {
  s += '[';
  for (int64_t i = 0; i < v.size(); ++i) {
    if (i) s += ", ";
    append_text(s, v[i]);
  }
  s += ']';
}

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(const tn_tensor* t) : t_(t) {}

  // False for an absent optional, and for an output that output_mask excludes.
  bool defined() const { return t_ != nullptr; }
  const tn_tensor* abi() const { return t_; }

  template <class T = void>
  T* data() const {
    return reinterpret_cast<T*>(static_cast<char*>(t_->data) + t_->byte_offset);
  }
  int ndim() const { return t_->ndim; }
  Ints sizes() const { return {t_->sizes, t_->ndim}; }
  Ints strides() const { return {t_->strides, t_->ndim}; }
  // Negative dimensions count from the end.
  int64_t size(int d) const { return t_->sizes[d < 0 ? d + t_->ndim : d]; }
  int64_t stride(int d) const { return t_->strides[d < 0 ? d + t_->ndim : d]; }
  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < t_->ndim; ++i) n *= t_->sizes[i];
    return n;
  }
  DType dtype() const { return t_->dtype; }
  Device device() const { return t_->device; }
  bool contiguous() const { return t_->flags & TN_TENSOR_CONTIGUOUS; }
  const tn_storage* storage() const { return t_->storage; }

 private:
  const tn_tensor* t_ = nullptr;
};

// A Tensor that may be undefined: "Tensor?" in a schema.
class OptTensor : public Tensor {
 public:
  using Tensor::Tensor;
};

class TensorList {
 public:
  TensorList() = default;
  TensorList(const tn_tensor* const* p, int64_t n) : p_(p), n_(n) {}
  int64_t size() const { return n_; }
  OptTensor operator[](int64_t i) const { return OptTensor(p_[i]); }

 private:
  const tn_tensor* const* p_ = nullptr;
  int64_t n_ = 0;
};

class Scalar {
 public:
  Scalar() : tag_(TN_TAG_I64), i_(0) {}
  explicit Scalar(const tn_value& v) : tag_(v.tag), i_(v.u.i64) {
    if (v.tag == TN_TAG_COMPLEX) c_ = v.u.f64s;
  }
  static Scalar of(int64_t v) { return Scalar(TN_TAG_I64, v); }
  static Scalar of(double v) {
    Scalar s(TN_TAG_F64, 0);
    s.f_ = v;
    return s;
  }
  bool is_complex() const { return tag_ == TN_TAG_COMPLEX; }
  bool is_float() const { return tag_ == TN_TAG_F64; }
  const double* parts() const { return c_; }  // of a complex number: real, imaginary
  bool is_int() const { return tag_ == TN_TAG_I64; }
  bool is_bool() const { return tag_ == TN_TAG_BOOL; }
  // Converts like a C++ cast; a float beyond an integer's range wraps through int64. Of a complex
  // number a real type gets the real part: that there is no other was checked before.
  template <class T>
  T to() const {
    if constexpr (is_complex_v<T>) {
      using R = typename T::value_type;
      return is_complex() ? T(static_cast<R>(c_[0]), static_cast<R>(c_[1])) : T(to<R>());
    } else {
      return is_complex() ? Scalar::of(c_[0]).to<T>() : to_real<T>();
    }
  }

 private:
  template <class T>
  T to_real() const {
    if constexpr (std::is_same_v<T, bool>)
      return is_float() ? f_ != 0 : i_ != 0;
    else if constexpr (is_half_v<T>)
      return T(to<float>());
    else if constexpr (std::is_floating_point_v<T>)
      return is_float() ? static_cast<T>(f_) : static_cast<T>(i_);
    else
      return static_cast<T>(is_float() ? float_to_int(f_) : i_);
  }
  Scalar(tn_tag tag, int64_t v) : tag_(tag), i_(v) {}
  static int64_t float_to_int(double v) {
    return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : 0;
  }
  tn_tag tag_;
  union {
    int64_t i_;
    double f_;
    const double* c_;  // both parts, which the call owns
  };
};

using ScalarList = Span<tn_value>;

// A reserved range of the Philox stream (philox.h).
class Generator {
 public:
  Generator() = default;
  explicit Generator(const tn_generator* g) : g_(g) {}
  bool defined() const { return g_ != nullptr; }
  uint64_t seed() const { return g_->seed; }
  // In blocks of four words.
  uint64_t offset() const { return g_->offset; }
  // Null unless a graph is being captured; else device memory: the seed, and the blocks to be added
  // to the offset.
  const uint64_t* state() const { return static_cast<const uint64_t*>(g_->state_ptr); }

 private:
  const tn_generator* g_ = nullptr;
};

// Wraps a dimension that is counted from the end. A 0-dim tensor counts as having one dimension.
inline int wrap_dim(int64_t d, int ndim) {
  const int64_t n = ndim > 0 ? ndim : 1;
  if (d < -n || d >= n) {
    throw Error(TN_ERROR_INDEX, "Dimension out of range (expected to be in range of [", -n, ", ",
                n - 1, "], but got ", d, ")");
  }
  return static_cast<int>(d < 0 ? d + n : d);
}

// The dimensions as bits, all of them where none is named.
inline uint64_t dim_mask(const std::optional<Ints>& dims, int ndim) {
  const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (!dims || dims->empty()) return all;
  uint64_t mask = 0;
  for (int64_t d : *dims) {
    const int w = wrap_dim(d, ndim);
    if (ndim > 0) mask |= uint64_t{1} << w;
  }
  return mask;
}

}  // namespace tenon::sdk
