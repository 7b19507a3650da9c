// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Over examples/plugin_local as a network of a known speed, a line of a table: data parallel
// training, and how much of the communication is hidden behind the backward pass; or an all_reduce
// of so many KiB beside what the network's numbers say.
//   TENON_LOCAL_DELAY_US=100 TENON_LOCAL_MB_PER_S=300 tenon launch -n 2 bench_network [KIB]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "tenon/distributed.h"
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/tenon.h"

namespace {

namespace dist = tenon::distributed;
using tenon::Tensor;

constexpr int64_t kWidth = 512, kLayers = 16, kBatch = 768;
constexpr int kRepetitions = 7;

struct NetImpl : tenon::nn::Module {
  NetImpl() {
    for (int64_t i = 0; i < kLayers; ++i)
      layers.push_back(
          register_module("layer" + std::to_string(i), tenon::nn::Linear(kWidth, kWidth)));
  }
  Tensor forward(Tensor x) {
    for (auto& layer : layers) x = relu(layer->forward(x));
    return x;
  }
  std::vector<tenon::nn::Linear> layers;
};
TENON_MODULE(Net);

// Of the rank that takes longest; the median, in milliseconds.
template <class F>
double time_of(F f) {
  std::vector<double> all;
  for (int i = 0; i < kRepetitions; ++i) {
    dist::barrier();
    const auto begin = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - begin;
    const Tensor t = tenon::full({1}, spent.count(), tenon::kDouble);
    dist::all_reduce(t, dist::ReduceOp::MAX);
    all.push_back(t.item<double>());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

double setting(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtod(text, nullptr) : 0;
}

// The bytes go to rank 0 and come back. Each pair of ranks has a link of its own, so that their
// number is not in it.
double formula(double bytes) {
  return 2 * (setting("TENON_LOCAL_DELAY_US") + bytes / setting("TENON_LOCAL_MB_PER_S")) * 1e-3;
}

void measure_all_reduce(int64_t kib) {
  const int ranks = dist::get_world_size();
  const Tensor t = tenon::zeros({kib << 8}) + 0;
  dist::all_reduce(t);
  const double ms = time_of([&] { dist::all_reduce(t); });
  const double expected = formula(static_cast<double>(kib << 10));
  if (dist::get_rank() == 0)
    std::printf("| %d | %ld | %.2f | %.2f | %.2f |\n", ranks, static_cast<long>(kib), expected, ms,
                ms / expected);
}

void measure_training() {
  const int ranks = dist::get_world_size();
  Net net;
  tenon::nn::parallel::DistributedDataParallel<Net> ddp(
      net, dist::DistributedDataParallelOptions().bucket_cap_mb(2));
  const Tensor x = tenon::randn({kBatch, kWidth});
  for (int i = 0; i < 2; ++i) ddp(x).sum().backward();
  std::vector<Tensor> buckets;
  double bytes = 0, expected = 0;
  for (std::size_t i = 0; i < ddp.state().bucket_count(); ++i) {
    int64_t n = 0;
    for (const auto& name : ddp.state().bucket(i)) n += net->named_parameters()[name].numel();
    buckets.push_back(tenon::zeros({n}));
    bytes += static_cast<double>(n) * 4;
    expected += formula(static_cast<double>(n) * 4);
  }
  const double network = time_of([&] {
    for (const Tensor& b : buckets) dist::all_reduce(b);
  });
  double forward = 0, alone = 0;
  {
    const auto quiet = ddp.no_sync();
    forward = time_of([&] { bench::keep(ddp(x)); });
    alone = time_of([&] { ddp(x).sum().backward(); });
  }
  const double step = time_of([&] { ddp(x).sum().backward(); });
  const double hidden = alone + network - step, most = std::min(network, alone - forward);
  if (dist::get_rank() == 0)
    std::printf("| %d | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f %% |\n", ranks,
                buckets.size(), bytes * 1e-6, expected, network, alone - forward, alone, step,
                100 * hidden / most);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    dist::init_process_group("local");
    if (argc > 1)
      measure_all_reduce(std::strtol(argv[1], nullptr, 10));
    else
      measure_training();
    dist::barrier();
    dist::destroy_process_group();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_network: %s\n", e.what());
    return 1;
  }
  return 0;
}
