// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// D values; one stands for all: kernel sizes, strides, paddings.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tenon/runtime/array_ref.h"
#include "tenon/runtime/error.h"

namespace tenon {

template <std::size_t D, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list) : ExpandingArray(list.begin(), list.size()) {}
  ExpandingArray(const std::vector<T>& list) : ExpandingArray(list.data(), list.size()) {}
  ExpandingArray(ArrayRef<T> list) : ExpandingArray(list.data(), list.size()) {}
  ExpandingArray(T single) { values_.fill(single); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator ArrayRef<T>() const { return ArrayRef<T>(values_.data(), D); }
  std::size_t size() const noexcept { return D; }

 private:
  ExpandingArray(const T* data, std::size_t n) {
    TENON_CHECK(n == D, ValueError, "Expected ", D, " values, but instead got ", n);
    for (std::size_t i = 0; i < D; ++i) values_[i] = data[i];
  }
  std::array<T, D> values_;
};

// The same for adaptive pooling, where nullopt keeps the size of the input.
template <std::size_t D, class T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using Base = ExpandingArray<D, std::optional<T>>;
  ExpandingArrayWithOptionalElem(std::initializer_list<std::optional<T>> list) : Base(list) {}
  ExpandingArrayWithOptionalElem(const std::vector<std::optional<T>>& list) : Base(list) {}
  ExpandingArrayWithOptionalElem(const std::vector<T>& list) : Base(widen(list)) {}
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list) : Base(widen(list)) {}
  ExpandingArrayWithOptionalElem(T single) : Base(std::optional<T>(single)) {}
  ExpandingArrayWithOptionalElem(std::optional<T> single) : Base(single) {}

 private:
  static std::vector<std::optional<T>> widen(ArrayRef<T> list) {
    return std::vector<std::optional<T>>(list.begin(), list.end());
  }
};

// One value as it is, several in brackets: "5", "[5, 5]". The stream is a parameter so that no file
// needs <ostream> that prints none.
template <class Stream, std::size_t D, class T>
Stream& operator<<(Stream& stream, const ExpandingArray<D, T>& array) {
  for (std::size_t i = 0; i < D; ++i) stream << (i > 0 ? ", " : D == 1 ? "" : "[") << (*array)[i];
  stream << (D == 1 ? "" : "]");
  return stream;
}

}  // namespace tenon
