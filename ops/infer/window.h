// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What windows that slide over the last dimensions share. Private to ops/infer.
#pragma once

#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

// Entry k of a list. Of 31 bits, so that what is computed from two of them and a size fits 64.
inline int64_t small_entry(Infer& c, int arg, std::size_t k) {
  const int64_t entry = c.ints(arg)[k];
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  if (entry < -most || entry > most)
    fail<ValueError>(c, c.arg(arg), " is too large: ", c.ints(arg));
  return entry;
}

// The entry of an int[nd] argument for dimension d: one a dimension, or one for all.
inline int64_t window_entry(Infer& c, int arg, int d, int nd) {
  const IntArrayRef v = c.ints(arg);
  if (v.size() != 1 && v.size() != static_cast<std::size_t>(nd)) {
    fail<ValueError>(c, c.arg(arg), " needs ", nd, " entries, got ", v);
  }
  return small_entry(c, arg, v.size() == 1 ? 0 : static_cast<std::size_t>(d));
}

}  // namespace tenon::core
