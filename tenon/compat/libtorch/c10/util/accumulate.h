// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and products of sizes.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>

#include "tenon/runtime/array_ref.h"
#include "tenon/runtime/error.h"

namespace c10 {

template <class It>
int64_t sum_integers(It begin, It end) {
  return std::accumulate(begin, end, int64_t{0});
}
template <class Container>
int64_t sum_integers(const Container& c) {
  return sum_integers(c.begin(), c.end());
}
template <class It>
int64_t multiply_integers(It begin, It end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<int64_t>());
}
template <class Container>
int64_t multiply_integers(const Container& c) {
  return multiply_integers(c.begin(), c.end());
}

// Elements of dimensions k, k + 1 and so on.
inline int64_t numelements_from_dim(int k, ::tenon::IntArrayRef sizes) {
  return static_cast<std::size_t>(k) > sizes.size()
             ? 1
             : multiply_integers(sizes.begin() + k, sizes.end());
}
// Elements of the dimensions below k.
inline int64_t numelements_to_dim(int k, ::tenon::IntArrayRef sizes) {
  TENON_CHECK(k >= 0 && static_cast<std::size_t>(k) <= sizes.size(), IndexError,
              "numelements_to_dim: there is no dimension ", k, " of sizes ", sizes);
  return multiply_integers(sizes.begin(), sizes.begin() + k);
}
// Elements of the dimensions from k to l - 1, in either order.
inline int64_t numelements_between_dim(int k, int l, ::tenon::IntArrayRef sizes) {
  if (k > l) std::swap(k, l);
  TENON_CHECK(k >= 0 && static_cast<std::size_t>(l) < sizes.size(), IndexError,
              "numelements_between_dim: there are no dimensions ", k, " to ", l, " of sizes ",
              sizes);
  return multiply_integers(sizes.begin() + k, sizes.begin() + l);
}

}  // namespace c10
