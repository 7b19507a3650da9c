// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small calls: what a call costs before any arithmetic. No gradients are recorded.
#include <thread>

#include "bench/rows/rows.h"

void small_rows(Suite& s) {
  auto row = [&](char const* name, auto make, char const* note = "", double per = 1) {
    s.row("small", name, make, note, per);
  };
  row("empty_1", [] { return [] { keep(torch::empty({1})); }; });
  row("zeros_8", [] { return [] { keep(torch::zeros({8})); }; });
  row(
      "add_1", [] { return [a = torch::rand({1}), b = torch::rand({1})] { keep(a + b); }; },
      "fresh output");
  // As add_1, by two threads at once: a call of each takes what one alone takes, unless they
  // contend for something shared. As many as make the start of a thread, milliseconds on some
  // virtual machines, small.
  constexpr long kEach = 2000000;
  row(
      "add_1_by_two",
      [] {
        return [] {
          const auto adds = [] {
            const auto a = torch::rand({1}), b = torch::rand({1});
            for (long i = 0; i < kEach; ++i) keep(a + b);
          };
          std::thread other(adds);
          adds();
          other.join();
        };
      },
      "a call of each of two threads", kEach);
  row("add_1_out", [] {
    return [a = torch::rand({1}), b = torch::rand({1}), o = torch::rand({1})]() mutable {
      torch::add_out(o, a, b);
    };
  });
  row("add_1_inplace",
      [] { return [a = torch::rand({1}), b = torch::zeros({1})]() mutable { a.add_(b); }; });
  row(
      "add_scalar", [] { return [a = torch::rand({1})] { keep(a + 1.0); }; },
      "tensor + C++ double");
  row("add_int_float",
      [] { return [a = torch::ones({1}, torch::kInt), b = torch::rand({1})] { keep(a + b); }; });
  row("add_broadcast_44_4", [] {
    return [a = torch::rand({4, 4}), b = torch::rand({4})] { keep(a + b); };
  });
  row(
      "mul_1_grad",
      [] {
        return [a = grad(torch::rand({1})), b = torch::rand({1})] {
          torch::AutoGradMode on(true);
          keep(a * b);
        };
      },
      "records one node and drops it");
  row("relu_44", [] { return [a = torch::randn({4, 4})] { keep(a.relu()); }; });
  row("sum_44", [] { return [a = torch::randn({4, 4})] { keep(a.sum()); }; });
  row("softmax_44", [] { return [a = torch::randn({4, 4})] { keep(a.softmax(1)); }; });
  row("mm_44", [] {
    return [a = torch::rand({4, 4}), b = torch::rand({4, 4})] { keep(a.mm(b)); };
  });
  row("mm_64", [] {
    return [a = torch::rand({64, 64}), b = torch::rand({64, 64})] { keep(a.mm(b)); };
  });
  row("view", [] { return [a = torch::rand({4, 4})] { keep(a.view({16})); }; });
  row("select", [] { return [a = torch::rand({4, 4})] { keep(a.select(0, 1)); }; });
  row("transpose", [] { return [a = torch::rand({4, 4})] { keep(a.transpose(0, 1)); }; });
  row("slice", [] { return [a = torch::rand({4, 4})] { keep(a.slice(0, 1, 3)); }; });
  row("index_1_2", [] { return [a = torch::rand({4, 4})] { keep(a.index({1, 2})); }; });
  row("item", [] { return [a = torch::rand({1})] { keep(a.item<float>()); }; });
  row("cat_8_8", [] {
    return [a = torch::rand({8}), b = torch::rand({8})] { keep(torch::cat({a, b})); };
  });
  // On a device whose kernels return at once: the frame alone. Only Tenon has one.
  row(
      "null_add_1",
      [] {
        Tensor a = torch::empty({1}, torch::TensorOptions().device(torch::Device("null")));
        return [a, b = torch::empty_like(a)] { keep(a + b); };
      },
      "a kernel that returns at once");
  row("null_neg_1", [] {
    return [a = torch::empty({1}, torch::TensorOptions().device(torch::Device("null")))] {
      keep(a.neg());
    };
  });
}
