// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <optional>
#include <utility>

namespace c10 {

// A value of its own, or a pointer to one that must outlive it.
template <class T>
class MaybeOwned {
 public:
  MaybeOwned() : own_(std::in_place) {}
  static MaybeOwned borrowed(const T& value) { return MaybeOwned(&value); }
  static MaybeOwned owned(T&& value) { return MaybeOwned(std::move(value)); }
  template <class... A>
  static MaybeOwned owned(std::in_place_t, A&&... args) {
    return MaybeOwned(T(std::forward<A>(args)...));
  }
  bool unsafeIsBorrowed() const { return !own_; }
  const T& operator*() const& { return own_ ? *own_ : *borrowed_; }
  T operator*() && { return own_ ? std::move(*own_) : *borrowed_; }
  const T* operator->() const { return &**this; }

 private:
  explicit MaybeOwned(const T* borrowed) : borrowed_(borrowed) {}
  explicit MaybeOwned(T&& value) : own_(std::move(value)) {}
  const T* borrowed_ = nullptr;
  std::optional<T> own_;
};

}  // namespace c10
