// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lines of a power of two, as many at a time as there are lanes. A long line is a matrix [n1, n2]:
// transforms of its columns, factors exp(-2 pi i j k / n), transforms of its rows, transposed. The
// backward transform is the forward one with real and imaginary parts exchanged.
#include "plugin_cpu/fft/lanes.h"

#include <algorithm>
#include <vector>

#include "plugin_cpu/fft/kept.h"
#include "plugin_cpu/fft/line.h"
#include "plugin_cpu/fft/roots.h"
#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/parallel.h"

namespace tenon::cpu::fft {
namespace {

using sdk::complex;

constexpr int64_t kShortest = 8, kSplit = 4096, kLongest = 1 << 24, kGrain = 1 << 14;

struct SignalBuffer {};

template <class T>
std::shared_ptr<const std::vector<T>> roots_of(int64_t n) {
  const Kind kind = sizeof(T) == 4 ? Kind::kFloatRoots : Kind::kDoubleRoots;
  return Kept::get<std::vector<T>>(n, kind, [&] {
    auto table = std::make_shared<std::vector<T>>();
    table->reserve(static_cast<std::size_t>(2 * n));
    for (int64_t k = 0; k < n; ++k) {
      const Number r = root(k, n, true);
      table->push_back(static_cast<T>(r.real()));
      table->push_back(static_cast<T>(r.imag()));
    }
    return table;
  });
}

// Roots of unity of a large length: products of two of a short table each.
struct SplitRoots {
  explicit SplitRoots(int64_t n) {
    while ((int64_t{1} << 2 * bits) < n) ++bits;
    const int64_t fine_count = int64_t{1} << bits;
    for (int64_t k = 0; k < fine_count; ++k) fine.push_back(root(k, n, true));
    for (int64_t k = 0; k < n; k += fine_count) coarse.push_back(root(k, n, true));
  }
  Number at(int64_t k) const {
    const Number a = coarse[static_cast<std::size_t>(k >> bits)],
                 b = fine[static_cast<std::size_t>(k & ((int64_t{1} << bits) - 1))];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  int bits = 0;
  std::vector<Number> fine, coarse;
};

// Kept by the logarithm of their length, as they are few numbers.
std::shared_ptr<const SplitRoots> split_roots(int64_t n) {
  return Kept::get<SplitRoots>(__builtin_ctzll(static_cast<uint64_t>(n)), Kind::kSplitRoots,
                               [&] { return std::make_shared<SplitRoots>(n); });
}

// The signals of one block, in two buffers, and the roots of their length.
template <class T>
class Block {
 public:
  explicit Block(int64_t n)
      : n_(n),
        apart_(lanes_apart<T>(n)),
        roots_(roots_of<T>(n)),
        buffer_(4 * apart_ * static_cast<int64_t>(sizeof(T))),
        at_(buffer_.template as<T>()) {}

  // Element j of signal l is in[j * step + l * pitch]; one of both is 1.
  void load(const complex<T>* in, int64_t step, int64_t pitch, int64_t count, bool forward) {
    at_ = buffer_.template as<T>();
    const Lanes<T> to = lanes(forward);
    if (count < kLanes<T>) return load_few(in, step, pitch, count, to);
    pitch == 1 ? moves_.load_columns(parts_of(in), step, to)
               : moves_.load_rows(parts_of(in), pitch, to);
  }
  void transform() {
    T* other = at_ == buffer_.template as<T>() ? at_ + 2 * apart_ : buffer_.template as<T>();
    at_ = transform_lanes(at_, other, n_, roots_->data());
  }
  void store(complex<T>* out, int64_t step, int64_t pitch, int64_t count, bool forward,
             double scale) const {
    const Lanes<T> from = lanes(forward);
    const T by = static_cast<T>(scale);
    if (count < kLanes<T>) return store_few(from, by, out, step, pitch, count);
    pitch == 1 ? moves_.store_columns(from, by, parts_of(out), step)
               : moves_.store_rows(from, by, parts_of(out), pitch);
  }
  // Element j of signal l times exp(-2 pi i j (first + l) / whole): by repeated products in double,
  // which begin again before their errors show.
  void twist(int64_t first, int64_t whole) {
    constexpr int64_t kProducts = 16, kCount = kLanes<T>;
    const auto roots = split_roots(whole);
    double w[2 * kCount], s[2 * kCount];
    const auto set = [&](double* to, int64_t j) {
      for (int64_t l = 0; l < kCount; ++l) {
        const Number r = roots->at(j * (first + l) % whole);
        to[l] = r.real();
        to[kCount + l] = r.imag();
      }
    };
    set(s, 1);
    for (int64_t j = 0; j < n_; j += kProducts) {
      set(w, j);
      T* const re = at_ + j * kCount;
      moves_.twist({re, re + apart_, std::min(kProducts, n_ - j)}, w, s);
    }
  }

