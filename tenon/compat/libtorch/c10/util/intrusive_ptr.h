// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// c10::intrusive_ptr and what it counts. Stores, groups and works are held by shared_ptr here,
// other classes of libtorch and those that a program derives from intrusive_ptr_target by
// core::Ref; a template cannot deduce T from an intrusive_ptr<T>.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "tenon/custom_class_holder.h"

namespace tenon::distributed {
class Store;
class Work;
class ProcessGroup;
struct ProcessGroupOptions;
class Future;
}  // namespace tenon::distributed

namespace tenon::core {

template <class A, class B>
bool operator<(const Ref<A>& a, const Ref<B>& b) noexcept {
  return std::less<const void*>()(a.get(), b.get());
}

}  // namespace tenon::core

namespace c10 {
namespace detail {

template <class T, class... Bases>
constexpr bool is_one_of = (std::is_same_v<T, Bases> || ...);
template <class T, class... Bases>
struct IsDerivedFromOneOf : std::disjunction<std::is_base_of<Bases, T>...> {};
template <class T, class = void>
struct IsComplete : std::false_type {};
template <class T>
struct IsComplete<T, std::enable_if_t<(sizeof(T) > 0)>> : std::true_type {};

// A class that is not yet defined is none that is derived from these.
template <class T, class... Bases>
constexpr bool is_held_by_shared_ptr =
    is_one_of<T, Bases...> || std::conjunction_v<IsComplete<T>, IsDerivedFromOneOf<T, Bases...>>;
template <class T>
constexpr bool is_shared =
    is_held_by_shared_ptr<std::remove_const_t<T>, ::tenon::distributed::Store,
                          ::tenon::distributed::Work, ::tenon::distributed::ProcessGroup,
                          ::tenon::distributed::ProcessGroupOptions, ::tenon::distributed::Future>;

}  // namespace detail

template <class T>
using intrusive_ptr =
    std::conditional_t<detail::is_shared<T>, std::shared_ptr<T>, ::tenon::core::Ref<T>>;

using ::tenon::intrusive_ptr_target;

// Of a class that is derived from intrusive_ptr_target.
template <class T>
class weak_intrusive_ptr {
 public:
  weak_intrusive_ptr() noexcept = default;
  explicit weak_intrusive_ptr(const intrusive_ptr<T>& p) noexcept : target_(p.get()) { retain(); }
  weak_intrusive_ptr(const weak_intrusive_ptr& o) noexcept : target_(o.target_) { retain(); }
  weak_intrusive_ptr(weak_intrusive_ptr&& o) noexcept
      : target_(std::exchange(o.target_, nullptr)) {}
  weak_intrusive_ptr& operator=(weak_intrusive_ptr o) noexcept {
    std::swap(target_, o.target_);
    return *this;
  }
  ~weak_intrusive_ptr() { reset(); }

  void reset() noexcept {
    if (const intrusive_ptr_target* t = std::exchange(target_, nullptr)) t->drop_weak();
  }
  uint32_t use_count() const noexcept { return target_ ? target_->use_count() : 0; }
  uint32_t weak_use_count() const noexcept { return target_ ? base().weak_use_count() : 0; }
  bool expired() const noexcept { return use_count() == 0; }
  // Null if it is expired.
  intrusive_ptr<T> lock() const noexcept {
    return target_ && target_->try_retain() ? intrusive_ptr<T>::reclaim(target_) : nullptr;
  }
  bool operator==(const weak_intrusive_ptr& o) const noexcept { return target_ == o.target_; }
  bool operator!=(const weak_intrusive_ptr& o) const noexcept { return target_ != o.target_; }

 private:
  const intrusive_ptr_target& base() const noexcept { return *target_; }
  void retain() const noexcept {
    if (target_) base().retain_weak();
  }
  T* target_ = nullptr;
};

template <class T, class... A>
intrusive_ptr<T> make_intrusive(A&&... args) {
  if constexpr (detail::is_shared<T>) {
    return std::make_shared<T>(std::forward<A>(args)...);
  } else {
    return intrusive_ptr<T>::make(std::forward<A>(args)...);
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
template <class To, class From>
::tenon::core::Ref<To> static_intrusive_pointer_cast(::tenon::core::Ref<From> from) noexcept {
  return ::tenon::core::Ref<To>::reclaim(static_cast<To*>(from.release()));
}
// Null for an object of another class.
template <class To, class From>
::tenon::core::Ref<To> dynamic_intrusive_pointer_cast(
    const ::tenon::core::Ref<From>& from) noexcept {
  return ::tenon::core::Ref<To>::reclaim_copy(dynamic_cast<To*>(from.get()));
}

}  // namespace c10

template <class T>
struct std::hash<::tenon::core::Ref<T>> {
  std::size_t operator()(const ::tenon::core::Ref<T>& p) const noexcept {
    return std::hash<T*>()(p.get());
  }
};
