// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// c10::intrusive_ptr. Stores, groups and works are held by shared_ptr here, other classes of
// libtorch by core::Ref; a template cannot deduce T from an intrusive_ptr<T>.
#pragma once

#include <torch/namespaces.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/distributed/process_group.h"
#include "tenon/runtime/ref.h"

namespace c10 {
namespace detail {

template <class T>
constexpr bool is_shared = std::is_base_of_v<::tenon::distributed::Store, T> ||
                           std::is_base_of_v<::tenon::distributed::Work, T> ||
                           std::is_base_of_v<::tenon::distributed::ProcessGroup, T> ||
                           std::is_base_of_v<::tenon::distributed::ProcessGroupOptions, T> ||
                           std::is_base_of_v<::tenon::distributed::Future, T>;

// Those that are not yet defined are no classes of c10d.
template <class T, class = void>
struct PointerTo {
  using type = ::tenon::core::Ref<T>;
};
template <class T>
struct PointerTo<T, std::enable_if_t<(sizeof(T) > 0) && is_shared<T>>> {
  using type = std::shared_ptr<T>;
};

}  // namespace detail

template <class T>
using intrusive_ptr = typename detail::PointerTo<T>::type;

template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&... args) {
  if constexpr (detail::is_shared<T>) {
    return std::make_shared<T>(std::forward<A>(args)...);
  } else {
    return intrusive_ptr<T>(new T(std::forward<A>(args)...));
  }
}

template <class To, class From>
std::shared_ptr<To> static_intrusive_pointer_cast(std::shared_ptr<From> from) {
  return std::static_pointer_cast<To>(std::move(from));
}
template <class To, class From>
std::shared_ptr<To> dynamic_intrusive_pointer_cast(std::shared_ptr<From> from) {
  return std::dynamic_pointer_cast<To>(std::move(from));
}

}  // namespace c10
