// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Collectives of a group beside those of the library that its engine is made of, on the same ranks
// and memory, in turn: a table in Markdown.
//   mpirun -n 2 bench_ranks mpi                  tenon launch -n 2 bench_ranks gloo
// A time is that of the rank that takes longest; the median of the repetitions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/harness.h"
#include "bench/ranks/bare.h"
#include "tenon/distributed.h"
#include "tenon/tenon.h"

namespace {

namespace dist = tenon::distributed;
using bench::Bare;
using bench::Loop;
using tenon::Tensor;

constexpr int kRepetitions = 41;
constexpr double kSeconds = 5e-3;  // that a repetition lasts

double max_of_ranks(double x) {
  const Tensor t = tenon::full({1}, x, tenon::kDouble);
  dist::all_reduce(t, dist::ReduceOp::MAX);
  return t.item<double>();
}

double seconds_per_call(Loop& loop, long n) {
  dist::barrier();
  return max_of_ranks(bench::seconds(loop, n) / static_cast<double>(n));
}

long calls_for(Loop& loop) {
  loop(2);
  long n = 1;
  for (double t = 0; n < (1L << 16); n *= 4) {
    t = seconds_per_call(loop, n) * static_cast<double>(n);
    if (t > kSeconds / 4) return std::max(1L, static_cast<long>(n * kSeconds / t));
  }
  return n;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// The interquartile range / the median.
double spread(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return (v[v.size() * 3 / 4] - v[v.size() / 4]) / v[v.size() / 2];
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1u << 20) return std::to_string(bytes >> 20) + " MiB";
  return bytes >= 1u << 10 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes) + " B";
}

// The rate is bare / ours: 1 where Tenon costs nothing.
void row(const char* name, std::size_t bytes, Loop ours, Loop bare) {
  const long n = calls_for(ours), m = calls_for(bare);
  std::vector<double> a, b, rates;
  for (int i = 0; i < kRepetitions; ++i) {
    a.push_back(seconds_per_call(ours, n) * 1e6);
    b.push_back(seconds_per_call(bare, m) * 1e6);
    rates.push_back(b.back() / a.back());
  }
  if (dist::get_rank() > 0) return;
  std::printf("| %s | %d | %s | %.1f | %.1f | %+.1f | %.2f | %.2f |\n", name,
              dist::get_world_size(), size_text(bytes).c_str(), median(a), median(b),
              median(a) - median(b), median(rates), spread(rates));
  std::fflush(stdout);
}

template <class F>
Loop repeat(F f) {
  return [f](long n) {
    for (long i = 0; i < n; ++i) f();
  };
}

void rows(Bare& bare, std::size_t most) {
  for (std::size_t bytes = 4; bytes <= most; bytes *= bytes == 4 ? 256 : 4) {
    const Tensor t = tenon::zeros({static_cast<int64_t>(bytes / 4)}) + 0;
    auto* data = t.data_ptr<float>();
    const auto n = static_cast<std::size_t>(t.numel());
    row("all_reduce", bytes, repeat([t] { dist::all_reduce(t); }),
        repeat([&bare, data, n] { bare.all_reduce(data, n); }));
    row("broadcast", bytes, repeat([t] { dist::broadcast(t, 0); }),
        repeat([&bare, data, n] { bare.broadcast(data, n); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string engine = argc > 1 ? argv[1] : "";
  if (engine != "mpi" && engine != "gloo") {
    std::fprintf(stderr, "bench_ranks mpi|gloo [MIB]; started by mpirun or `tenon launch`\n");
    return 2;
  }
  const std::size_t most = std::size_t{argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64} << 20;
  try {
    dist::init_process_group(engine);
    const auto bare =
        engine == "mpi" ? bench::make_bare_mpi() : bench::make_bare_gloo(*dist::default_group());
    if (!bare) {
      std::fprintf(stderr, "bench_ranks: built without the headers of %s\n", engine.c_str());
      return 1;
    }
    if (dist::get_rank() == 0)
      std::printf(
          "| %s | ranks | bytes | ours us | bare us | more us | rate | spread |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|\n",
          engine.c_str());
    rows(*bare, most);
    dist::barrier();
    dist::destroy_process_group();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_ranks: %s\n", e.what());
    return 1;
  }
  return 0;
}
