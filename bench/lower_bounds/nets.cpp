// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of whole networks.
#include "bench/lower_bounds/dnnl.h"

namespace bench::lower_bounds {
namespace {

Steps lstm(bool training) {
  long T = 50, N = 32, C = 256, L = 2;
  auto f = Type::f32;
  auto& d = dnn();
  auto kind = training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  auto way = dnnl::rnn_direction::unidirectional_left2right;
  dnnl::memory::desc x({T, N, C}, f, Tag::tnc), state({L, 1, N, C}, f, Tag::ldnc),
      bias({L, 1, 4, C}, f, Tag::ldgo);
  dnnl::memory::desc w = any({L, 1, C, 4, C}, f);
  using Fwd = dnnl::lstm_forward;
  Fwd::primitive_desc fp({kind, way, x, state, state, w, w, bias, x, state, state}, d.engine);
  Args in{{DNNL_ARG_SRC_LAYER, d.memory(x)},      {DNNL_ARG_SRC_ITER, d.memory(state)},
          {DNNL_ARG_SRC_ITER_C, d.memory(state)}, {DNNL_ARG_BIAS, d.memory(bias)},
          {DNNL_ARG_DST_LAYER, d.memory(x)},      {DNNL_ARG_DST_ITER, d.memory(state)},
          {DNNL_ARG_DST_ITER_C, d.memory(state)}};
  if (training) in.insert({DNNL_ARG_WORKSPACE, d.memory(fp.workspace_desc())});
  Args forward = in;
  forward.insert({DNNL_ARG_WEIGHTS_LAYER, d.memory(fp.weights_layer_desc())});
  forward.insert({DNNL_ARG_WEIGHTS_ITER, d.memory(fp.weights_iter_desc())});
  Steps out{{Step{Fwd(fp), forward}}};
  if (!training) return out;
  using Bwd = dnnl::lstm_backward;
  Bwd::primitive_desc bp({dnnl::prop_kind::backward,
                          way,
                          x,
                          state,
                          state,
                          w,
                          w,
                          bias,
                          x,
                          state,
                          state,
                          x,
                          state,
                          state,
                          w,
                          w,
                          bias,
                          x,
                          state,
                          state},
                         d.engine, fp);
  Args back = in;
  back.insert({DNNL_ARG_WEIGHTS_LAYER, d.memory(bp.weights_layer_desc())});
  back.insert({DNNL_ARG_WEIGHTS_ITER, d.memory(bp.weights_iter_desc())});
  back.insert({DNNL_ARG_DIFF_WEIGHTS_LAYER, d.memory(bp.diff_weights_layer_desc())});
  back.insert({DNNL_ARG_DIFF_WEIGHTS_ITER, d.memory(bp.diff_weights_iter_desc())});
  for (int arg : {DNNL_ARG_DIFF_SRC_LAYER, DNNL_ARG_DIFF_DST_LAYER})
    back.insert({arg, d.memory(x)});
  for (int arg : {DNNL_ARG_DIFF_SRC_ITER, DNNL_ARG_DIFF_SRC_ITER_C, DNNL_ARG_DIFF_DST_ITER,
                  DNNL_ARG_DIFF_DST_ITER_C})
    back.insert({arg, d.memory(state)});
  back.insert({DNNL_ARG_DIFF_BIAS, d.memory(bias)});
  out.steps.push_back({Bwd(bp), back});
  return out;
}

Steps resnet18(long n) {
  auto f = Type::f32;
  Steps all;
  auto add = [&](ConvShape c, bool relu = true, bool sum = false) {
    all.steps.push_back(conv(c, f, false, relu, sum));
  };
  add({n, 3, 64, 224, 7, 2});
  all.steps.push_back(pool({n, 64, 112, 112}, 2, false));
  long size = 56, in = 64;
  for (long out : {64L, 128L, 256L, 512L}) {
    long stride = out == 64 ? 1 : 2;
    if (stride == 2) add({n, in, out, size, 1, 2}, false);
    add({n, in, out, size, 3, stride});
    size /= stride;
    add({n, out, out, size, 3}, true, true);
    add({n, out, out, size, 3});
    add({n, out, out, size, 3}, true, true);
    in = out;
  }
  all.steps.push_back(matmul({n, 512}, {512, 1000}, {n, 1000}, f, true));
  return all;
}

// Attention in blocks of 64 query rows whose scores stay in the second-level cache.
auto attention() {
  static constexpr long H = 8, T = 512, D = 64, B = 64;
  return
      [q = floats(H * T * D), k = floats(H * T * D), v = floats(H * T * D), o = floats(H * T * D)] {
#pragma omp parallel for schedule(static)
        for (long job = 0; job < H * T / B; ++job) {
          alignas(64) static thread_local float scores[B * T];
          long head = job / (T / B) * T * D, at = head + job % (T / B) * B * D;
          dnnl_sgemm('N', 'T', B, T, D, 0.125f, q.get() + at, D, k.get() + head, D, 0, scores, T);
          for (long r = 0; r < B; ++r) {
            float *x = scores + r * T, top = x[0], sum = 0;
            for (long j = 0; j < T; ++j) top = x[j] > top ? x[j] : top;
            for (long j = 0; j < T; ++j) sum += x[j] = std::exp(x[j] - top);
            for (long j = 0; j < T; ++j) x[j] *= 1 / sum;
          }
          dnnl_sgemm('N', 'N', B, D, T, 1, scores, T, v.get() + head, D, 0, o.get() + at, D);
        }
      };
}

// The transformer step's matrix products, forward and both backward ones, and one Adam pass over
// its 3.16 M parameters.
auto transformer_step() {
  constexpr long T = 1024, P = 3159040;
  auto a = floats(T * 1024), b = floats(T * 1024), c = floats(T * 1024), w = floats(P),
       g = floats(P), m = floats(P), v = floats(P);
  return [=] {
    for (int layer = 0; layer < 4; ++layer) {
      for (auto [in, out] :
           {std::pair<long, long>{256, 768}, {256, 256}, {256, 1024}, {1024, 256}}) {
        dnnl_sgemm('N', 'T', T, out, in, 1, a.get(), in, w.get(), in, 0, c.get(), out);
        dnnl_sgemm('N', 'N', T, in, out, 1, c.get(), out, w.get(), in, 0, b.get(), in);
        dnnl_sgemm('T', 'N', out, in, T, 1, c.get(), out, a.get(), in, 0, g.get(), in);
      }
#pragma omp parallel for
      for (int head = 0; head < 32; ++head) {
        float *x = a.get() + head * 8192, *y = b.get() + head * 8192, *z = c.get() + head * 16384;
        for (int i = 0; i < 3;
             ++i) {  // scores and context: one forward, two backward products each
          dnnl_sgemm('N', 'T', 128, 128, 64, 1, x, 64, y, 64, 0, z, 128);
          dnnl_sgemm('N', 'N', 128, 64, 128, 1, z, 128, y, 64, 0, x, 64);
        }
      }
    }
    float *ww = w.get(), *gg = g.get(), *mm = m.get(), *vv = v.get();
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < P; ++i) {
      mm[i] = 0.9f * mm[i] + 0.1f * gg[i] * 1e-12f;
      vv[i] = 0.999f * vv[i] + 0.001f * gg[i] * gg[i] * 1e-24f;
      ww[i] -= 1e-9f * mm[i] / (std::sqrt(vv[i]) + 1e-8f);
    }
  };
}

}  // namespace

