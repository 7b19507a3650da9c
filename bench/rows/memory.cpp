// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory-bound rows.
#include "bench/rows/rows.h"

void memory_rows(Suite& s) {
  auto row = [&](char const* name, auto make, char const* note = "", double per = 1) {
    s.row("memory", name, make, note, per);
  };
  auto square = [] { return torch::rand({4096, 4096}); };
  row("add_4096_fresh", [&] { return [a = square(), b = square()] { keep(a + b); }; });
  row("add_4096_out", [&] {
    return [a = square(), b = square(), o = square()]() mutable { torch::add_out(o, a, b); };
  });
  row(
      "chain5_16M",
      [&] {
        return [x = torch::rand({16 * M}), a = torch::rand({16 * M}), b = torch::rand({16 * M}),
                c = torch::rand({16 * M})] { keep((x * a + b).relu().mul(c).exp()); };
      },
      "(x*a+b).relu().mul(c).exp(), every step fresh");
  row("softmax_4096", [&] { return [a = square()] { keep(a.softmax(1)); }; });
  row("layer_norm_4096", [&] {
    return [a = square(), w = torch::rand({4096}), b = torch::rand({4096})] {
      keep(torch::layer_norm(a, {4096}, w, b));
    };
  });
  row("rms_norm_4096", [&] {
    return [a = square(), w = torch::rand({4096})] { keep(torch::rms_norm(a, {4096}, w)); };
  });
  row(
      "rms_norm_fwd_bwd",
      [&] {
        auto x = grad(torch::rand({4096, 1024})), w = grad(torch::rand({1024}));
        return [=, g = torch::rand({4096, 1024})] {
          torch::AutoGradMode on(true);
          clear({x, w});
          torch::rms_norm(x, {1024}, w).backward(g);
        };
      },
      "4096 rows of 1024 floats");
  row("sum_dim0_4096", [&] { return [a = square()] { keep(a.sum(0)); }; });
  row("sum_dim1_4096", [&] { return [a = square()] { keep(a.sum(1)); }; });
  row("sum_all_4096", [&] { return [a = square()] { keep(a.sum()); }; });
  row("transpose_copy_4096", [&] { return [a = square()] { keep(a.t().contiguous()); }; });
  row(
      "index_select",
      [] {
        return
            [t = torch::rand({262144, 64}), i = torch::randint(0, 262144, {16384}, torch::kLong)] {
              keep(t.index_select(0, i));
            };
      },
      "16384 random rows of 64 floats");
  row(
      "embedding_fwd_bwd",
      [] {
        auto w = grad(torch::rand({50000, 128}));
        auto i = torch::randint(0, 50000, {8192}, torch::kLong);
        return [=] {
          torch::AutoGradMode on(true);
          clear({w});
          torch::embedding(w, i).sum().backward();
        };
      },
      "50k x 128, 8192 lookups, dense gradient");
  // 2,048 bags of 1 to 31 rows.
  const auto bags = [](bool at_once) {
    const auto sizes = torch::arange(2048).remainder(31) + 1;
    const auto ends = sizes.cumsum(0);
    const auto i = torch::randint(0, 50000, {ends[-1].item<int64_t>()}, torch::kLong);
    const auto bag = torch::repeat_interleave(torch::arange(2048), sizes);
    return [=, w = torch::rand({50000, 128}), offsets = ends - sizes] {
      if (at_once) return keep(std::get<0>(torch::embedding_bag(w, i, offsets)));
      keep(torch::zeros({2048, 128}).index_add_(0, bag, torch::embedding(w, i)));
    };
  };
  row(
      "embedding_bag", [=] { return bags(true); }, "50k x 128, 2048 ragged bags of 32k lookups");
  row(
      "embedding_bag_in_two", [=] { return bags(false); }, "the same by embedding and index_add_");
  row("sort_1M", [] { return [a = torch::rand({M})] { keep(a.sort()); }; });
  row("topk_1M_100", [] { return [a = torch::rand({M})] { keep(a.topk(100)); }; });
  row("cumsum_1M", [] { return [a = torch::rand({M})] { keep(a.cumsum(0)); }; });
  row(
      "nonzero_1M", [] { return [a = torch::rand({M}) > 0.5] { keep(a.nonzero()); }; },
      "half true");
  row("masked_select_1M", [] {
    return [a = torch::rand({M}), m = torch::rand({M}) > 0.5] { keep(a.masked_select(m)); };
  });
}
