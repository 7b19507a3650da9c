// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The kLanes signals of a block, into lanes and out of them: element j of signal l is at j * kLanes
// + l of `re` and `im`.
#pragma once

#include <cstdint>

namespace tenon::cpu::fft {

// Signals of one block, whatever the vectors' length.
template <class T>
inline constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));

template <class T>
struct Lanes {
  T *re, *im;
  int64_t n;
};

template <class T>
struct Moves {
  // Signals beside each other, whose elements are `step` complex numbers apart.
  void (*load_columns)(const T* in, int64_t step, const Lanes<T>& to);
  void (*store_columns)(const Lanes<T>& from, T scale, T* out, int64_t step);
  // Signals in one piece each, `pitch` complex numbers apart.
  void (*load_rows)(const T* in, int64_t pitch, const Lanes<T>& to);
  void (*store_rows)(const Lanes<T>& from, T scale, T* out, int64_t pitch);
  // Element j of signal l times w[l] * s[l]^j; w becomes the factors after the last element. Both
  // have kLanes real parts, and then the imaginary ones.
  void (*twist)(const Lanes<T>& at, double* w, const double* s);
};
// For this processor.
template <class T>
Moves<T> moves();

}  // namespace tenon::cpu::fft
