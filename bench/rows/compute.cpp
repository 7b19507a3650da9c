// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products, convolutions, pooling.
#include "bench/rows/rows.h"

namespace {

// A network call forward without grad and forward+backward with it.
template <class Call>
auto fwd_bwd(std::vector<Tensor> params, Call call) {
  return [=]() mutable {
    torch::AutoGradMode on(true);
    clear(params);
    call().sum().backward();
  };
}

}  // namespace

void compute_rows(Suite& s) {
  auto row = [&](std::string const& name, auto make, char const* note = "") {
    s.row("compute", name, make, note);
  };
  for (auto type : {torch::kFloat, torch::kBFloat16}) {
    std::string t = type == torch::kFloat ? "_f32" : "_bf16";
    for (int64_t n : {256, 1024, 2048})
      row("mm_" + std::to_string(n) + t, [=] {
        return
            [a = torch::rand({n, n}).to(type), b = torch::rand({n, n}).to(type)] { keep(a.mm(b)); };
      });
    row(
        "conv3x3" + t,
        [=] {
          return
              [x = torch::rand({8, 64, 56, 56}).to(type),
               w = torch::rand({64, 64, 3, 3}).to(type)] { keep(torch::conv2d(x, w, {}, 1, 1)); };
        },
        "64->64, 56x56, batch 8");
    row(
        "conv3x3_fwd_bwd" + t,
        [=] {
          auto x = grad(torch::rand({8, 64, 56, 56}).to(type)),
               w = grad(torch::rand({64, 64, 3, 3}).to(type));
          return fwd_bwd({x, w}, [=] { return torch::conv2d(x, w, {}, 1, 1); });
        },
        "dx and dw");
  }
  row("bmm_64x128", [] {
    return [a = torch::rand({64, 128, 128}), b = torch::rand({64, 128, 128})] { keep(a.bmm(b)); };
  });
  row("linear_32x1024", [] {
    return [x = torch::rand({32, 1024}), w = torch::rand({1024, 1024}), b = torch::rand({1024})] {
      keep(F::linear(x, w, b));
    };
  });
  row(
      "conv1x1_f32",
      [] {
        return [x = torch::rand({8, 64, 56, 56}), w = torch::rand({64, 64, 1, 1})] {
          keep(torch::conv2d(x, w));
        };
      },
      "64->64, 56x56, batch 8");
  row(
      "conv_depthwise_f32",
      [] {
        return [x = torch::rand({8, 64, 56, 56}), w = torch::rand({64, 1, 3, 3})] {
          keep(torch::conv2d(x, w, {}, 1, 1, 1, 64));
        };
      },
      "3x3, 64 groups");
  for (int64_t width : {24, 32}) {
    row(
        width == 24 ? "conv13x24_f32" : "conv16x32_f32",
        [=] {
          const int64_t height = width == 24 ? 13 : 16;
          return [x = torch::rand({1, 16, 143, 55}), w = torch::rand({16, 16, height, width})] {
            keep(torch::conv2d(x, w));
          };
        },
        "16->16, 143x55: an odd kernel, and the next one of even sizes");
  }
  row(
      "max_pool",
      [] {
        return [x = torch::rand({8, 64, 56, 56})] { keep(torch::max_pool2d(x, 2)); };
      },
      "2x2 on 8x64x56x56");
  row(
      "batch_norm_fwd_bwd",
      [] {
        auto x = grad(torch::rand({8, 64, 56, 56})), w = grad(torch::rand({64})),
             b = grad(torch::rand({64}));
        auto mean = torch::zeros({64}), var = torch::ones({64});
        return fwd_bwd({x, w, b}, [=] {
          return torch::batch_norm(x, w, b, mean, var, true, 0.1, 1e-5, false);
        });
      },
      "training, 8x64x56x56");
}
