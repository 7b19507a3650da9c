// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TENON_ARG(T, name): one field of an options struct, read by name(), set by name(value), which
// returns the struct so that calls chain. A default follows the macro: TENON_ARG(bool, bias) =
// true;
#pragma once

#include <utility>

#define TENON_ARG(T, name)                                 \
 public:                                                   \
  auto name(T new_##name)->decltype(*this) {               \
    this->name##_ = std::move(new_##name);                 \
    return *this;                                          \
  }                                                        \
  const T& name() const noexcept { return this->name##_; } \
  T& name() noexcept { return this->name##_; }             \
                                                           \
 private:                                                  \
  T name##_
