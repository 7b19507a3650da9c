// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs of any floating dtype as runs of what they are computed in: in place, or through a buffer
// for 16-bit floats.
#pragma once

#include <algorithm>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

template <class T>
using Wide = sdk::compute_t<T>;

// A small parameter as a vector; `n` times `fallback` where it is absent.
template <class T>
std::vector<Wide<T>> parameter(const sdk::Tensor& t, int64_t n, Wide<T> fallback) {
  std::vector<Wide<T>> v(static_cast<std::size_t>(n), fallback);
  if (t.defined())
    std::transform(t.data<T>(), t.data<T>() + n, v.begin(),
                   [](T x) { return static_cast<Wide<T>>(x); });
  return v;
}

// Reads `n` elements at `p`, converted where T is narrower; valid until the next read of the same
// reader.
template <class T>
class ReadRun {
 public:
  explicit ReadRun(int64_t n)
      : buffer_(std::is_same_v<T, Wide<T>> ? 0 : static_cast<std::size_t>(n)) {}
  const Wide<T>* operator()(const T* p, [[maybe_unused]] int64_t n) {
    if constexpr (std::is_same_v<T, Wide<T>>) {
      return p;
    } else {
      for (int64_t i = 0; i < n; ++i)
        buffer_[static_cast<std::size_t>(i)] = static_cast<float>(p[i]);
      return buffer_.data();
    }
  }

 private:
  std::vector<Wide<T>> buffer_;
};

// Where `n` elements are computed before they are stored at `p`.
template <class T>
class WriteRun {
 public:
  explicit WriteRun(int64_t n)
      : buffer_(std::is_same_v<T, Wide<T>> ? 0 : static_cast<std::size_t>(n)) {}
  Wide<T>* at(T* p) {
    if constexpr (std::is_same_v<T, Wide<T>>)
      return p;
    else
      return buffer_.data();
  }
  void store([[maybe_unused]] T* p, [[maybe_unused]] int64_t n) {
    if constexpr (!std::is_same_v<T, Wide<T>>) {
      for (int64_t i = 0; i < n; ++i) p[i] = T(buffer_[static_cast<std::size_t>(i)]);
    }
  }

 private:
  std::vector<Wide<T>> buffer_;
};

}  // namespace tenon::cpu
