// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and products of sizes.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

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

namespace detail {
template <class Sizes>
void check_dimension(const char* function, bool ok, int k, const Sizes& sizes) {
  TENON_CHECK(ok, IndexError, function, ": there is no dimension ", k, " of sizes ",
              ::tenon::IntArrayRef(std::vector<int64_t>(sizes.begin(), sizes.end())));
}
}  // namespace detail

// Of sizes in any container. Elements of dimensions k, k + 1 and so on.
template <class Sizes>
int64_t numelements_from_dim(int k, const Sizes& sizes) {
  detail::check_dimension("numelements_from_dim", k >= 0, k, sizes);
  if (static_cast<std::size_t>(k) > sizes.size()) return 1;
  return multiply_integers(std::next(sizes.begin(), k), sizes.end());
}
// Elements of the dimensions below k.
template <class Sizes>
int64_t numelements_to_dim(int k, const Sizes& sizes) {
  const bool ok = k >= 0 && static_cast<std::size_t>(k) <= sizes.size();
  detail::check_dimension("numelements_to_dim", ok, k, sizes);
  return multiply_integers(sizes.begin(), std::next(sizes.begin(), k));
}
// Elements of the dimensions from k to l - 1, in either order.
template <class Sizes>
int64_t numelements_between_dim(int k, int l, const Sizes& sizes) {
  if (k > l) std::swap(k, l);
  detail::check_dimension("numelements_between_dim", k >= 0, k, sizes);
  detail::check_dimension("numelements_between_dim", static_cast<std::size_t>(l) < sizes.size(), l,
                          sizes);
  return multiply_integers(std::next(sizes.begin(), k), std::next(sizes.begin(), l));
}

}  // namespace c10