 private:
  static const T* parts_of(const complex<T>* p) { return reinterpret_cast<const T*>(p); }
  static T* parts_of(complex<T>* p) { return reinterpret_cast<T*>(p); }
  Lanes<T> lanes(bool forward) const {
    T *const re = at_, *const im = at_ + apart_;
    return forward ? Lanes<T>{re, im, n_} : Lanes<T>{im, re, n_};
  }

  // The others are zeros.
  static void load_few(const complex<T>* in, int64_t step, int64_t pitch, int64_t count,
                       const Lanes<T>& to) {
    for (int64_t j = 0; j < to.n; ++j) {
      for (int64_t l = 0; l < kLanes<T>; ++l) {
        const complex<T> v = l < count ? in[j * step + l * pitch] : complex<T>{};
        to.re[j * kLanes<T> + l] = v.re;
        to.im[j * kLanes<T> + l] = v.im;
      }
    }
  }
  static void store_few(const Lanes<T>& from, T scale, complex<T>* out, int64_t step, int64_t pitch,
                        int64_t count) {
    for (int64_t j = 0; j < from.n; ++j) {
      for (int64_t l = 0; l < count; ++l)
        out[j * step + l * pitch] = {from.re[j * kLanes<T> + l] * scale,
                                     from.im[j * kLanes<T> + l] * scale};
    }
  }

  const Moves<T> moves_ = moves<T>();
  int64_t n_, apart_;
  std::shared_ptr<const std::vector<T>> roots_;
  CallBuffer<SignalBuffer> buffer_;
  T* at_;
};

// f(first, count) of blocks of up to kLanes of `lines`, of n elements.
template <class T, class F>
void for_blocks(int64_t lines, int64_t n, F&& f) {
  const int64_t blocks = (lines + kLanes<T> - 1) / kLanes<T>;
  const int64_t grain = std::max<int64_t>(kGrain / (n * kLanes<T>), 1);
  sdk::parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    Block<T> block(n);
    for (int64_t b = begin; b < end; ++b)
      f(block, b * kLanes<T>, std::min(kLanes<T>, lines - b * kLanes<T>));
  });
}

template <class T>
void short_lines(const complex<T>* in, complex<T>* out, const Shape& s, bool forward,
                 double scale) {
  const int64_t per_outer = s.n * s.inner;
  if (s.inner == 1) {
    for_blocks<T>(s.outer, s.n, [&](Block<T>& block, int64_t first, int64_t count) {
      block.load(in + first * s.n, 1, s.n, count, forward);
      block.transform();
      block.store(out + first * s.n, 1, s.n, count, forward, scale);
    });
    return;
  }
  for (int64_t o = 0; o < s.outer; ++o, in += per_outer, out += per_outer) {
    for_blocks<T>(s.inner, s.n, [&](Block<T>& block, int64_t first, int64_t count) {
      block.load(in + first, s.inner, 1, count, forward);
      block.transform();
      block.store(out + first, s.inner, 1, count, forward, scale);
    });
  }
}

template <class T>
void long_line(const complex<T>* in, complex<T>* out, complex<T>* between, int64_t n, bool forward,
               double scale) {
  int64_t n1 = 1;
  while (n1 * n1 < n) n1 *= 2;
  const int64_t n2 = n / n1;
  for_blocks<T>(n2, n1, [&](Block<T>& block, int64_t first, int64_t) {
    block.load(in + first, n2, 1, kLanes<T>, forward);
    block.transform();
    block.twist(first, n);
    block.store(between + first, n2, 1, kLanes<T>, true, 1);
  });
  for_blocks<T>(n1, n2, [&](Block<T>& block, int64_t first, int64_t) {
    block.load(between + first * n2, 1, n2, kLanes<T>, true);
    block.transform();
    block.store(out + first, n1, 1, kLanes<T>, forward, scale);
  });
}

}  // namespace

template <class T>
bool takes_lanes(const Shape& s) {
  if (s.n < kShortest || (s.n & (s.n - 1))) return false;
  if (takes_lines(s)) return true;
  if (s.inner == 1 && s.n >= kSplit) return s.n <= kLongest;
  return s.n <= kSplit && (s.inner == 1 ? s.outer : s.inner) >= kLanes<T> / 2;
}

template <class T>
void lanes_pass(const complex<T>* in, complex<T>* out, const Shape& s, bool forward, double scale) {
  if (takes_lines(s)) return lines_pass(in, out, s, forward, scale);
  if (s.inner > 1 || s.n < kSplit) return short_lines(in, out, s, forward, scale);
  const Buffer between(s.n * static_cast<int64_t>(sizeof(complex<T>)));
  for (int64_t o = 0; o < s.outer; ++o)
    long_line(in + o * s.n, out + o * s.n, between.as<complex<T>>(), s.n, forward, scale);
}

#define TN_LANES(T)                           \
  template bool takes_lanes<T>(const Shape&); \
  template void lanes_pass<T>(const complex<T>*, complex<T>*, const Shape&, bool, double);
TN_LANES(float)
TN_LANES(double)
#undef TN_LANES

}  // namespace tenon::cpu::fft
