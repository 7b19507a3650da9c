// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tensors from C++ data: nested braces, vectors, and memory of the caller.
#pragma once

#include <complex>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

namespace detail {
// Nested braces of one kind of scalar. The dtype is that of the scalars: int64 for integers, the
// default dtype for floating ones, bool for bools; make() throws a ValueError when rows differ in
// length.
class TENON_API TensorData {
  template <class T>
  static constexpr bool kScalar =
      std::is_arithmetic_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
      std::is_same_v<T, core::complex<float>> || std::is_same_v<T, core::complex<double>> ||
      std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

 public:
  template <class T, class = std::enable_if_t<kScalar<T>>>
  TensorData(T v) : leaf_(true), scalar_(v), type_(CppTypeToScalarType_of<T>()) {}
  TensorData(std::initializer_list<TensorData> items);
  template <class T, class = std::enable_if_t<kScalar<T>>>
  TensorData(const std::vector<T>& v) : TensorData(ArrayRef<T>(v.data(), v.size())) {}
  TensorData(const std::vector<bool>& v);
  template <class T, class = std::enable_if_t<kScalar<T>>>
  TensorData(ArrayRef<T> v) : leaf_(false), array_(true), type_(CppTypeToScalarType_of<T>()) {
    items_.reserve(v.size());
    for (const T& x : v) items_.push_back(TensorData(x));
    sizes_ = {static_cast<int64_t>(v.size())};
  }
  Tensor make(const TensorOptions& options) const;
  // In braces, as the program wrote it.
  std::string text() const;

  // By the names of libtorch's TensorDataContainer: a scalar, a list in braces, or what a vector or
  // an array gave. ValueError where it is of another kind.
  bool is_scalar() const noexcept { return leaf_; }
  bool is_init_list() const noexcept { return !leaf_ && !array_; }
  bool is_tensor() const noexcept { return array_; }
  const Scalar& scalar() const;
  const std::vector<TensorData>& init_list() const;
  Tensor tensor() const;
  IntArrayRef sizes() const noexcept { return sizes_; }
  ScalarType scalar_type() const noexcept { return type_; }
  Tensor convert_to_tensor(const TensorOptions& options) const { return make(options); }

 private:
  template <class T>
  static constexpr ScalarType CppTypeToScalarType_of() {
    if constexpr (std::is_same_v<T, long long> || std::is_same_v<T, unsigned> ||
                  std::is_same_v<T, unsigned long> || std::is_same_v<T, unsigned short>)
      return ScalarType::Long;
    else if constexpr (std::is_same_v<T, char>)
      return ScalarType::Char;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      return ScalarType::ComplexFloat;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
      return ScalarType::ComplexDouble;
    else
      return CppTypeToScalarType<T>::value;
  }
  void write(char*& at, ScalarType dtype) const;
  // The lists in this one have one shape; this one is at `depth`, the outermost at 1.
  void check_rows(int64_t depth) const;
  // Throws for two of them, which are at `depth`.
  [[noreturn]] void ragged(const TensorData& other, int64_t depth) const;

  bool leaf_;
  bool array_ = false;
  Scalar scalar_;
  ScalarType type_;
  std::vector<int64_t> sizes_;
  std::vector<TensorData> items_;
};
using TensorDataContainer = TensorData;
TENON_API std::ostream& operator<<(std::ostream& out, const TensorData& v);
}  // namespace detail

// tensor(1.5), tensor({1, 2}), tensor({{1., 2.}, {3., 4.}}), tensor(std::vector<float>{...}).
TENON_API Tensor tensor(detail::TensorData data, const TensorOptions& options = {});
// A copy of another tensor, without its history.
template <class T, class = std::enable_if_t<std::is_same_v<T, Tensor>>>
Tensor tensor(const T& data, const TensorOptions& options = {}) {
  return data.new_tensor(data, options);
}

// Memory of the caller's as a tensor, without a copy; it must outlive the tensor unless a deleter
// is given.
TENON_API Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
TENON_API Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                           const TensorOptions& options = {});
TENON_API Tensor from_blob_with(void* data, IntArrayRef sizes, IntArrayRef strides,
                                void (*deleter)(void* context, void* data), void* context,
                                const TensorOptions& options);
namespace detail {
// A deleter that a tensor's memory holds through `self`.
template <class D>
struct BlobDeleter {
  D deleter;
  std::shared_ptr<BlobDeleter> self;
  static void run(void* context, void* data) {
    const auto held = std::move(static_cast<BlobDeleter*>(context)->self);
    held->deleter(data);
  }
};
}  // namespace detail

template <class D, class = std::enable_if_t<std::is_invocable_v<D, void*>>>
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, D deleter,
                 const TensorOptions& options = {}) {
  using Held = detail::BlobDeleter<D>;
  const auto held = std::make_shared<Held>(Held{std::move(deleter), nullptr});
  held->self = held;
  try {
    return from_blob_with(data, sizes, strides, Held::run, held.get(), options);
  } catch (...) {
    held->self.reset();  // nothing took the memory, or it was deleted already
    throw;
  }
}
template <class D, class = std::enable_if_t<std::is_invocable_v<D, void*>>>
Tensor from_blob(void* data, IntArrayRef sizes, D deleter, const TensorOptions& options = {}) {
  return from_blob(data, sizes, IntArrayRef(), std::move(deleter), options);
}

}  // namespace tenon
