// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Composites under vmap: their operators are batched one by one; those that ask for an element are
// called slice by slice. Private to libtenon.
#pragma once

#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/core/batched.h"
#include "tenon/tensor.h"

namespace tenon::batching {

// All tensors of the results; empty if no argument is batched, if it writes to one, or if it gives
// something else than tensors.
std::vector<Tensor> slice_composite(int id, const tn_value* in);

// Results of a composite that can be stacked.
template <class R>
struct Stacked : std::false_type {};
template <>
struct Stacked<Tensor> : std::true_type {
  static Tensor from(const std::vector<Tensor>& flat) { return flat[0]; }
};
template <>
struct Stacked<std::vector<Tensor>> : std::true_type {
  static std::vector<Tensor> from(std::vector<Tensor> flat) { return flat; }
};
template <class... T>
struct Stacked<std::tuple<T...>> : std::bool_constant<(std::is_same_v<T, Tensor> && ...)> {
  static std::tuple<T...> from(const std::vector<Tensor>& flat) {
    return from(flat, std::index_sequence_for<T...>());
  }
  template <std::size_t... I>
  static std::tuple<T...> from(const std::vector<Tensor>& flat, std::index_sequence<I...>) {
    return {flat[I]...};
  }
};

template <class F>
auto run_or_slice(int id, const tn_value* in, F& run) {
  using Result = std::decay_t<decltype(run())>;
  if constexpr (Stacked<Result>::value) {
    try {
      return run();
    } catch (const core::NeedsSlices&) {
      std::vector<Tensor> flat = slice_composite(id, in);
      if (flat.empty()) throw;
      return Stacked<Result>::from(std::move(flat));
    }
  } else {
    return run();
  }
}

}  // namespace tenon::batching
