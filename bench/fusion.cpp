// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Compiled functions beside the same functions called as they are, in turn: a table in Markdown.
//   bench_fusion [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "tenon/jit/compile.h"
#include "tenon/parallel.h"
#include "tenon/tenon.h"

namespace {

using tenon::Tensor;

struct Times {
  double plain, compiled;  // microseconds, the smallest of the repetitions
};

Times measure(bench::Loop plain, bench::Loop compiled) {
  constexpr int kRepetitions = 15;
  compiled(3);  // recorded, recorded, made
  const long n = bench::calibrate(plain), m = bench::calibrate(compiled);
  Times best{1e30, 1e30};
  for (int i = 0; i < kRepetitions; ++i) {
    best.plain = std::min(best.plain, bench::seconds(plain, n) / static_cast<double>(n) * 1e6);
    best.compiled =
        std::min(best.compiled, bench::seconds(compiled, m) / static_cast<double>(m) * 1e6);
  }
  return best;
}

template <class F, class... A>
void row(const char* name, const char* size, F f, const A&... arguments) {
  const auto compiled = tenon::compile(f);
  const auto loop = [&](const auto& call) -> bench::Loop {
    return [&](long n) {
      for (long i = 0; i < n; ++i) bench::keep(call(arguments...));
    };
  };
  const Times t = measure(loop(f), loop(compiled));
  std::printf("| %s | %s | %.2f | %.2f | %.2f |\n", name, size, t.plain, t.compiled,
              t.compiled / t.plain);
}

void chains(long n, const char* size) {
  const Tensor x = tenon::rand({n}), a = tenon::rand({n}), b = tenon::rand({n}),
               c = tenon::rand({n});
  row(
      "x * a + x", size, [](const Tensor& p, const Tensor& q) { return p * q + p; }, x, a);
  row(
      "(x * a + b).relu().mul(c).exp()", size,
      [](const Tensor& p, const Tensor& q, const Tensor& r, const Tensor& s) {
        return (p * q + r).relu().mul(s).exp();
      },
      x, a, b, c);
  row(
      "100 sums and products", size,
      [](const Tensor& p, const Tensor& q) {
        Tensor y = p;
        for (int i = 0; i < 100; ++i) y = i % 2 ? y * q : y + p;
        return y;
      },
      x, a);
}

void training_step() {
  tenon::nn::Sequential net(tenon::nn::Linear(32, 64), tenon::nn::SiLU(),
                            tenon::nn::Linear(64, 10));
  tenon::optim::SGD sgd(net->parameters(), tenon::optim::SGDOptions(0.01).momentum(0.9));
  const tenon::AutoGradMode on(true);
  row(
      "a step of two linear layers, SGD with momentum", "64 rows",
      [&](const Tensor& x, const Tensor& y) {
        sgd.zero_grad();
        const Tensor loss = (net->forward(x) - y).pow(2).mean();
        loss.backward();
        sgd.step();
        return loss.detach();
      },
      tenon::randn({64, 32}), tenon::randn({64, 10}));
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  tenon::set_num_threads(threads);
  const tenon::NoGradGuard no_grad;
  std::printf("| function, %d thread%s | elements | as it is, us | compiled, us | ratio |\n",
              threads, threads == 1 ? "" : "s");
  std::printf("|---|---:|---:|---:|---:|\n");
  chains(256, "256");
  chains(16384, "16 K");
  chains(65536, "64 K");
  chains(1 << 20, "1 M");
  chains(16 << 20, "16 M");
  training_step();
}
