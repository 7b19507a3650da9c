// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A block of neighboring lines at a time goes through buffers of the thread, so that what the lines
// of an inner dimension share of a cache line is read once.
#include "plugin_cpu/fft/passes.h"

#include <algorithm>
#include <cmath>

#include "plugin_cpu/fft/halves.h"
#include "plugin_cpu/fft/lanes.h"
#include "plugin_cpu/fft/plan.h"
#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cpu::fft {
namespace {

using sdk::complex;

constexpr int64_t kBlockNumbers = 1 << 15, kMaxLines = 8, kGrain = 1 << 14;

struct LineBuffer {};

// Where a line begins that has `n` elements of its own.
int64_t begin_of(const Shape& s, int64_t line, int64_t n) {
  return line / s.inner * n * s.inner + line % s.inner;
}

// f(first line, count, buffer) for blocks of lines with one outer index; the buffer has `room`
// numbers.
template <class F>
void for_blocks(const Shape& s, int64_t room, F&& f) {
  const int64_t lines = s.outer * s.inner;
  const int64_t most = std::clamp(kBlockNumbers / s.n, int64_t{1}, kMaxLines);
  sdk::parallel_for(lines, std::max(kGrain / s.n, most), [&](int64_t begin, int64_t end) {
    const CallBuffer<LineBuffer> buffer(most * room * static_cast<int64_t>(sizeof(Number)));
    for (int64_t at = begin; at < end;) {
      const int64_t left = std::min(end - at, s.inner - at % s.inner);
      const int64_t count = std::min(left, most);
      f(at, count, buffer.template as<Number>());
      at += count;
    }
  });
}

template <class T>
Number wide(complex<T> v) {
  return {v.re, v.im};
}
inline double wide(float v) { return v; }
inline double wide(double v) { return v; }
template <class T>
complex<T> narrow(Number v, double scale, complex<T>*) {
  return {static_cast<T>(v.real() * scale), static_cast<T>(v.imag() * scale)};
}
template <class T>
T narrow(double v, double scale, T*) {
  return static_cast<T>(v * scale);
}

// n elements of each of `count` neighboring lines, `pitch` apart in the buffer.
template <class In, class Wide>
void gather(const In* in, int64_t n, int64_t step, int64_t count, Wide* to, int64_t pitch) {
  for (int64_t j = 0; j < n; ++j, in += step) {
    for (int64_t l = 0; l < count; ++l) to[l * pitch + j] = wide(in[l]);
  }
}
template <class Wide, class Out>
void scatter(const Wide* from, int64_t pitch, int64_t count, Out* out, int64_t n, int64_t step,
             double scale) {
  for (int64_t j = 0; j < n; ++j, out += step) {
    for (int64_t l = 0; l < count; ++l) out[l] = narrow(from[l * pitch + j], scale, out);
  }
}

// The complex transform of half the length that a real one takes, where lanes serve it.
template <class T>
bool by_halves(const Shape& s) {
  return s.inner == 1 && s.n % 2 == 0 && takes_lanes<T>({s.outer, s.n / 2, 1});
}

// f(line, begin, end) for the bins [begin, end) of a line that halves read and write together.
template <class F>
void for_bins(int64_t lines, int64_t h, F&& f) {
  constexpr int64_t kPart = 1 << 12;
  const int64_t bins = h / 2 + 1, parts = (bins + kPart - 1) / kPart;
  sdk::parallel_for(lines * parts, std::max(kGrain / std::min(bins, kPart), int64_t{1}),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t first = i % parts * kPart;
                        f(i / parts, first, std::min(first + kPart, bins));
                      }
                    });
}

template <class T>
T* parts_of(complex<T>* p) {
  return reinterpret_cast<T*>(p);
}

