// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 and float64 products: packed panels, a register tile of 6 rows by kVecs vectors.
// Overwritten: C. Accumulated: in registers, one block of k at a time, then in C.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "plugin_cpu/gemm/gemm.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/gemm/float.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/gemm/panel-inl.h"
#include "plugin_cpu/gemm/vector-inl.h"
#include "plugin_cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows [i0, i1) of columns [j0, j1) of C have their sums.
void finished(const Finish* finish, int64_t i0, int64_t i1, int64_t j0, int64_t j1) {
  if (finish) finish->block(i0, i1, j0, j1);
}

// Columns [j, n): panels of B are read in place; only the last columns, which do not fill a vector,
// are packed.
template <class T>
void direct_columns(int64_t m, int64_t j, int64_t n, int64_t k, T alpha, Mat<const T> a,
                    Mat<const T> b, T beta, Mat<T> c) {
  const int64_t width = panel_width<T>();
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const int64_t whole = b.cs == 1 ? n / lanes * lanes : 0;
  while (j < n) {
    Tile<T> t{k, a.data, a.rs, a.cs, b.data + j, b.rs, alpha, beta, c.data + j * c.cs, c.rs};
    int64_t cols = std::min(width, whole - j);
    if (cols <= 0) {  // what is left does not fill a vector
      cols = std::min(width, n - j);
      T* packed =
          static_cast<T*>(ThreadBuffer<Tile<T>>::get(k * width * static_cast<int64_t>(sizeof(T))));
      pack_b(k, cols, width, b.data + j * b.cs, b.rs, b.cs, packed);
      t.b = packed;
      t.b_step = width;
    }
    const int64_t next = std::min(width, whole - j - cols), tiles = (m + kRows - 1) / kRows;
    for (int64_t i = 0; i < tiles; ++i) {
      const int64_t row = i * kRows;
      t.a = a.data + row * a.rs, t.c = c.data + row * c.rs + j * c.cs;
      panel<T>(std::min<int64_t>(kRows, m - row), cols, t, c.cs);
      // The columns that follow, while these are multiplied: their rows are too far apart for the
      // processor to guess.
      for (int64_t p = k * i / tiles; next > 0 && p < k * (i + 1) / tiles; ++p) {
        for (int64_t v = 0; v < next; v += lanes) hwy::Prefetch(b.data + p * b.rs + j + cols + v);
      }
    }
    j += cols;
  }
}

// Rows of at most one vector, and few of them: B stays in registers. False if the product is
// larger, or has gaps.
template <class T>
bool tiny(int64_t m, int64_t n, int64_t k, T alpha, const Mat<const T>& a, const Mat<const T>& b,
          T beta, const Mat<T>& c) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kSteps = 8;
  if (n > static_cast<int64_t>(hn::Lanes(d)) || k > kSteps || m > 16 || b.cs != 1 || c.cs != 1)
    return false;
  hn::Vec<decltype(d)> row[kSteps];
  for (int64_t p = 0; p < k; ++p) row[p] = load_first(d, n, b.data + p * b.rs);
  for (int64_t i = 0; i < m; ++i) {
    auto sum = hn::Zero(d);
    for (int64_t p = 0; p < k; ++p)
      sum = hn::MulAdd(hn::Set(d, a.data[i * a.rs + p * a.cs]), row[p], sum);
    sum = hn::Mul(sum, hn::Set(d, alpha));
    T* out = c.data + i * c.rs;
    if (beta != T(0)) sum = hn::MulAdd(hn::Set(d, beta), load_first(d, n, out), sum);
    store_first(sum, d, n, out);
  }
  return true;
}

