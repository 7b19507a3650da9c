// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A borrowed, constant run of values: libtorch's ArrayRef. It must not outlive what it was made
// from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon {

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = const T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end)
      : data_(begin), size_(static_cast<std::size_t>(end - begin)) {}
  template <class A, class = std::enable_if_t<!std::is_same_v<T, bool>, A>>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {}
  template <std::size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <std::size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
  // As in libtorch: valid until the end of the full expression.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  constexpr ArrayRef(const std::initializer_list<T>& l)
      : data_(l.begin() == l.end() ? nullptr : l.begin()), size_(l.size()) {}
#pragma GCC diagnostic pop

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* cbegin() const { return begin(); }
  constexpr const T* cend() const { return end(); }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr const T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  const T& at(std::size_t i) const {
    TENON_CHECK(i < size_, IndexError, "index ", i, " is out of bounds for a list of ", size_,
                " items");
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  constexpr ArrayRef slice(std::size_t from, std::size_t n) const {
    return ArrayRef(data_ + from, n);
  }
  constexpr ArrayRef slice(std::size_t from) const { return ArrayRef(data_ + from, size_ - from); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  constexpr bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == o.data_[i])) return false;
    }
    return true;
  }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
  return !ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
  return !a.equals(ArrayRef<T>(b));
}

using IntArrayRef = ArrayRef<int64_t>;

inline core::MessagePart::MessagePart(const IntArrayRef& v)
    : integers_(v.data()), how_(Integers | v.size() << 3) {}

// An optional list that also takes a list, a vector or one scalar.
template <class T>
class OptionalArrayRef {
 public:
  OptionalArrayRef() = default;
  OptionalArrayRef(std::nullopt_t) {}
  OptionalArrayRef(ArrayRef<T> v) : v_(v) {}
  OptionalArrayRef(const std::vector<T>& v) : v_(v) {}
  OptionalArrayRef(const std::initializer_list<T>& v) : v_(ArrayRef<T>(v)) {}
  OptionalArrayRef(const T& v) : v_(ArrayRef<T>(v)) {}
  template <std::size_t N>
  OptionalArrayRef(const T (&v)[N]) : v_(ArrayRef<T>(v)) {}
  template <std::size_t N>
  OptionalArrayRef(const std::array<T, N>& v) : v_(ArrayRef<T>(v)) {}
  OptionalArrayRef(const std::optional<ArrayRef<T>>& v) : v_(v) {}
  bool has_value() const { return v_.has_value(); }
  explicit operator bool() const { return v_.has_value(); }
  const ArrayRef<T>& value() const { return v_.value(); }
  const ArrayRef<T>& operator*() const { return *v_; }
  const ArrayRef<T>* operator->() const { return &*v_; }

 private:
  std::optional<ArrayRef<T>> v_;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

}  // namespace tenon
