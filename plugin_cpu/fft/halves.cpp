// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/fft/halves.h"

#include <algorithm>

#include "plugin_cpu/fft/roots.h"

namespace tenon::cpu::fft {
namespace {

// f(k, exp(-2 pi i k / n)) for k in [begin, end): roots by repeated products, several apart, which
// begin again before their errors show.
template <class F>
void for_roots(int64_t n, int64_t begin, int64_t end, F&& f) {
  constexpr int64_t kSide = 16, kSteps = 8;
  const Number step = root(kSide, n, true);
  double re[kSide], im[kSide];
  for (int64_t first = begin; first < end; first += kSide) {
    const bool again = (first - begin) % (kSide * kSteps) == 0;
    for (int64_t l = 0; l < kSide; ++l) {
      const Number next = again ? root(first + l, n, true)
                                : Number(re[l] * step.real() - im[l] * step.imag(),
                                         re[l] * step.imag() + im[l] * step.real());
      re[l] = next.real();
      im[l] = next.imag();
    }
    const int64_t count = std::min(kSide, end - first);
    for (int64_t l = 0; l < count; ++l) f(first + l, re[l], im[l]);
  }
}

}  // namespace

template <class T>
void bins_of_half(const T* z, T* bins, int64_t h, int64_t begin, int64_t end, double scale) {
  const T half = static_cast<T>(0.5 * scale);
  for_roots(2 * h, begin, end, [&](int64_t k, double re, double im) {
    const T wr = static_cast<T>(re), wi = static_cast<T>(im);
    const int64_t mirror = 2 * (k == 0 ? 0 : h - k), at = 2 * k, to = 2 * (h - k);
    const T ar = z[at], ai = z[at + 1], br = z[mirror], bi = -z[mirror + 1];
    const T er = ar + br, ei = ai + bi, dr = ai - bi, di = br - ar;  // E, and O = (a - b) / i
    const T pr = dr * wr - di * wi, pi = dr * wi + di * wr;
    bins[at] = half * (er + pr);
    bins[at + 1] = half * (ei + pi);
    bins[to] = half * (er - pr);
    bins[to + 1] = half * (pi - ei);
  });
}

template <class T>
void half_of_bins(const T* bins, T* z, int64_t h, int64_t begin, int64_t end) {
  for_roots(2 * h, begin, end, [&](int64_t k, double re, double im) {
    const T wr = static_cast<T>(re), wi = static_cast<T>(-im);
    const int64_t at = 2 * k, mirror = 2 * (h - k);
    const bool edge = k == 0;
    const T ar = bins[at], ai = edge ? 0 : bins[at + 1], br = bins[mirror],
            bi = edge ? 0 : -bins[mirror + 1];
    const T sr = ar + br, si = ai + bi, dr = bi - ai, di = ar - br;  // a + b, and i (a - b)
    const T pr = dr * wr - di * wi, pi = dr * wi + di * wr;
    z[at] = sr + pr;
    z[at + 1] = si + pi;
    if (edge) return;
    z[mirror] = sr - pr;
    z[mirror + 1] = pi - si;
  });
}

#define TN_HALVES(T)                                                              \
  template void bins_of_half<T>(const T*, T*, int64_t, int64_t, int64_t, double); \
  template void half_of_bins<T>(const T*, T*, int64_t, int64_t, int64_t);
TN_HALVES(float)
TN_HALVES(double)
#undef TN_HALVES

}  // namespace tenon::cpu::fft