// Products that are small, or whose panels of B stay in the first cache.
template <class T>
void direct(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
            Mat<T> c, const Finish* finish) {
  if (m * n * k <= kGemmSerial) {
    direct_columns<T>(m, 0, n, k, alpha, a, b, beta, c);
    return finished(finish, 0, m, 0, n);
  }
  // Panels of about the same number of vectors, for threads to share.
  const int64_t width = panel_width<T>(), lanes = width / kVecs, vectors = (n + lanes - 1) / lanes;
  const int64_t panels = (vectors + kVecs - 1) / kVecs;
  const auto from = [&](int64_t panel) { return std::min(n, panel * vectors / panels * lanes); };
  sdk::parallel_for(panels, std::max<int64_t>(1, kGemmSerial / (2 * m * k * width)),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t q = begin; q < end; ++q) {
                        direct_columns<T>(m, from(q), from(q + 1), k, alpha, a, b, beta, c);
                        finished(finish, 0, m, from(q), from(q + 1));
                      }
                    });
}

// Rows of sums, `width` apart, to a C whose columns are contiguous.
template <class T>
void store_transposed(int64_t rows, int64_t cols, const T* sum, int64_t width, const Mat<T>& c) {
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) c.data[i + j * c.cs] = sum[i * width + j];
  }
}

// Four by four; `width` is a multiple of 4, and `sum` has rows for the last four.
template <>
HWY_INLINE void store_transposed(int64_t rows, int64_t cols, const float* sum, int64_t width,
                                 const Mat<float>& c) {
  for (int64_t i = 0; i < rows; i += 4) {
    for (int64_t j = 0; j < cols; j += 4) {
      float transposed[4][4];
      transpose_4x4(sum + i * width + j, width, transposed[0], 4);
      for (int64_t q = 0; q < std::min<int64_t>(4, cols - j); ++q)
        std::copy_n(transposed[q], std::min<int64_t>(4, rows - i), c.data + i + (j + q) * c.cs);
    }
  }
}

// A panel whose C has contiguous columns: its rows go through a buffer, since elements far apart
// would each touch a cache line.
template <class T>
void transposed_panel(int64_t rows, int64_t cols, int64_t width, Tile<T> t, const Mat<T>& c) {
  constexpr int64_t kRun = 4 * kRows;
  HWY_ALIGN T sum[kRun * kVecs * HWY_MAX_BYTES / sizeof(T)] = {};
  const T* a = t.a;
  t.c = sum, t.c_row = width;
  for (int64_t i = 0; i < rows; i += kRun) {
    t.a = a + i * t.a_row;
    const int64_t run = std::min(kRun, rows - i);
    for (int64_t j = 0; t.beta != T(0) && j < cols; ++j) {
      for (int64_t r = 0; r < run; ++r) sum[r * width + j] = c.data[i + r + j * c.cs];
    }
    panel<T>(run, width, t, 1, kRows);
    store_transposed<T>(run, cols, sum, width, {c.data + i, 1, c.cs});
  }
}

// Whether a product of n columns, at most a panel, takes the last ones as dot products: a vector
// for one to three columns would be little used, and where they would be a panel of their own, for
// four.
template <class T>
int64_t dot_columns(int64_t n, int64_t most = 3) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())), rest = n % lanes;
  return lanes >= 8 && n > lanes && rest <= most ? rest : 0;
}

// One column of a tile of A: contiguous rows against a contiguous x.
template <class T>
void dot_rows(int64_t rows, const Tile<T>& t, const T* x, T* y) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), whole = t.kc / lanes * lanes;
  hn::Vec<decltype(d)> sum[kRows];
  const T* a[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    sum[r] = hn::Zero(d);
    a[r] = t.a + std::min<int64_t>(r, rows - 1) * t.a_row;
  }
  for (int64_t p = 0; p < whole; p += lanes) {
    const auto v = hn::LoadU(d, x + p);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sum[r] = hn::MulAdd(hn::LoadU(d, a[r] + p), v, sum[r]);
  }
  for (int64_t r = 0; r < rows; ++r) {
    T total = hn::GetLane(hn::SumOfLanes(d, sum[r]));
    for (int64_t p = whole; p < t.kc; ++p) total = add_product(a[r][p], x[p], total);
    T& out = y[r * t.c_row];
    out = t.beta == T(0) ? t.alpha * total : add_product(t.beta, out, t.alpha * total);
  }
}

