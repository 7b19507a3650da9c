// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/gemm/gemm.h"

#include <algorithm>
#include <type_traits>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/simd/convert.h"

namespace tenon::cpu {
namespace {

// Rows in blocks of about 32k elements.
int64_t row_grain(int64_t columns) {
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, columns));
}

// A dense float copy in the order that the matrix has in memory.
template <class T>
Mat<const float> widened(int64_t rows, int64_t cols, Mat<const T> a, float* to) {
  if (a.rs == 1 && a.cs != 1) return widened<T>(cols, rows, a.transposed(), to).transposed();
  sdk::parallel_for(rows, row_grain(cols), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T* from = a.data + i * a.rs;
      float* row = to + i * cols;
      if (a.cs == 1)
        to_float(from, row, cols);
      else
        for (int64_t j = 0; j < cols; ++j) row[j] = static_cast<float>(from[j * a.cs]);
    }
  });
  return {to, cols, 1};
}

bool gemm_bf16(int64_t m, int64_t n, int64_t k, float alpha, Mat<const sdk::BFloat16> a,
               Mat<const sdk::BFloat16> b, float beta, Mat<sdk::BFloat16> c) {
  if (gemm_tiles(m, n, k, alpha, a, b, beta, c)) return true;
  return alpha == 1 && beta == 0 &&
         gemm_bf16_onednn(m, n, k, {a.data, a.rs, a.cs}, {b.data, b.rs, b.cs},
                          {c.data, c.rs, c.cs});
}

struct WideA;
struct WideB;
struct Sums;

template <class T>
void gemm_half(int64_t m, int64_t n, int64_t k, float alpha, Mat<const T> a, Mat<const T> b,
               float beta, Mat<T> c) {
  if constexpr (std::is_same_v<T, sdk::BFloat16>) {
    if (gemm_bf16(m, n, k, alpha, a, b, beta, c)) return;
  }
  const CallBuffer<WideA> fa(m * k * 4);
  const CallBuffer<WideB> fb(k * n * 4);
  const CallBuffer<Sums> fc(m * n * 4);
  float* sum = fc.as<float>();
  gemm(m, n, k, alpha, widened<T>(m, k, a, fa.as<float>()), widened<T>(k, n, b, fb.as<float>()),
       0.0f, Mat<float>{sum, n, 1});
  sdk::parallel_for(m, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      store_sums(sum + i * n, n, 1.0f, beta, c.data + i * c.rs, c.cs);
  });
}

// Sums wrap, as the dtype does: computed as unsigned integers of at least 32 bits.
template <class T>
void gemm_integer(int64_t m, int64_t n, int64_t k, int64_t alpha, Mat<const T> a, Mat<const T> b,
                  int64_t beta, Mat<T> c) {
  using U = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;
  const auto at = [](const T& x) {
    return static_cast<U>(static_cast<std::make_unsigned_t<T>>(x));
  };
  const int64_t grain = std::max<int64_t>(1, 262144 / std::max<int64_t>(1, n * k));
  sdk::parallel_for(m, grain, [&](int64_t begin, int64_t end) {
    Buffer memory(n * static_cast<int64_t>(sizeof(U)));
    U* sum = memory.as<U>();
    for (int64_t i = begin; i < end; ++i) {
      std::fill(sum, sum + n, U{0});
      for (int64_t p = 0; p < k; ++p) {
        const U w = at(a.data[i * a.rs + p * a.cs]);
        const T* row = b.data + p * b.rs;
        if (b.cs == 1)
          for (int64_t j = 0; j < n; ++j) sum[j] += w * at(row[j]);
        else
          for (int64_t j = 0; j < n; ++j) sum[j] += w * at(row[j * b.cs]);
      }
      for (int64_t j = 0; j < n; ++j) {
        T& out = c.data[i * c.rs + j * c.cs];
        const U x = static_cast<U>(alpha) * sum[j];
        out = static_cast<T>(beta == 0 ? x : x + static_cast<U>(beta) * at(out));
      }
    }
  });
}

}  // namespace

void gemm(sdk::DType dtype, int64_t m, int64_t n, int64_t k, sdk::Scalar alpha, Mat<const void> a,
          Mat<const void> b, sdk::Scalar beta, Mat<void> c, const packed::Origin& b_from) {
  sdk::dispatch_number(dtype, [&](auto tag) {
    using T = tn_type(tag);
    const Mat<const T> ta{static_cast<const T*>(a.data), a.rs, a.cs},
        tb{static_cast<const T*>(b.data), b.rs, b.cs};
    const Mat<T> tc{static_cast<T*>(c.data), c.rs, c.cs};
    if constexpr (std::is_integral_v<T>)
      gemm_integer<T>(m, n, k, alpha.to<int64_t>(), ta, tb, beta.to<int64_t>(), tc);
    else if constexpr (sdk::is_half_v<T>)
      gemm_half<T>(m, n, k, alpha.to<float>(), ta, tb, beta.to<float>(), tc);
    else
      gemm(m, n, k, alpha.to<T>(), ta, tb, beta.to<T>(), tc, b_from);
  });
}

}  // namespace tenon::cpu
