// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// `==` and `!=` of values of every type that Python compares by what it holds.
#pragma once

#include "tenon/jit/operator.h"

namespace tenon::jit {

inline void equal(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(a == b);
}
inline void not_equal(Stack& s) {
  const IValue b = pop(s), a = pop(s);
  s.emplace_back(a != b);
}

}  // namespace tenon::jit