// `dots` columns of B, each contiguous in `columns`, against the rows of A. C begins at the first.
template <class T>
void dot_panel(int64_t m, int64_t dots, Tile<T> t, const T* columns) {
  for (int64_t i = 0; i < m; i += kRows, t.a += kRows * t.a_row, t.c += kRows * t.c_row) {
    for (int64_t j = 0; j < dots; ++j)
      dot_rows<T>(std::min<int64_t>(kRows, m - i), t, columns + j * t.kc, t.c + j);
  }
}

// Columns [0, whole) by tiles, then `dots` columns, while the rows of A are in the cache.
template <class T>
void panel_and_dots(int64_t m, int64_t whole, int64_t dots, Tile<T> t, const T* columns) {
  for (int64_t i = 0; i < m; i += kRows, t.a += kRows * t.a_row, t.c += kRows * t.c_row) {
    const int64_t rows = std::min<int64_t>(kRows, m - i);
    panel<T>(rows, whole, t, 1);
    Tile<T> last = t;
    last.c += whole;
    dot_panel<T>(rows, dots, last, columns);
  }
}

// Columns [j, j + dots) of B, steps [p, p + kc), each contiguous.
template <class T>
void pack_columns(int64_t kc, int64_t dots, const T* b, int64_t rs, int64_t cs, T* to) {
  for (int64_t j = 0; j < dots; ++j) {
    for (int64_t p = 0; p < kc; ++p) to[j * kc + p] = b[p * rs + j * cs];
  }
}

// At most one panel of columns: A is read once, in place. Its rows must be contiguous.
template <class T>
void narrow(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
            Mat<T> c, const Finish* finish) {
  struct Packed;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const int64_t dots = c.cs == 1 ? dot_columns<T>(n) : 0, whole = n - dots;
  const bool in_place = dots > 0 && b.cs == 1;  // whole vectors, most of a row
  const int64_t width = in_place ? 0 : (whole + lanes - 1) / lanes * lanes;
  T* packed = static_cast<T*>(
      ThreadBuffer<Packed>::get(k * (width + dots) * static_cast<int64_t>(sizeof(T))));
  if (!in_place) pack_b(k, whole, width, b.data, b.rs, b.cs, packed);
  T* columns = packed + k * width;
  pack_columns(k, dots, b.data + whole * b.cs, b.rs, b.cs, columns);
  const int64_t grain = std::max<int64_t>(4, kGemmSerial / (2 * n * k * kRows)) * kRows;
  sdk::parallel_for(m, grain, [&](int64_t begin, int64_t end) {
    Tile<T> t{k,
              a.data + begin * a.rs,
              a.rs,
              1,
              in_place ? b.data : packed,
              in_place ? b.rs : width,
              alpha,
              beta,
              c.data + begin * c.rs,
              c.rs};
    t.fetch_a = k * static_cast<int64_t>(sizeof(T)) < 4096;  // rows of less than a page
    if (c.rs == 1 && c.cs != 1)
      transposed_panel<T>(end - begin, n, width, t, {t.c, 1, c.cs});
    else if (dots == 0)
      panel<T>(end - begin, n, t, c.cs, kRows);
    else
      panel_and_dots<T>(end - begin, whole, dots, t, columns);
    finished(finish, begin, end, 0, n);
  });
}

