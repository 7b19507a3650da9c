// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Traits of modules by libtorch's names.
#pragma once

#include <torch/csrc/utils/variadic.h>

#include <type_traits>
#include <utility>

#include "tenon/nn/module.h"

namespace tenon::detail {

template <class T>
using is_module = std::is_base_of<nn::Module, std::decay_t<T>>;
template <class M, class T = void>
using enable_if_module_t = std::enable_if_t<is_module<M>::value, T>;

// Whether no type is a reference to an lvalue.
template <class... Ts>
constexpr bool check_not_lvalue_references() {
  return !(std::is_lvalue_reference_v<Ts> || ...);
}

// The result of forward for arguments of these types; void if the module has no forward.
template <class Nothing, class M, class... Args>
struct return_type_of_forward_if {
  using type = void;
};
template <class M, class... Args>
struct return_type_of_forward_if<
    std::void_t<decltype(std::declval<M&>().forward(std::declval<Args>()...))>, M, Args...> {
  using type = decltype(std::declval<M&>().forward(std::declval<Args>()...));
};
template <class M, class... Args>
using return_type_of_forward = return_type_of_forward_if<void, M, Args...>;
template <class M, class... Args>
using return_type_of_forward_t = typename return_type_of_forward<M, Args...>::type;

}  // namespace tenon::detail
