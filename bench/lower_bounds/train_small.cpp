// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of autograd and of small training steps.
#include "bench/lower_bounds/dnnl.h"

namespace bench::lower_bounds {
namespace {

// A free list of one block size: what a tensor library that keeps its blocks pays for one.
struct Pool {
  void* first = nullptr;
  void* take() {
    void* p = first ? first : malloc(192);
    first = first ? *static_cast<void**>(p) : nullptr;
    return p;
  }
  void give(void* p) {
    *static_cast<void**>(p) = first;
    first = p;
  }
};

struct PlainMlp {
  static constexpr long b = 32, d = 64, c = 16;  // ten classes padded to one vector
  Buffer<float> x = floats(b * d), w1 = floats(d * d), w2 = floats(d * d), w3 = floats(d * c),
                h1 = floats(b * d), h2 = floats(b * d), out = floats(b * c), g3 = floats(b * c),
                g2 = floats(b * d), g1 = floats(b * d), t = floats(d * d), d1 = floats(d * d),
                d2 = floats(d * d), d3 = floats(d * c), m = floats(9000), v = floats(9000);

  static void bias_relu(float* h) {
    for (long i = 0; i < b * d; ++i) h[i] = h[i] + 0.1f > 0 ? h[i] + 0.1f : 0;
  }
  void forward() {
    small_gemm(x.get(), d, 1, w1.get(), h1.get(), b, d, d);
    bias_relu(h1.get());
    small_gemm(h1.get(), d, 1, w2.get(), h2.get(), b, d, d);
    bias_relu(h2.get());
    small_gemm(h2.get(), d, 1, w3.get(), out.get(), b, c, d);
    for (long i = 0; i < b; ++i) {
      float sum = 0;
      float *o = out.get() + i * c, *g = g3.get() + i * c;
      for (long j = 0; j < c; ++j) sum += g[j] = std::exp(o[j] * 1e-6f);
      for (long j = 0; j < c; ++j) g[j] = g[j] / sum * (1.f / b);
    }
    keep(g3);
  }
  void transposed(float const* w, long rows, long cols) {
    for (long i = 0; i < cols; ++i)
      for (long j = 0; j < rows; ++j) t[i * rows + j] = w[j * cols + i];
  }
  static void relu_back(float* g, float const* h) {
    for (long i = 0; i < b * d; ++i) g[i] = h[i] > 0 ? g[i] : 0;
  }
  void backward() {
    small_gemm(h2.get(), 1, d, g3.get(), d3.get(), d, c, b);
    transposed(w3.get(), d, c);
    small_gemm(g3.get(), c, 1, t.get(), g2.get(), b, d, c);
    relu_back(g2.get(), h2.get());
    small_gemm(h1.get(), 1, d, g2.get(), d2.get(), d, d, b);
    transposed(w2.get(), d, d);
    small_gemm(g2.get(), d, 1, t.get(), g1.get(), b, d, d);
    relu_back(g1.get(), h1.get());
    small_gemm(x.get(), 1, d, g1.get(), d1.get(), d, d, b);
  }
  void sgd() {
    auto step = [](float* w, float const* g, long n) {
      for (long i = 0; i < n; ++i) w[i] -= 1e-9f * g[i];
    };
    step(w1.get(), d1.get(), d * d);
    step(w2.get(), d2.get(), d * d);
    step(w3.get(), d3.get(), d * c);
  }
  void adam() {
    auto step = [this](float* w, float const* g, long n, long at) {
      float *mm = m.get() + at, *vv = v.get() + at;
      for (long i = 0; i < n; ++i) {
        mm[i] = 0.9f * mm[i] + 0.1f * g[i];
        vv[i] = 0.999f * vv[i] + 0.001f * g[i] * g[i];
        w[i] -= 1e-9f * mm[i] / (std::sqrt(vv[i]) + 1e-8f);
      }
    };
    step(w1.get(), d1.get(), d * d, 0);
    step(w2.get(), d2.get(), d * d, 0);
    step(w3.get(), d3.get(), d * 10, 0);
  }
};

Steps digits() {
  ConvShape one{64, 1, 16, 8, 3}, two{64, 16, 32, 8, 3};
  auto f = Type::f32;
  auto relu_back = [&](Dims d) {
    auto md = dnnl::memory::desc(d, f, Tag::nChw16c);
    auto a = dnnl::algorithm::eltwise_relu;
    dnnl::eltwise_forward::primitive_desc fp({dnnl::prop_kind::forward_training, a, md, 0.f},
                                             dnn().engine);
    dnnl::eltwise_backward::primitive_desc bp({a, md, md, 0.f}, dnn().engine, fp);
    return Step{dnnl::eltwise_backward(bp),
                {{DNNL_ARG_SRC, dnn().memory(md)},
                 {DNNL_ARG_DIFF_DST, dnn().memory(md)},
                 {DNNL_ARG_DIFF_SRC, dnn().memory(md)}}};
  };
  return {{conv(one, f, true, true), conv(two, f, true, true), pool({64, 32, 8, 8}, 2, true),
           matmul({64, 512}, {512, 10}, {64, 10}, f, true),
           matmul({64, 10}, {10, 512}, {64, 512}, f, true),
           matmul({10, 64}, {64, 512}, {10, 512}, f, false), pool({64, 32, 8, 8}, 2, true, true),
           relu_back({64, 32, 8, 8}), conv_dx(two, f), conv_dw(two, f), relu_back({64, 16, 8, 8}),
           conv_dw(one, f)}};
}

void chains(Group const& row) {
  for (char const* name : {"chain_100", "chain_100_both"})
    row(
        name,
        [] {
          auto mul =
              hidden([](float* o, float const* a, float const* b, long) { o[0] = a[0] * b[0]; });
          return [=, x = floats(1), a = floats(1), pool = Pool{}]() mutable {
            float *outs[101], *nodes[101], g = 1;
            outs[0] = x.get();
            for (int i = 1; i <= 100; ++i) {
              outs[i] = static_cast<float*>(pool.take());
              nodes[i] = static_cast<float*>(pool.take());
              mul(outs[i], outs[i - 1], a.get(), 1);
            }
            for (int i = 100; i > 0; --i) {
              auto* next = static_cast<float*>(pool.take());
              mul(next, &g, a.get(), 1);
              g = *next;
              pool.give(next);
              pool.give(nodes[i]);
              pool.give(outs[i]);
            }
            keep(g);
          };
        },
        "three pooled blocks, two indirect calls per op", 100);
}

void small_graphs(Group const& row) {
  row(
      "small_fwd_bwd",
      [] {
        auto step = hidden([](float* o, float const* a, float const* b, long) {
          for (int i = 0; i < 16; ++i) o[i] = a[i] * b[i];
        });
        return [=, a = floats(16), b = floats(16), pool = Pool{}]() mutable {
          void* blocks[14];
          for (auto& p : blocks)
            step(static_cast<float*>(p = pool.take()) + 16, a.get(), b.get(), 16);
          for (auto& p : blocks) pool.give(p);
        };
      },
      "14 pooled blocks, 14 indirect calls on 16 elements");
  row(
      "small_bwd",
      [] {
        auto step = hidden([](float* o, float const* a, float const* b, long) {
          for (int i = 0; i < 16; ++i) o[i] = a[i] * b[i];
        });
        return [=, a = floats(16), b = floats(16), pool = Pool{}]() mutable {
          void* blocks[6];
          for (auto& p : blocks)
            step(static_cast<float*>(p = pool.take()) + 16, a.get(), b.get(), 16);
          for (auto& p : blocks) pool.give(p);
        };
      },
      "6 pooled blocks, 6 indirect calls on 16 elements");
}

void networks(Group const& row) {
  auto mlp = [] { return std::make_shared<PlainMlp>(); };
  row(
      "mlp_fwd", [=] { return [m = mlp()] { m->forward(); }; }, "hand-tiled loops, 1 thread");
  row(
      "mlp_fwd_bwd", [=] { return [m = mlp()] { m->forward(), m->backward(); }; },
      "hand-tiled loops, 1 thread");
  row(
      "mlp_sgd", [=] { return [m = mlp()] { m->forward(), m->backward(), m->sgd(); }; },
      "hand-tiled loops, 1 thread");
  row(
      "mlp_adam", [=] { return [m = mlp()] { m->forward(), m->backward(), m->adam(); }; },
      "hand-tiled loops, 1 thread");
  row(
      "digits_step", [] { return digits(); },
      "oneDNN primitives, blocked formats, no bias/loss/update");
  row(
      "digits_epoch",
      [] {
        return [d = digits()]() mutable {
          for (int i = 0; i < 23; ++i) d();
        };
      },
      "23 steps of oneDNN primitives");
}

}  // namespace

void train_small(Suite& s) {
  Group row{s, "train_small"};
  chains(row);
  small_graphs(row);
  networks(row);
}

}  // namespace bench::lower_bounds
