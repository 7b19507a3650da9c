// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lines of a power of two, as many at a time as there are lanes. A long line is a matrix [n1, n2]:
// transforms of its columns, factors exp(-2 pi i j k / n), transforms of its rows, transposed. The
// backward transform is the forward one with real and imaginary parts exchanged.
#include "plugin_cpu/fft/lanes.h"

#include <algorithm>
#include <vector>

#include "plugin_cpu/fft/kept.h"
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

  // Element j of signal l is in[j * step + l * pitch].
  void load(const complex<T>* in, int64_t step, int64_t pitch, int64_t count, bool forward) {
    at_ = buffer_.template as<T>();
    T *re = at_, *im = at_ + apart_;
    if (!forward) std::swap(re, im);
    if (count < kLanes<T>) std::fill(at_, at_ + 2 * apart_, T(0));
    for (int64_t first = 0; first < n_; first += kTile) {
      for (int64_t l = 0; l < count; ++l) {
        const complex<T>* from = in + first * step + l * pitch;
        for (int64_t j = 0; j < kTile; ++j) {
          re[(first + j) * kLanes<T> + l] = from[j * step].re;
          im[(first + j) * kLanes<T> + l] = from[j * step].im;
        }
      }
    }
  }
  void transform() {
    T* other = at_ == buffer_.template as<T>() ? at_ + 2 * apart_ : buffer_.template as<T>();
    at_ = transform_lanes(at_, other, n_, roots_->data());
  }
  void store(complex<T>* out, int64_t step, int64_t pitch, int64_t count, bool forward,
             double scale) const {
    const T *re = at_, *im = at_ + apart_, by = static_cast<T>(scale);
    if (!forward) std::swap(re, im);
    for (int64_t first = 0; first < n_; first += kTile) {
      for (int64_t l = 0; l < count; ++l) {
        complex<T>* to = out + first * step + l * pitch;
        for (int64_t j = 0; j < kTile; ++j)
          to[j * step] = {re[(first + j) * kLanes<T> + l] * by,
                          im[(first + j) * kLanes<T> + l] * by};
      }
    }
  }
  // Of neighbors: signal l is l elements after the first.
  void load_neighbors(const complex<T>* in, int64_t step, bool forward) {
    at_ = buffer_.template as<T>();
    T *re = at_, *im = at_ + apart_;
    if (!forward) std::swap(re, im);
    for (int64_t j = 0; j < n_; ++j, in += step) {
      for (int64_t l = 0; l < kLanes<T>; ++l) {
        re[j * kLanes<T> + l] = in[l].re;
        im[j * kLanes<T> + l] = in[l].im;
      }
    }
  }
  void store_neighbors(complex<T>* out, int64_t step, bool forward, double scale) const {
    const T *re = at_, *im = at_ + apart_, by = static_cast<T>(scale);
    if (!forward) std::swap(re, im);
    for (int64_t j = 0; j < n_; ++j, out += step) {
      for (int64_t l = 0; l < kLanes<T>; ++l)
        out[l] = {re[j * kLanes<T> + l] * by, im[j * kLanes<T> + l] * by};
    }
  }
  // Element j of signal l times exp(-2 pi i j (first + l) / whole): by repeated products in double,
  // which begin again before their errors show.
  void twist(int64_t first, int64_t whole) {
    constexpr int64_t kAnew = 16;
    double wr[kLanes<T>], wi[kLanes<T>], sr[kLanes<T>], si[kLanes<T>];
    for (int64_t l = 0; l < kLanes<T>; ++l) {
      const Number r = root(first + l, whole, true);
      sr[l] = r.real();
      si[l] = r.imag();
    }
    for (int64_t j = 0; j < n_; ++j) {
      T *re = at_ + j * kLanes<T>, *im = re + apart_;
      if (j % kAnew == 0) {
        for (int64_t l = 0; l < kLanes<T>; ++l) {
          const Number r = root(j * (first + l) % whole, whole, true);
          wr[l] = r.real();
          wi[l] = r.imag();
        }
      }
      for (int64_t l = 0; l < kLanes<T>; ++l) {
        const T r = static_cast<T>(wr[l]), i = static_cast<T>(wi[l]), a = re[l], b = im[l];
        re[l] = a * r - b * i;
        im[l] = a * i + b * r;
        const double next = wr[l] * sr[l] - wi[l] * si[l];
        wi[l] = wr[l] * si[l] + wi[l] * sr[l];
        wr[l] = next;
      }
    }
  }

 private:
  static constexpr int64_t kTile = 8;

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
    block.load_neighbors(in + first, n2, forward);
    block.transform();
    block.twist(first, n);
    block.store_neighbors(between + first, n2, true, 1);
  });
  for_blocks<T>(n1, n2, [&](Block<T>& block, int64_t first, int64_t) {
    block.load(between + first * n2, 1, n2, kLanes<T>, true);
    block.transform();
    block.store_neighbors(out + first, n1, forward, scale);
  });
}

}  // namespace

template <class T>
bool takes_lanes(const Shape& s) {
  if (s.n < kShortest || (s.n & (s.n - 1))) return false;
  if (s.inner == 1 && s.n >= kSplit) return s.n <= kLongest;
  return s.n <= kSplit && (s.inner == 1 ? s.outer : s.inner) >= kLanes<T> / 2;
}

template <class T>
void lanes_pass(const complex<T>* in, complex<T>* out, const Shape& s, bool forward, double scale) {
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
