// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Element access, checked once: a[i][j].
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/runtime/array_ref.h"

namespace tenon {

// How libtorch's accessors spell their pointers; Tenon's are plain.
template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T*;
};

// Borrows sizes and strides, in elements.
template <class T, std::size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = T*;
  TensorAccessor(T* data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  ArrayRef<Index> sizes() const { return {sizes_, N}; }
  ArrayRef<Index> strides() const { return {strides_, N}; }
  Index size(std::size_t d) const { return sizes_[d]; }
  Index stride(std::size_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Traits, Index>(data_ + i * strides_[0], sizes_ + 1,
                                                     strides_ + 1);
  }

 private:
  T* data_;
  const Index* sizes_;
  const Index* strides_;
};

// Owns sizes and strides, so that it can be handed to a kernel by value. The tensor must outlive
// it.
template <class T, std::size_t N, class Index = int64_t>
class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (std::size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }
  Index size(std::size_t d) const { return sizes_[d]; }
  Index stride(std::size_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, DefaultPtrTraits, Index>(data_, sizes_, strides_)[i];
  }

 private:
  T* data_;
  Index sizes_[N], strides_[N];
};

template <class T, std::size_t N, template <class> class = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;
template <class T, std::size_t N, template <class> class = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;
template <class T, std::size_t N, template <class> class = DefaultPtrTraits, class Index = int64_t>
using GenericPackedTensorAccessor = PackedTensorAccessor<T, N, Index>;

}  // namespace tenon