template <class T>
void real_by_halves(const T* in, complex<T>* out, const Shape& s, bool half, double scale) {
  const int64_t h = s.n / 2, to = half ? h + 1 : s.n;
  const Buffer between(s.outer * h * static_cast<int64_t>(sizeof(complex<T>)));
  auto* z = between.as<complex<T>>();
  lanes_pass(reinterpret_cast<const complex<T>*>(in), z, {s.outer, h, 1}, true, 1);
  for_bins(s.outer, h, [&](int64_t line, int64_t begin, int64_t end) {
    complex<T>* bins = out + line * to;
    bins_of_half(parts_of(z + line * h), parts_of(bins), h, begin, end, scale);
    if (half) return;
    for (int64_t k = std::max(begin, int64_t{1}); k < end; ++k) {
      bins[s.n - k] = {bins[k].re, -bins[k].im};
      bins[h + k] = {bins[h - k].re, -bins[h - k].im};
    }
  });
}

template <class T>
void halves_to_real(const complex<T>* in, T* out, const Shape& s, int64_t given, double scale) {
  const int64_t h = s.n / 2;
  const Buffer between(s.outer * h * static_cast<int64_t>(sizeof(complex<T>)));
  auto* z = between.as<complex<T>>();
  for_bins(s.outer, h, [&](int64_t line, int64_t begin, int64_t end) {
    half_of_bins(reinterpret_cast<const T*>(in + line * given), parts_of(z + line * h), h, begin,
                 end);
  });
  lanes_pass(z, reinterpret_cast<complex<T>*>(out), {s.outer, h, 1}, false, scale);
}

}  // namespace

template <class T>
void complex_pass(const complex<T>* in, complex<T>* out, const Shape& s, bool forward,
                  double scale) {
  if (takes_lanes<T>(s)) return lanes_pass(in, out, s, forward, scale);
  for_blocks(s, 2 * s.n, [&](int64_t line, int64_t count, Number* buffer) {
    const auto transform = plan(s.n, forward);
    const int64_t at = begin_of(s, line, s.n), n = s.n;
    Number* results = buffer + count * n;
    gather(in + at, n, s.inner, count, buffer, n);
    for (int64_t l = 0; l < count; ++l) transform->run(buffer + l * n, results + l * n);
    scatter(results, n, count, out + at, n, s.inner, scale);
  });
}

template <class T>
void real_to_complex(const T* in, complex<T>* out, const Shape& s, bool half, double scale) {
  if (by_halves<T>(s)) return real_by_halves(in, out, s, half, scale);
  const int64_t n = s.n, bins = n / 2 + 1, to = half ? bins : n;
  for_blocks(s, 3 * n, [&](int64_t line, int64_t count, Number* buffer) {
    const auto transform = real_plan(n, true);
    double* reals = reinterpret_cast<double*>(buffer + 2 * n * count);
    gather(in + begin_of(s, line, n), n, s.inner, count, reals, n);
    for (int64_t l = 0; l < count; ++l) {
      Number* result = buffer + l * 2 * n;
      transform->forward(reals + l * n, result);
      for (int64_t k = bins; k < to; ++k) result[k] = std::conj(result[n - k]);
    }
    scatter(buffer, 2 * n, count, out + begin_of(s, line, to), to, s.inner, scale);
  });
}

template <class T>
void complex_to_real(const complex<T>* in, T* out, const Shape& s, int64_t given, double scale) {
  if (by_halves<T>(s)) return halves_to_real(in, out, s, given, scale);
  const int64_t n = s.n, room = n + 1;
  for_blocks(s, 2 * room, [&](int64_t line, int64_t count, Number* buffer) {
    const auto transform = real_plan(n, false);
    Number* results = buffer + count * room;
    gather(in + begin_of(s, line, given), n / 2 + 1, s.inner, count, buffer, room);
    for (int64_t l = 0; l < count; ++l) transform->backward(buffer + l * room, results + l * room);
    scatter(reinterpret_cast<const double*>(results), 2 * room, count, out + begin_of(s, line, n),
            n, s.inner, scale);
  });
}

#define TN_PASSES(T)                                                                         \
  template void complex_pass<T>(const complex<T>*, complex<T>*, const Shape&, bool, double); \
  template void real_to_complex<T>(const T*, complex<T>*, const Shape&, bool, double);       \
  template void complex_to_real<T>(const complex<T>*, T*, const Shape&, int64_t, double);
TN_PASSES(float)
TN_PASSES(double)
#undef TN_PASSES

}  // namespace tenon::cpu::fft
