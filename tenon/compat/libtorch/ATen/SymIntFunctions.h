// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions by libtorch's names for sizes that may be symbols.
#pragma once

#include <c10/core/SymInt.h>
#include <torch/namespaces.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/ops.h"

namespace tenon {
namespace compat {

inline int64_t plain(const SymInt& v) { return static_cast<int64_t>(v); }
inline IntArrayRef plain(SymIntArrayRef v) { return asIntArrayRefUnchecked(v); }
inline IntArrayRef plain(const std::vector<SymInt>& v) {
  return asIntArrayRefUnchecked(SymIntArrayRef(v));
}
inline std::optional<int64_t> plain(const std::optional<SymInt>& v) {
  return v ? std::optional<int64_t>(plain(*v)) : std::nullopt;
}
inline std::optional<IntArrayRef> plain(const std::optional<SymIntArrayRef>& v) {
  return v ? std::optional<IntArrayRef>(plain(*v)) : std::nullopt;
}
template <class T>
const T& plain(const T& v) {
  return v;
}

}  // namespace compat

#define TENON_SYMINT(name)                    \
  template <class... A>                       \
  auto name##_symint(const A&... arguments) { \
    return name(compat::plain(arguments)...); \
  }
TENON_SYMINT(as_strided)
TENON_SYMINT(roll)
TENON_SYMINT(tile)
TENON_SYMINT(slice_scatter)
TENON_SYMINT(select_scatter)
TENON_SYMINT(narrow_copy)
TENON_SYMINT(expand_copy)
TENON_SYMINT(view_copy)
TENON_SYMINT(embedding)
TENON_SYMINT(convolution)
TENON_SYMINT(layer_norm)
TENON_SYMINT(native_layer_norm)
TENON_SYMINT(group_norm)
TENON_SYMINT(native_group_norm)
TENON_SYMINT(adaptive_avg_pool1d)
TENON_SYMINT(adaptive_avg_pool2d)
TENON_SYMINT(adaptive_avg_pool3d)
TENON_SYMINT(upsample_nearest1d)
TENON_SYMINT(upsample_nearest2d)
TENON_SYMINT(upsample_nearest3d)
TENON_SYMINT(upsample_linear1d)
TENON_SYMINT(upsample_bilinear2d)
TENON_SYMINT(upsample_bicubic2d)
TENON_SYMINT(upsample_trilinear3d)
TENON_SYMINT(reflection_pad1d)
TENON_SYMINT(reflection_pad2d)
TENON_SYMINT(reflection_pad3d)
TENON_SYMINT(replication_pad1d)
TENON_SYMINT(replication_pad2d)
TENON_SYMINT(replication_pad3d)
TENON_SYMINT(pad)
TENON_SYMINT(tensor_split)
TENON_SYMINT(unsafe_split)
TENON_SYMINT(unsafe_split_with_sizes)
TENON_SYMINT(nll_loss)
TENON_SYMINT(cross_entropy_loss)
TENON_SYMINT(randint)
TENON_SYMINT(randperm)
TENON_SYMINT(conv1d)
TENON_SYMINT(conv2d)
TENON_SYMINT(conv3d)
TENON_SYMINT(index_select_backward)
TENON_SYMINT(select_backward)
TENON_SYMINT(slice_backward)
TENON_SYMINT(repeat_interleave)
TENON_SYMINT(unflatten)
TENON_SYMINT(diagonal_backward)
TENON_SYMINT(trace_backward)
#undef TENON_SYMINT

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
