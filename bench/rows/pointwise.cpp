// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, in cache and beyond, and random numbers.
#include "bench/rows/rows.h"

void pointwise_rows(Suite& s) {
  auto row = [&](std::string const& name, auto make, char const* note = "") {
    s.row("pointwise", name, make, note);
  };
  for (auto [label, n] :
       {std::pair<char const*, int64_t>{"256k", M / 4}, {"1M", M}, {"16M", 16 * M}}) {
    std::string l = label;
    int64_t count = n;
    auto in = [count] { return torch::rand({count}) + 0.1; };
    row("exp_" + l, [=] { return [a = in()] { keep(a.exp()); }; });
    row("log_" + l, [=] { return [a = in()] { keep(a.log()); }; });
    row("tanh_" + l, [=] { return [a = in()] { keep(a.tanh()); }; });
    row("sigmoid_" + l, [=] { return [a = in()] { keep(a.sigmoid()); }; });
    row("gelu_" + l, [=] { return [a = in()] { keep(torch::gelu(a)); }; });
  }
  row("exp_16M_out", [] {
    return
        [a = torch::rand({16 * M}), o = torch::rand({16 * M})]() mutable { torch::exp_out(o, a); };
  });
  row("rand_16M", [] { return [] { keep(torch::rand({16 * M})); }; });
  row("randn_16M", [] { return [] { keep(torch::randn({16 * M})); }; });
  row("dropout_16M",
      [] { return [a = torch::rand({16 * M})] { keep(torch::dropout(a, 0.5, true)); }; });
  row(
      "bernoulli_16M", [] { return [o = torch::rand({16 * M})]() mutable { o.bernoulli_(0.5); }; },
      "in place");
}
