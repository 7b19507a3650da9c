// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of compute-bound rows.
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

#include "bench/lower_bounds/dnnl.h"

namespace bench::lower_bounds {

namespace {

void products(Group const& row, Type t, std::string const& x) {
  for (long n : {256L, 1024L, 2048L}) {
    auto name = "mm_" + std::to_string(n) + x;
    row(
        name,
        [=] {
          return matmul({n, n}, {n, n}, {n, n}, t, false);
        },
        "oneDNN, plain");
    row(
        name,
        [=] {
          return matmul({n, n}, {n, n}, {n, n}, t, true);
        },
        "oneDNN, weights prepacked");
#ifdef BENCH_AMX
    if (t == Type::bf16)
      row(
          name, [=] { return [product = amx_matmul(n)] { product(1); }; },
          "hand-written AMX tiles, weights prepacked");
#endif
#ifdef BENCH_OPENBLAS
    if (t == Type::f32)
      row(
          name,
          [=] {
            return [=, a = floats(n * n), b = floats(n * n), c = floats(n * n)] {
              cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(n), int(n), int(n), 1,
                          a.get(), int(n), b.get(), int(n), 0, c.get(), int(n));
            };
          },
          "OpenBLAS");
#endif
  }
}

void by_type(Group const& row) {
  for (auto t : {Type::f32, Type::bf16}) {
    std::string x = t == Type::f32 ? "_f32" : "_bf16";
    products(row, t, x);
    ConvShape c{8, 64, 64, 56, 3};
    row(
        "conv3x3" + x, [=] { return conv(c, t); }, "oneDNN, blocked formats");
    row(
        "conv3x3_fwd_bwd" + x,
        [=] {
          return Steps{{conv(c, t, true), conv_dx(c, t), conv_dw(c, t)}};
        },
        "oneDNN, blocked formats");
#ifdef BENCH_AMX
    if (t != Type::bf16) continue;
    row(
        "conv3x3" + x, [=] { return [forward = amx_conv3x3(8, 64, 56)] { forward(1); }; },
        "hand-written AMX tiles, channels last");
    row(
        "conv3x3_fwd_bwd" + x, [=] { return [forward = amx_conv3x3(8, 64, 56)] { forward(3); }; },
        "hand-written AMX tiles: each gradient is as many products as forward");
#endif
  }
}

void batched(Group const& row) {
  row(
      "bmm_64x128",
      [] {
        return matmul({64, 128, 128}, {64, 128, 128}, {64, 128, 128}, Type::f32, false);
      },
      "oneDNN");
  row(
      "bmm_64x128",
      [] {
        return [a = floats(64 * 16384), b = floats(64 * 16384), c = floats(64 * 16384)] {
#pragma omp parallel for
          for (long i = 0; i < 64; ++i)
            dnnl_sgemm('N', 'N', 128, 128, 128, 1, a.get() + i * 16384, 128, b.get() + i * 16384,
                       128, 0, c.get() + i * 16384, 128);
        };
      },
      "oneDNN sgemm in a loop");
  row(
      "linear_32x1024",
      [] {
        return matmul({32, 1024}, {1024, 1024}, {32, 1024}, Type::f32, true);
      },
      "oneDNN, weights prepacked");
#ifdef BENCH_OPENBLAS
  row(
      "linear_32x1024",
      [] {
        return [a = floats(32 * 1024), b = floats(M), c = floats(32 * 1024)] {
          cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 32, 1024, 1024, 1, a.get(), 1024,
                      b.get(), 1024, 0, c.get(), 1024);
        };
      },
      "OpenBLAS");
#endif
}

void convolutions(Group const& row) {
  row(
      "conv1x1_f32",
      [] {
        return conv({8, 64, 64, 56, 1}, Type::f32);
      },
      "oneDNN, blocked formats");
  row(
      "conv_depthwise_f32",
      [] {
        return conv({8, 64, 64, 56, 3, 1, 64}, Type::f32);
      },
      "oneDNN, blocked formats");
  row(
      "max_pool",
      [] {
        return pool({8, 64, 56, 56}, 2, false);
      },
      "oneDNN, blocked formats");
}

void norms(Group const& row) {
  row(
      "batch_norm_fwd_bwd",
      [] {
        auto md = dnnl::memory::desc({8, 64, 56, 56}, Type::f32, Tag::nChw16c);
        auto flags = dnnl::normalization_flags::use_scale_shift;
        dnnl::batch_normalization_forward::primitive_desc fp(
            {dnnl::prop_kind::forward_training, md, 1e-5f, flags}, dnn().engine);
        dnnl::batch_normalization_backward::primitive_desc bp(
            {dnnl::prop_kind::backward, md, md, 1e-5f, flags}, dnn().engine, fp);
        auto& d = dnn();
        auto x = d.memory(md), mean = d.memory(fp.mean_desc()), var = d.memory(fp.variance_desc()),
             w = d.memory(fp.weights_desc());
        return Steps{{Step{dnnl::batch_normalization_forward(fp),
                           {{DNNL_ARG_SRC, x},
                            {DNNL_ARG_MEAN, mean},
                            {DNNL_ARG_VARIANCE, var},
                            {DNNL_ARG_SCALE_SHIFT, w},
                            {DNNL_ARG_DST, d.memory(md)}}},
                      Step{dnnl::batch_normalization_backward(bp),
                           {{DNNL_ARG_SRC, x},
                            {DNNL_ARG_MEAN, mean},
                            {DNNL_ARG_VARIANCE, var},
                            {DNNL_ARG_SCALE_SHIFT, w},
                            {DNNL_ARG_DIFF_DST, d.memory(md)},
                            {DNNL_ARG_DIFF_SRC, d.memory(md)},
                            {DNNL_ARG_DIFF_SCALE_SHIFT, d.memory(fp.weights_desc())}}}}};
      },
      "oneDNN, blocked formats");
}

}  // namespace

void compute(Suite& s) {
  Group row{s, "compute"};
  by_type(row);
  batched(row);
  convolutions(row);
  norms(row);
}

}  // namespace bench::lower_bounds
