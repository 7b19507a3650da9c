// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Vectors by the names of those that keep a few elements in themselves. Here all are on the heap.
#pragma once

#include <torch/namespaces.h>

#include <utility>
#include <vector>

#include "tenon/runtime/array_ref.h"

namespace c10 {

template <class T>
class SmallVectorImpl : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  using std::vector<T>::operator=;
  template <class It>
  void append(It begin, It end) {
    this->insert(this->end(), begin, end);
  }
  void append(std::size_t n, const T& value) { this->insert(this->end(), n, value); }
  T pop_back_val() {
    T last = std::move(this->back());
    this->pop_back();
    return last;
  }
};

template <class T, unsigned N = 8>
class SmallVector : public SmallVectorImpl<T> {
 public:
  using SmallVectorImpl<T>::SmallVectorImpl;
  using SmallVectorImpl<T>::operator=;
  SmallVector() = default;
  explicit SmallVector(::tenon::ArrayRef<T> values)
      : SmallVectorImpl<T>(values.begin(), values.end()) {}
};

using DimVector = SmallVector<int64_t, 5>;

}  // namespace c10
namespace at {
using ::c10::DimVector;
using ::c10::SmallVector;
using ::c10::SmallVectorImpl;
}  // namespace at