// Rows of A, each of them contiguous in k, or groups of kRows for each step of k where A is stored
// by columns.
template <class T>
void pack_a(int64_t rows, int64_t kc, const Mat<const T>& a, T* dst) {
  if (a.cs == 1) {
    for (int64_t i = 0; i < rows; ++i) std::copy_n(a.data + i * a.rs, kc, dst + i * kc);
    return;
  }
  for (int64_t p = 0; p < kc; ++p) {
    const T* from = a.data + p * a.cs;
    T* to = dst + p * kRows;
    int64_t i = 0;
    for (; i + kRows <= rows; i += kRows, to += kRows * kc) {
      for (int64_t q = 0; q < kRows; ++q) to[q] = from[(i + q) * a.rs];
    }
    for (int64_t q = i; q < rows; ++q) to[q - i] = from[q * a.rs];
  }
}

// From an element on; none stays none.
template <class T>
Mat<T> at(Mat<T> m, int64_t i, int64_t j) {
  if (m.data) m.data += i * m.rs + j * m.cs;
  return m;
}

// On the calling thread: a block of k of B is packed, and rows of A pass by it. They are packed,
// too, as rows that are a power of two apart meet in few sets of the cache; not for a few panels.
template <class T>
void blocked(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
             Mat<T> c, Mat<const T> addend, const Finish* finish, int64_t first_row,
             int64_t first_column) {
  using S = Sizes<T>;
  struct PackedA;
  struct PackedB;
  constexpr int64_t kSize = sizeof(T);
  const int64_t width = panel_width<T>();
  const bool by_rows = a.cs == 1, in_place = by_rows && n <= 8 * width;
  for (int64_t j0 = 0; j0 < n; j0 += S::kColumnChunk) {
    const int64_t columns = std::min(S::kColumnChunk, n - j0);
    for (int64_t p0 = 0; p0 < k; p0 += S::kPackDepth) {
      const int64_t kc = std::min(S::kPackDepth, k - p0);
      T* pb = static_cast<T*>(ThreadBuffer<PackedB>::get((columns + width) * kc * kSize));
      for (int64_t j = 0; j < columns; j += width)
        pack_b(kc, std::min(width, columns - j), width, at(b, p0, j0 + j).data, b.rs, b.cs,
               pb + j * kc);
      for (int64_t i = 0; i < m; i += S::kRowBlock) {
        const int64_t rows = std::min(S::kRowBlock, m - i);
        const Mat<const T> from = at(a, i, p0);
        const int64_t row_step = in_place ? a.rs : by_rows ? kc : 1;
        T* pa = nullptr;
        if (!in_place) {
          pa = static_cast<T*>(ThreadBuffer<PackedA>::get((rows + kRows) * kc * kSize));
          pack_a(rows, kc, from, pa);
        }
        for (int64_t j = 0; j < columns; j += width) {
          const Tile<T> t{kc,
                          in_place ? from.data : pa,
                          row_step,
                          by_rows ? 1 : kRows,
                          pb + j * kc,
                          width,
                          alpha,
                          p0 == 0 ? beta : T(1),
                          at(c, i, j0 + j).data,
                          c.rs,
                          p0 == 0 ? at(addend, i, j0 + j).data : nullptr,
                          addend.rs,
                          in_place ? kRows * a.rs : kRows * kc};
          panel<T>(rows, std::min(width, columns - j), t, c.cs);
        }
        if (p0 + kc == k)
          finished(finish, first_row + i, first_row + i + rows, first_column + j0,
                   first_column + j0 + columns);
      }
    }
  }
}

// All panels of B, contiguous, if they are cached or worth caching; else null.
template <class T>
packed::Kept kept_panels(int64_t m, int64_t n, int64_t k, const Mat<const T>& b,
                         const packed::Origin& from) {
  if (b.cs == 1 && m > 512) return nullptr;  // a copy is little beside the product
  const int64_t width = panel_width<T>(), panels = (n + width - 1) / width;
  const int64_t layout[] = {sizeof(T), width, n, k, b.rs, b.cs},
                bytes = panels * width * k * int64_t{sizeof(T)};
  packed::Found found = packed::find(from, sdk::Ints(layout, std::size(layout)), bytes);
  if (found.memory || !found.wanted) return found.memory;
  Buffer all(bytes);
  T* to = all.as<T>();
  sdk::parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      pack_b(k, std::min(width, n - q * width), width, b.data + q * width * b.cs, b.rs, b.cs,
             to + q * width * k);
    }
  });
  return packed::add(from, sdk::Ints(layout, std::size(layout)), std::move(all), bytes);
}

