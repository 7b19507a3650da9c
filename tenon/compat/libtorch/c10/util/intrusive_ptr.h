// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// c10::intrusive_ptr and what it counts: the classes of libtorch and those that a program derives
// from intrusive_ptr_target. Stores, groups and works are held by shared_ptr here, which an
// intrusive_ptr of one is, too.
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
}  // namespace c10

namespace tenon::core {

template <class T>
class intrusive_ptr<T, std::enable_if_t<c10::detail::is_shared<T>>> : public std::shared_ptr<T> {
 public:
  using std::shared_ptr<T>::shared_ptr;
  intrusive_ptr() noexcept = default;
  intrusive_ptr(std::shared_ptr<T> p) noexcept : std::shared_ptr<T>(std::move(p)) {}
  template <class... A>
  static intrusive_ptr make(A&&... args) {
    return std::make_shared<T>(std::forward<A>(args)...);
  }
  bool defined() const noexcept { return this->get() != nullptr; }
  bool unique() const noexcept { return this->use_count() == 1; }
};

template <class A, class B>
bool operator<(const Ref<A>& a, const Ref<B>& b) noexcept {
  return std::less<const void*>()(a.get(), b.get());
}

}  // namespace tenon::core

namespace c10 {

using ::tenon::intrusive_ptr_target;
using ::tenon::core::intrusive_ptr;

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
  return intrusive_ptr<T>::make(std::forward<A>(args)...);
}

template <class To, class From>
intrusive_ptr<To> static_intrusive_pointer_cast(intrusive_ptr<From> from) noexcept {
  if constexpr (detail::is_shared<From>) {
    return std::static_pointer_cast<To>(std::move(from));
  } else {
    return intrusive_ptr<To>::reclaim(static_cast<To*>(from.release()));
  }
}
// Null for an object of another class.
template <class To, class From>
intrusive_ptr<To> dynamic_intrusive_pointer_cast(const intrusive_ptr<From>& from) noexcept {
  if constexpr (detail::is_shared<From>) {
    return std::dynamic_pointer_cast<To>(from);
  } else {
    return intrusive_ptr<To>::reclaim_copy(dynamic_cast<To*>(from.get()));
  }
}
template <class To, class From>
intrusive_ptr<To> static_intrusive_pointer_cast(std::shared_ptr<From> from) noexcept {
  return std::static_pointer_cast<To>(std::move(from));
}
template <class To, class From>
intrusive_ptr<To> dynamic_intrusive_pointer_cast(const std::shared_ptr<From>& from) noexcept {
  return std::dynamic_pointer_cast<To>(from);
}

}  // namespace c10

namespace tenon {
using c10::dynamic_intrusive_pointer_cast;
using c10::make_intrusive;
using c10::static_intrusive_pointer_cast;
using c10::weak_intrusive_ptr;
}  // namespace tenon

template <class T>
struct std::hash<::tenon::core::intrusive_ptr<T>> {
  std::size_t operator()(const ::tenon::core::intrusive_ptr<T>& p) const noexcept {
    return std::hash<T*>()(p.get());
  }
};
