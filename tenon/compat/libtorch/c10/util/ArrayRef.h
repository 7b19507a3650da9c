// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <array>
#include <vector>

#include "tenon/runtime/array_ref.h"

namespace at {
using IntList = ::tenon::IntArrayRef;  // its name of 2018
}
namespace c10 {
using IntList = ::tenon::IntArrayRef;

template <class T>
::tenon::ArrayRef<T> makeArrayRef(const T& one) {
  return ::tenon::ArrayRef<T>(&one, 1);
}
template <class T>
::tenon::ArrayRef<T> makeArrayRef(const T* data, std::size_t n) {
  return ::tenon::ArrayRef<T>(data, n);
}
template <class T>
::tenon::ArrayRef<T> makeArrayRef(const T* begin, const T* end) {
  return ::tenon::ArrayRef<T>(begin, static_cast<std::size_t>(end - begin));
}
template <class T>
::tenon::ArrayRef<T> makeArrayRef(const std::vector<T>& values) {
  return values;
}
template <class T, std::size_t N>
::tenon::ArrayRef<T> makeArrayRef(const std::array<T, N>& values) {
  return ::tenon::ArrayRef<T>(values.data(), N);
}
template <class T, std::size_t N>
::tenon::ArrayRef<T> makeArrayRef(const T (&values)[N]) {
  return ::tenon::ArrayRef<T>(values, N);
}

}  // namespace c10