// For an A that fits the cache: each thread packs the panels of B that it uses, if they are not
// kept, since a panel packed by another thread lies in another processor's cache. A is read in
// place. `depth`: steps of k that a tile gets at a time; `dots`: last columns of B that are not
// kept and are dot products.
template <class T>
void by_panels(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
               Mat<T> c, const packed::Kept& kept, int64_t depth = Sizes<T>::kPackDepth,
               Mat<const T> addend = {}, const Finish* finish = nullptr, int64_t dots = 0) {
  struct Panel;
  const int64_t width = panel_width<T>(), whole = n - dots, panels = (whole + width - 1) / width,
                most = std::min(k, depth);
  // Of the rows, for few panels.
  const int64_t parts = std::clamp<int64_t>(8 / panels, 1, m / Sizes<T>::kRowBlock + 1);
  const int64_t rows = ((m + parts - 1) / parts + kRows - 1) / kRows * kRows;
  const auto compute = [&](int64_t i0, int64_t j, bool first) {
    T* own = kept ? nullptr
                  : static_cast<T*>(ThreadBuffer<Panel>::get((width + dots) * most *
                                                             static_cast<int64_t>(sizeof(T))));
    const int64_t cols = std::min(width, whole - j), end = std::min(m, i0 + rows);
    const bool last = j + cols == whole;
    for (int64_t p0 = 0; p0 < k; p0 += depth) {
      const int64_t kc = std::min(depth, k - p0);
      if (own) pack_b(kc, cols, width, at(b, p0, j).data, b.rs, b.cs, own);
      const T* pb = own ? own : kept->template as<const T>() + j * k + p0 * width;
      Tile<T> t{kc,
                at(a, i0, p0).data,
                a.rs,
                a.cs,
                pb,
                width,
                alpha,
                p0 == 0 ? beta : T(1),
                at(c, i0, j).data,
                c.rs,
                p0 == 0 ? at(addend, i0, j).data : nullptr,
                addend.rs};
      t.fetch_a = first;
      panel<T>(end - i0, cols, t, c.cs);
      if (last && dots > 0) {
        T* columns = own + width * most;
        pack_columns(kc, dots, at(b, p0, whole).data, b.rs, b.cs, columns);
        t.c = at(c, i0, whole).data;
        dot_panel<T>(end - i0, dots, t, columns);
      }
    }
    finished(finish, i0, end, j, last ? n : j + cols);
  };
  sdk::parallel_for(panels * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      if (q / panels * rows < m)
        compute(q / panels * rows, q % panels * width, q == begin || q % panels == 0);
    }
  });
}

// Whether panels of B against all rows of A are the way: these stay in the second cache, or there
// are few panels.
template <class T>
bool fits_panels(int64_t m, int64_t n, int64_t k, const Mat<const T>& a) {
  const int64_t bytes = m * k * static_cast<int64_t>(sizeof(T));
  return m * n * k > kGemmSerial && a.cs == 1 &&
         bytes <= (n <= 4 * panel_width<T>() ? int64_t{3} << 20 : int64_t{1} << 20);
}

