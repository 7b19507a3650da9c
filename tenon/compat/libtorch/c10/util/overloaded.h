// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <utility>

namespace c10 {

// One function object of several, for std::visit.
template <class... F>
struct overloaded_t : F... {
  using F::operator()...;
};
template <class... F>
overloaded_t(F...) -> overloaded_t<F...>;
template <class... F>
overloaded_t<F...> overloaded(F... f) {
  return {std::move(f)...};
}

}  // namespace c10
