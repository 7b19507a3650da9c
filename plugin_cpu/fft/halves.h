// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A real transform of an even length n = 2 h by a complex one of h: elements at even and odd places
// are the parts of h complex numbers. Their transform is Z = E + i O, where E and O are the
// transforms of the two halves, and the bins are X[k] = E[k] + exp(-2 pi i k / n) O[k].
#pragma once

#include <cstdint>

namespace tenon::cpu::fft {

// Bins k and h - k for k in [begin, end), which ends at most at h / 2 + 1; numbers are pairs of
// real and imaginary parts. Ranges write apart, and `bins` may be `z`. From the h numbers Z to the
// bins 0 to h, times `scale`.
template <class T>
void bins_of_half(const T* z, T* bins, int64_t h, int64_t begin, int64_t end, double scale);
// And back, to 2 Z. Imaginary parts of the bins 0 and h do not count.
template <class T>
void half_of_bins(const T* bins, T* z, int64_t h, int64_t begin, int64_t end);

}  // namespace tenon::cpu::fft
