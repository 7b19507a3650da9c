// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of small calls: what no design can avoid, as plain loops on mapped buffers.
#include <dnnl.h>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {
namespace {

auto fresh_call(Kernel k, long na, long nb, long nout) {
  return [=, a = floats(na), b = floats(nb)] {
    auto* block = static_cast<char*>(malloc(128 + size_t(nout) * 4));
    k(reinterpret_cast<float*>(block + 128), a.get(), b.get(), nout);
    keep(*block);
    free(block);
  };
}

auto view_call() {
  return [] {
    auto* p = static_cast<int64_t*>(malloc(128));
    for (int i = 0; i < 16; ++i) p[i] = i;
    asm volatile("" : : "r"(p) : "memory");
    free(p);
  };
}

template <int rows, int vectors>
inline void tile(float const* a, long ai, long ak, float const* b, long ldb, float* c, long ldc,
                 long k) {
  V acc[rows][vectors] = {};
  for (long p = 0; p < k; ++p) {
    V right[vectors];
    for (int v = 0; v < vectors; ++v) right[v] = load(b + p * ldb + 16 * v);
    for (int r = 0; r < rows; ++r) {
      V left = V{} + a[r * ai + p * ak];
      for (int v = 0; v < vectors; ++v) acc[r][v] += left * right[v];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store(c + r * ldc + 16 * v, acc[r][v]);
}

}  // namespace

void small_gemm(float const* a, long ai, long ak, float const* b, float* c, long m, long n,
                long k) {
  long i = 0;
  if (n == 64) {
    for (; i + 6 <= m; i += 6) tile<6, 4>(a + i * ai, ai, ak, b, n, c + i * n, n, k);
    for (; i + 2 <= m; i += 2) tile<2, 4>(a + i * ai, ai, ak, b, n, c + i * n, n, k);
  } else {
    for (; i + 8 <= m; i += 8) tile<8, 1>(a + i * ai, ai, ak, b, n, c + i * n, n, k);
  }
}

namespace {

void creation_and_adds(Group const& row) {
  for (char const* name : {"abi_kernel_4", "abi_lookup_4", "abi_call_4"})
    row(
        name,
        [] {
          return [k = hidden([](float*, float const*, float const*, long) {})] {
            k(nullptr, nullptr, nullptr, 0);
          };
        },
        "indirect call of nothing");
  auto none = hidden([](float*, float const*, float const*, long) {});
  auto add1 = hidden([](float* o, float const* a, float const* b, long) { o[0] = a[0] + b[0]; });
  row(
      "empty_1", [=] { return fresh_call(none, 1, 1, 1); }, "malloc, indirect call, free");
  row("zeros_8", [=] {
    return fresh_call(hidden([](float* o, float const*, float const*, long n) {
                        std::memset(o, 0, size_t(n) * 4);
                      }),
                      1, 1, 8);
  });
  for (char const* name : {"add_1", "add_scalar", "add_int_float"})
    row(
        name, [=] { return fresh_call(add1, 1, 1, 1); }, "malloc, indirect call, free");
  for (char const* name : {"add_1_out", "add_1_inplace"})
    row(
        name,
        [=] {
          return [=, a = floats(1), b = floats(1), o = floats(1)] {
            add1(o.get(), a.get(), b.get(), 1);
          };
        },
        "indirect call");
  row("add_broadcast_44_4", [] {
    return fresh_call(hidden([](float* o, float const* a, float const* b, long) {
                        for (int i = 0; i < 16; ++i) o[i] = a[i] + b[i & 3];
                      }),
                      16, 4, 16);
  });
  row(
      "mul_1_grad",
      [=] {
        return [=, a = floats(1), b = floats(1)] {
          auto* out = static_cast<float*>(malloc(192));
          auto* node = static_cast<float const**>(malloc(128));
          node[0] = a.get(), node[1] = b.get();
          add1(out, a.get(), b.get(), 1);
          asm volatile("" : : "r"(out), "r"(node) : "memory");
          free(node);
          free(out);
        };
      },
      "two mallocs");
}

void arithmetic(Group const& row) {
  row("relu_44", [] {
    return fresh_call(hidden([](float* o, float const* a, float const*, long) {
                        for (int i = 0; i < 16; ++i) o[i] = a[i] > 0 ? a[i] : 0;
                      }),
                      16, 1, 16);
  });
  row("sum_44", [] {
    return fresh_call(hidden([](float* o, float const* a, float const*, long) {
                        float t = 0;
                        for (int i = 0; i < 16; ++i) t += a[i];
                        o[0] = t;
                      }),
                      16, 1, 1);
  });
  row("softmax_44", [] {
    return fresh_call(hidden([](float* o, float const* a, float const*, long) {
                        for (int i = 0; i < 16; ++i) o[i] = std::exp(a[i]);
                        for (int r = 0; r < 16; r += 4) {
                          float t = 1 / (o[r] + o[r + 1] + o[r + 2] + o[r + 3]);
                          for (int c = 0; c < 4; ++c) o[r + c] *= t;
                        }
                      }),
                      16, 1, 16);
  });
}

void products(Group const& row) {
  row("mm_44", [] {
    return fresh_call(hidden([](float* o, float const* a, float const* b, long) {
                        for (int i = 0; i < 4; ++i)
                          for (int j = 0; j < 4; ++j) {
                            float t = 0;
                            for (int k = 0; k < 4; ++k) t += a[i * 4 + k] * b[k * 4 + j];
                            o[i * 4 + j] = t;
                          }
                      }),
                      16, 16, 16);
  });
  row(
      "mm_64",
      [] {
        return fresh_call(hidden([](float* o, float const* a, float const* b, long) {
                            small_gemm(a, 64, 1, b, o, 64, 64, 64);
                          }),
                          4096, 4096, 4096);
      },
      "hand-tiled loops");
  row(
      "mm_64",
      [] {
        return fresh_call(hidden([](float* o, float const* a, float const* b, long) {
                            dnnl_sgemm('N', 'N', 64, 64, 64, 1, a, 64, b, 64, 0, o, 64);
                          }),
                          4096, 4096, 4096);
      },
      "oneDNN sgemm");
}

void views(Group const& row) {
  for (char const* name : {"view", "select", "transpose", "slice", "index_1_2"})
    row(
        name, [] { return view_call(); }, "malloc a header, fill, free");
  row(
      "item",
      [] {
        float (*volatile get)(float const*) = [](float const* p) { return *p; };
        return [get = +get, a = floats(1)] { keep(get(a.get())); };
      },
      "indirect call");
  row("cat_8_8", [] {
    return fresh_call(hidden([](float* o, float const* a, float const* b, long) {
                        std::memcpy(o, a, 32);
                        std::memcpy(o + 8, b, 32);
                      }),
                      8, 8, 16);
  });
}

}  // namespace

void small(Suite& s) {
  Group row{s, "small"};
  creation_and_adds(row);
  arithmetic(row);
  products(row);
  views(row);
}

}  // namespace bench::lower_bounds
