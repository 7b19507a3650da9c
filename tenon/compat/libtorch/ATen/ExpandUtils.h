// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes that broadcast.
#pragma once

#include <ATen/ATen.h>
#include <ATen/InferSize.h>
#include <c10/util/SmallVector.h>

#include <tuple>
#include <utility>

namespace at {

// Whether each size is that of `desired`, counted from the last, or 1.
inline bool is_expandable_to(::tenon::IntArrayRef shape, ::tenon::IntArrayRef desired) {
  if (shape.size() > desired.size()) return false;
  const std::size_t before = desired.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && shape[i] != desired[before + i]) return false;
  }
  return true;
}

inline bool are_expandable(::tenon::IntArrayRef a, ::tenon::IntArrayRef b) {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

// The shape of a + b. ValueError if they do not broadcast.
inline std::vector<int64_t> infer_size(::tenon::IntArrayRef a, ::tenon::IntArrayRef b) {
  std::vector<int64_t> out = (a.size() < b.size() ? b : a).vec();
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    TENON_CHECK(x == y || x == 1 || y == 1, ValueError, "The size of tensor a (", x,
                ") must match the size of tensor b (", y, ") at non-singleton dimension ",
                out.size() - i);
    out[out.size() - i] = x == 1 ? y : x;
  }
  return out;
}
inline DimVector infer_size_dimvector(::tenon::IntArrayRef a, ::tenon::IntArrayRef b) {
  return DimVector(infer_size(a, b));
}

inline ::tenon::Tensor expand_size(const ::tenon::Tensor& to_expand, ::tenon::IntArrayRef sizes) {
  return to_expand.sizes().equals(sizes) ? to_expand : to_expand.expand(sizes);
}
// Both in the shape of their sum.
inline std::pair<::tenon::Tensor, ::tenon::Tensor> expand_outplace(const ::tenon::Tensor& a,
                                                                   const ::tenon::Tensor& b) {
  const std::vector<int64_t> shape = infer_size(a.sizes(), b.sizes());
  return {expand_size(a, shape), expand_size(b, shape)};
}

// The gradient of an expansion from `shape`: sums over what was repeated.
inline ::tenon::Tensor sum_to(const ::tenon::Tensor& tensor, ::tenon::IntArrayRef shape) {
  return tensor.sizes().equals(shape) ? tensor : tensor.sum_to_size(shape);
}

}  // namespace at
