// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs beside the operators that compute the same, in turn: a table in Markdown. Who runs
// the programs is chosen from outside: TENON_PLUGINS_DISABLE=llvm leaves them to plugin_cpu.
//   bench_loop_programs [THREADS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "tenon/ops/loop_program.gen.h"
#include "tenon/parallel.h"
#include "tenon/tenon.h"

namespace {

using tenon::Tensor;

struct Times {
  double program = 1e30, operators = 1e30;  // microseconds of a call
};

// In turn, a few calls at a time: on a machine that others use, too, each has moments of its own.
Times best_of(bench::Loop program, bench::Loop operators) {
  constexpr int kRepetitions = 300;
  constexpr double kTogether = 2e-4;  // seconds
  Times best;
  const auto several = [](bench::Loop& loop, double us) {
    const long n = std::clamp(static_cast<long>(kTogether * 1e6 / us), 1L, 100L);
    return bench::seconds(loop, n) / static_cast<double>(n) * 1e6;
  };
  for (int i = 0; i < kRepetitions; ++i) {
    best.program = std::min(best.program, several(program, best.program));
    best.operators = std::min(best.operators, several(operators, best.operators));
  }
  return best;
}

// Both in microseconds; `first` in milliseconds, compilation included.
template <class F>
void row(const char* name, const std::vector<Tensor>& inputs, const char* text, F operators,
         const std::vector<int64_t>& numbers = {}) {
  const auto program = [&] { return tenon::_loop_program(inputs, text, numbers).at(0); };
  bench::Loop once = [&](long) { bench::keep(program()); };
  const double first = bench::seconds(once, 1) * 1e3;
  const double error = (program() - operators()).abs().max().template item<double>();
  const Times best = best_of(
      [&](long n) {
        for (long i = 0; i < n; ++i) bench::keep(program());
      },
      [&](long n) {
        for (long i = 0; i < n; ++i) bench::keep(operators());
      });
  std::printf("| %s | %.1f | %.1f | %.2f | %.1f | %.1e |\n", name, best.operators, best.program,
              best.program / best.operators, first, error);
}

const char* chain =
    "loops 1\nsize N\ninput x float32 [N]\ninput a float32 [N]\ninput b float32 [N]\n"
    "output y float32 [N]\nfor i < N\n%0 = read x [i]\n%1 = read a [i]\n%2 = read b [i]\n"
    "%3 = mul %0 %1\n%4 = add %3 %2\n%5 = const float32 0\n%6 = max %4 %5\n%7 = exp %6\n"
    "y [i] = %7\n";
const char* softmax =
    "loops 1\nsize N\nsize M\ninput x float32 [N, M]\ntemp top float32 [N]\n"
    "temp e float32 [N, M]\ntemp sum float32 [N]\noutput y float32 [N, M]\nfor i < N, j < M\n"
    "%0 = read x [i, j]\ntop [i] max=! %0\nfor i < N, j < M\n%0 = read x [i, j]\n"
    "%1 = read top [i]\n%2 = sub %0 %1\n%3 = exp %2\ne [i, j] = %3\nfor i < N, j < M\n"
    "%0 = read e [i, j]\nsum [i] +=! %0\nfor i < N, j < M\n%0 = read e [i, j]\n"
    "%1 = read sum [i]\n%2 = div %0 %1\ny [i, j] = %2\n";
const char* fcrelu =
    "loops 1\nsize B\nsize M\nsize N\ninput x float32 [B, M]\ninput w float32 [N, M]\n"
    "input b float32 [N]\ntemp t float32 [B, N]\noutput y float32 [B, N]\n"
    "for i < B, n < N, m < M\n%0 = read x [i, m]\n%1 = read w [n, m]\n%2 = mul %0 %1\n"
    "t [i, n] +=! %2\nfor i < B, n < N\n%0 = read t [i, n]\n%1 = read b [n]\n%2 = add %0 %1\n"
    "%3 = const float32 0\n%4 = max %2 %3\ny [i, n] = %4\n";
const char* tmm =
    "loops 1\nsize M\nsize K\nsize N\ninput a float32 [M, K]\ninput b float32 [N, K]\n"
    "output c float32 [M, N]\nfor m < M, n < N, k < K\n%0 = read a [m, k]\n%1 = read b [n, k]\n"
    "%2 = mul %0 %1\nc [m, n] +=! %2\n";
const char* convolution =
    "loops 1\nsize B\nsize G\nsize C\nsize H\nsize W\nsize F\nsize R\nsize S\nsize P = (H - R + 1) "
    "/ 1\n"
    "size Q = (W - S + 1) / 1\ninput x float32 [B, G, C, H, W]\ninput w float32 [G, F, C, R, S]\n"
    "output y float32 [B, G, F, P, Q]\n"
    "for b < B, g < G, f < F, p < P, q < Q, c < C, r < R, s < S\n"
    "%0 = read x [b, g, c, p + r, q + s]\n%1 = read w [g, f, c, r, s]\n%2 = mul %0 %1\n"
    "y [b, g, f, p, q] +=! %2\n";
const char* lut =
    "loops 1\nsize E\nsize D\nsize B\nsize L\ninput t float32 [E, D]\ninput i int64 [B, L]\n"
    "output y float32 [B, D]\nfor b < B, d < D, l < L\n%0 = read i [b, l]\n"
    "%1 = read t [check %0, d]\ny [b, d] +=! %1\n";
const char* kronecker =
    "loops 1\nsize M\nsize A\nsize C\nsize B\nsize D\ninput x float32 [M, A, C]\n"
    "input u float32 [B, A]\ninput v float32 [D, C]\ntemp t float32 [M, A, D]\n"
    "output y float32 [M, B, D]\nfor m < M, a < A, d < D, c < C\n%0 = read x [m, a, c]\n"
    "%1 = read v [d, c]\n%2 = mul %0 %1\nt [m, a, d] +=! %2\n"
    "for m < M, b < B, d < D, a < A\n%0 = read t [m, a, d]\n%1 = read u [b, a]\n"
    "%2 = mul %0 %1\ny [m, b, d] +=! %2\n";

void chains() {
  for (const int64_t n : {16 << 10, 1 << 20}) {
    const Tensor x = tenon::rand({n}), a = tenon::rand({n}), b = tenon::rand({n});
    row(n > 100000 ? "exp(relu(x a + b)), 1 M" : "exp(relu(x a + b)), 16 K", {x, a, b}, chain,
        [&] { return (x * a + b).relu().exp(); });
  }
  const Tensor x = tenon::randn({256, 1024});
  row("softmax, 256 x 1024", {x}, softmax, [&] { return x.softmax(1); });
}

void comprehensions() {
  {
    const Tensor x = tenon::randn({100, 128}), w = tenon::randn({100, 128}),
                 b = tenon::randn({100});
    row("fcrelu, 100 x 128 x 100", {x, w, b}, fcrelu,
        [&] { return tenon::relu(tenon::addmm(b, x, w.t())); });
  }
  for (const int64_t n : {128, 512}) {
    const Tensor a = tenon::randn({n, n}), b = tenon::randn({n, n});
    row(n == 128 ? "tmm, 128" : "tmm, 512", {a, b}, tmm, [&] { return a.mm(b.t()); });
  }
  {
    const Tensor x = tenon::randn({8, 8, 4, 30, 30}), w = tenon::randn({8, 8, 4, 3, 3});
    const std::vector<int64_t> one = {1, 1}, none = {0, 0};
    row("group convolution, 8 x 8 x 4 x 30 x 30", {x, w}, convolution, [&] {
      return tenon::conv2d(x.view({8, 32, 30, 30}), w.view({64, 4, 3, 3}), Tensor(), one, none, one,
                           8)
          .view({8, 8, 8, 28, 28});
    });
  }
  {
    const Tensor t = tenon::randn({10000, 64}), i = tenon::randint(10000, {128, 50}, tenon::kLong);
    row("1lut, 10000 x 64, 128 x 50", {t, i}, lut, [&] { return tenon::embedding(t, i).sum(1); });
  }
  const Tensor x = tenon::randn({256, 16, 16}), u = tenon::randn({16, 16}),
               v = tenon::randn({16, 16});
  row("kronecker, 256 x 16 x 16", {x, u, v}, kronecker,
      [&] { return tenon::matmul(u, tenon::matmul(x, v.t())); });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  tenon::set_num_threads(threads);
  const tenon::NoGradGuard no_grad;
  tenon::manual_seed(1);
  std::printf(
      "| program, %d thread%s | operators, us | program, us | ratio | first call, ms | error |\n",
      threads, threads == 1 ? "" : "s");
  std::printf("|---|---:|---:|---:|---:|---:|\n");
  chains();
  comprehensions();
}