void nets(Suite& s) {
  Group row{s, "nets"};
  row(
      "lstm_fwd", [] { return lstm(false); }, "oneDNN lstm");
  row(
      "lstm_fwd_bwd", [] { return lstm(true); }, "oneDNN lstm");
  row(
      "resnet18_b1", [] { return resnet18(1); },
      "oneDNN convolutions, blocked, norm and relu fused");
  row(
      "resnet18_b8", [] { return resnet18(8); },
      "oneDNN convolutions, blocked, norm and relu fused");
  row(
      "sdpa_8x512x64", [] { return attention(); },
      "oneDNN sgemm on 64-row blocks, libmvec softmax");
  row(
      "sdpa_8x512x64_bf16",
      [] {
        auto t = Type::bf16;
        return Steps{{matmul({8, 512, 64}, {8, 64, 512}, {8, 512, 512}, t, false),
                      matmul({8, 512, 512}, {8, 512, 64}, {8, 512, 64}, t, false)}};
      },
      "oneDNN matmuls only");
#ifdef BENCH_AMX
  row(
      "sdpa_8x512x64_bf16",
      [] { return [attention = amx_attention(8, 512, 64)] { attention(1); }; },
      "hand-written AMX tiles, keys and values prepacked, exponentials between");
#endif
  row(
      "transformer_step", [] { return transformer_step(); },
      "matrix products (oneDNN sgemm) and Adam only");
}

}  // namespace bench::lower_bounds
