// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace c10 {

// for (const auto i : irange(n)): 0 to n - 1; empty if the end is not above the beginning.
template <class T>
class integer_range {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;
    explicit iterator(T v) : v_(v) {}
    T operator*() const { return v_; }
    iterator& operator++() {
      ++v_;
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++v_;
      return before;
    }
    bool operator==(const iterator& o) const { return v_ == o.v_; }
    bool operator!=(const iterator& o) const { return v_ != o.v_; }

   private:
    T v_;
  };
  integer_range(T begin, T end) : begin_(begin), end_(end < begin ? begin : end) {}
  iterator begin() const { return iterator(begin_); }
  iterator end() const { return iterator(end_); }

 private:
  T begin_, end_;
};

template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
integer_range<T> irange(T end) {
  return {T(), end};
}
template <class A, class B,
          class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
integer_range<B> irange(A begin, B end) {
  return {static_cast<B>(begin), end};
}

}  // namespace c10