// A part of C for each thread, who packs what it needs itself: between two regions threads would
// wait for each other, and what another one has packed lies in another processor's cache. The parts
// are those of the grid for which the least is packed twice.
template <class T>
void by_parts(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
              Mat<T> c, Mat<const T> addend, const Finish* finish) {
  const int64_t width = panel_width<T>(), panels = (n + width - 1) / width,
                tiles = (m + kRows - 1) / kRows,
                threads =
                    std::clamp<int64_t>(m * n * k / kGemmSerial, 1, sdk::host().num_threads());
  int64_t by_columns = 1, least = std::numeric_limits<int64_t>::max();
  for (int64_t columns = 1; columns <= threads; ++columns) {
    const int64_t packed = (threads / columns) * n + columns * m;
    if (threads % columns == 0 && columns <= panels && packed < least)
      by_columns = columns, least = packed;
  }
  // Twice as many where they are large: a thread whose processor is busy leaves some to the others.
  const int64_t each = threads / by_columns,
                by_rows = m >= 512 * each ? 2 * each : std::min(each, tiles);
  const auto row = [&](int64_t q) { return std::min(m, tiles * q / by_rows * kRows); };
  const auto column = [&](int64_t q) { return std::min(n, panels * q / by_columns * width); };
  sdk::parallel_for(by_rows * by_columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      const int64_t i = row(q / by_columns), j = column(q % by_columns);
      blocked<T>(row(q / by_columns + 1) - i, column(q % by_columns + 1) - j, k, alpha, at(a, i, 0),
                 at(b, 0, j), beta, at(c, i, j), at(addend, i, j), finish, i, j);
    }
  });
}

// Few rows against the rows of weights: by panels that are kept, else by the weights in place. Both
// sum in the same order.
template <class T>
void few_rows(int64_t m, int64_t n, int64_t k, T alpha, Mat<const T> a, Mat<const T> b, T beta,
              Mat<T> c, const packed::Origin& b_from, const Finish* finish) {
  if (const packed::Kept kept = kept_panels<T>(m, n, k, b, b_from))
    return by_panels<T>(m, n, k, alpha, a, b, beta, c, kept, k, {}, finish);
  narrow<T>(n, m, k, alpha, b.transposed(), a.transposed(), beta, c.transposed(), nullptr);
  if (finish) finish->all(m, n);
}

template <class T>
void copy_matrix(int64_t m, int64_t n, Mat<const T> from, Mat<T> to) {
  sdk::parallel_for(m, std::max<int64_t>(1, 32768 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j)
        to.data[i * to.rs + j * to.cs] = from.data[i * from.rs + j * from.cs];
    }
  });
}

// More than a few elements.
template <class T>
HWY_NOINLINE void large_product(int64_t m, int64_t n, int64_t k, T alpha, const Mat<const T>& a,
                                const Mat<const T>& b, T beta, const Mat<T>& c,
                                const packed::Origin& b_from, const Mat<const T>& addend,
                                const Finish* finish) {
  constexpr int64_t kSmall = 64 * 64 * 64;
  const int64_t width = panel_width<T>();
  const bool by_dots = m > 64 && n <= width && dot_columns<T>(n) != 0 && a.cs == 1 && c.cs == 1;
  const bool in_cache = b.cs == 1 && ((k <= 64 && m <= 256) || (m <= 64 && k <= 512 && n < 1024));
  const bool is_direct = !by_dots && ((m * n * k <= kSmall && k <= 1024) || in_cache);
  const bool is_narrow = a.cs == 1 && n <= width && k <= 4096;
  const bool is_few = b.rs == 1 && m <= width && k <= 4096;
  if (addend.data && (is_direct || is_narrow || is_few)) copy_matrix<T>(m, n, addend, c);
  if (is_direct) return direct<T>(m, n, k, alpha, a, b, beta, c, finish);
  if (is_narrow) return narrow<T>(m, n, k, alpha, a, b, beta, c, finish);
  if (is_few) return few_rows<T>(m, n, k, alpha, a, b, beta, c, b_from, finish);
  if (!fits_panels<T>(m, n, k, a))
    return by_parts<T>(m, n, k, alpha, a, b, beta, c, addend, finish);
  // The same sums whether panels of B are kept by now or not.
  const int64_t dots = b_from.id != 0 || addend.data || c.cs != 1 ? 0 : dot_columns<T>(n, 4);
  by_panels<T>(m, n, k, alpha, a, b, beta, c, kept_panels<T>(m, n, k, b, b_from),
               Sizes<T>::kPackDepth, addend, finish, dots);
}

