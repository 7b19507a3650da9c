// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions by libtorch's names for sizes that may be symbols.
#pragma once

#include <c10/core/SymInt.h>
#include <torch/namespaces.h>

#include "tenon/ops.h"

namespace tenon {

#define TENON_SYMINT_FACTORY(name)                                                      \
  inline Tensor name##_symint(SymIntArrayRef size, const TensorOptions& options = {}) { \
    return name(asIntArrayRefUnchecked(size), options);                                 \
  }
TENON_SYMINT_FACTORY(empty)
TENON_SYMINT_FACTORY(zeros)
TENON_SYMINT_FACTORY(ones)
TENON_SYMINT_FACTORY(rand)
TENON_SYMINT_FACTORY(randn)
#undef TENON_SYMINT_FACTORY

inline Tensor full_symint(SymIntArrayRef size, const Scalar& fill_value,
                          const TensorOptions& options = {}) {
  return full(asIntArrayRefUnchecked(size), fill_value, options);
}
inline Tensor empty_strided_symint(SymIntArrayRef size, SymIntArrayRef stride,
                                   const TensorOptions& options = {}) {
  return empty_strided(asIntArrayRefUnchecked(size), asIntArrayRefUnchecked(stride), options);
}
inline Tensor reshape_symint(const Tensor& self, SymIntArrayRef shape) {
  return self.reshape_symint(shape);
}
inline Tensor narrow_symint(const Tensor& self, int64_t dim, SymInt start, SymInt length) {
  return self.narrow_symint(dim, start, length);
}
inline Tensor select_symint(const Tensor& self, int64_t dim, SymInt index) {
  return self.select_symint(dim, index);
}
inline Tensor slice_symint(const Tensor& self, int64_t dim = 0,
                           std::optional<SymInt> start = std::nullopt,
                           std::optional<SymInt> end = std::nullopt, SymInt step = 1) {
  return self.slice_symint(dim, start, end, step);
}
inline std::vector<Tensor> split_symint(const Tensor& self, SymInt split_size, int64_t dim = 0) {
  return self.split_symint(split_size, dim);
}
inline std::vector<Tensor> split_with_sizes_symint(const Tensor& self, SymIntArrayRef sizes,
                                                   int64_t dim = 0) {
  return self.split_with_sizes_symint(sizes, dim);
}
inline Tensor constant_pad_nd_symint(const Tensor& self, SymIntArrayRef pad,
                                     const Scalar& value = 0) {
  return constant_pad_nd(self, asIntArrayRefUnchecked(pad), value);
}

}  // namespace tenon
