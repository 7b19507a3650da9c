// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Templates over lists of arguments by libtorch's names.
#pragma once

#include <torch/namespaces.h>

#include <type_traits>
#include <utility>

namespace tenon {

using std::enable_if_t;

template <bool... Values>
using all_of = std::bool_constant<(Values && ...)>;
template <bool... Values>
using any_of = std::bool_constant<(Values || ...)>;

// Calls function with each argument, in their order.
template <class Function, class... Ts>
void apply(Function function, Ts&&... ts) {
  (static_cast<void>(function(std::forward<Ts>(ts))), ...);
}

}  // namespace tenon