template <class T>
void product(int64_t m, int64_t n, int64_t k, T alpha, const Mat<const T>& a, const Mat<const T>& b,
             T beta, const Mat<T>& c, const packed::Origin& b_from, Mat<const T> addend = {},
             const Finish* finish = nullptr) {
  // Large products add while they store; the others find the addend in C.
  const auto settle = [&] {
    copy_matrix<T>(m, n, addend, c);
    addend = {};
  };
  if (addend.data && (m == 1 || n == 1 || m * n * k <= kGemmSerial)) settle();
  if (n == 1) {
    vector_product<T>(m, k, alpha, a, b.data, b.rs, beta, c.data, c.rs);
  } else if (m == 1) {
    vector_product<T>(n, k, alpha, b.transposed(), a.data, a.cs, beta, c.data, c.cs);
  } else if (c.cs != 1 && c.rs == 1) {
    product<T>(n, m, k, alpha, b.transposed(), a.transposed(), beta, c.transposed(), {},
               addend.transposed());
  } else {
    if (addend.data && addend.cs != 1) settle();
    if (!tiny<T>(m, n, k, alpha, a, b, beta, c))
      return large_product<T>(m, n, k, alpha, a, b, beta, c, b_from, addend, finish);
  }
  finished(finish, 0, m, 0, n);
}

void product_f32(int64_t m, int64_t n, int64_t k, float alpha, const Mat<const float>& a,
                 const Mat<const float>& b, float beta, const Mat<float>& c,
                 const packed::Origin& b_from, const Mat<const float>& addend,
                 const Finish* finish) {
  product<float>(m, n, k, alpha, a, b, beta, c, b_from, addend, finish);
}
void product_f64(int64_t m, int64_t n, int64_t k, double alpha, const Mat<const double>& a,
                 const Mat<const double>& b, double beta, const Mat<double>& c,
                 const packed::Origin& b_from, const Mat<const double>& addend) {
  product<double>(m, n, k, alpha, a, b, beta, c, b_from, addend);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(product_f32);
TENON_EXPORT(product_f64);

namespace {
template <class T>
bool trivial(int64_t m, int64_t n, int64_t k, T beta, Mat<T> c, Mat<const T> addend) {
  if (m == 0 || n == 0) return true;
  if (k != 0) return false;
  if (!addend.data) addend = {c.data, c.rs, c.cs};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j)
      c.data[i * c.rs + j * c.cs] =
          beta == T(0) ? T(0) : beta * addend.data[i * addend.rs + j * addend.cs];
  }
  return true;
}
}  // namespace

void gemm(int64_t m, int64_t n, int64_t k, float alpha, Mat<const float> a, Mat<const float> b,
          float beta, Mat<float> c, const packed::Origin& b_from, Mat<const float> addend,
          const Finish* finish) {
  if (beta == 0) addend = {};
  if (!trivial(m, n, k, beta, c, addend))
    TENON_DISPATCH(product_f32)(m, n, k, alpha, a, b, beta, c, b_from, addend, finish);
  else if (finish && m > 0 && n > 0)
    finish->all(m, n);
}

void gemm(int64_t m, int64_t n, int64_t k, double alpha, Mat<const double> a, Mat<const double> b,
          double beta, Mat<double> c, const packed::Origin& b_from, Mat<const double> addend) {
  if (beta == 0) addend = {};
  if (!trivial(m, n, k, beta, c, addend))
    TENON_DISPATCH(product_f64)(m, n, k, alpha, a, b, beta, c, b_from, addend);
}

}  // namespace tenon::cpu
#endif
