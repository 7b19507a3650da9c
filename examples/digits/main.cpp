// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Trains a small convolutional network on handwritten digits and shows how well it reads those it
// has not seen.
#include <tenon/parallel.h>
#include <tenon/serialize.h>
#include <tenon/tenon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include "data.h"
#include "machine.h"
#include "picture.h"
#include "progress.h"
#include "ranks.h"
#include "timeline.h"
#include "train.h"

namespace {

struct Settings {
  std::string data = "digits.csv.gz", device = "cpu", out = ".";
  int seeds = 1, threads = 0;
  double min_accuracy = 0;
  digits::Options training;
};

struct Run {
  digits::Net net{nullptr};
  std::vector<digits::Epoch> history;
  digits::Judgment judgment;
};

// A step on several ranks as a picture.
void draw_step(const std::string& path, const tenon::autograd::profiler::Profile& step, int rank) {
  const double hidden = digits::draw_timeline(path, step);
  if (rank > 0) return;
  std::printf("one step of all ranks drawn to %s: %.0f %% of the exchange beside backward\n",
              path.c_str(), hidden);
}

Run run(const Settings& settings, uint64_t seed, const digits::Split& split,
        const tenon::Device& device) {
  tenon::manual_seed(seed);
  Run r;
  const digits::Options& o = settings.training;
  r.net = digits::make_net(split.train, device, o);
  auto begin = std::chrono::steady_clock::now();
  const int64_t rest = o.ranks > 0 ? split.train.size() % o.batch : 0;
  const bool drawn = o.ranks > 1 && seed == o.seed;  // of the first training
  tenon::autograd::profiler::Profile step;
  r.history = digits::train(
      r.net, split.train, device, o,
      o.rank == 0 ? digits::progress_bar(o.epochs, split.train.size() - rest)
                  : [](int, int64_t, const digits::Epoch&) {},
      drawn ? &step : nullptr);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!step.events.empty()) draw_step(settings.out + "/ranks.svg", step, o.rank);
  if (o.rank > 0) return r;
  r.judgment = digits::judge(r.net, split.test, device);
  std::printf("seed %llu: test accuracy %.2f %% (%zu of %lld wrong), trained in %.1f s\n",
              static_cast<unsigned long long>(seed), 100 * r.judgment.accuracy,
              r.judgment.wrong.size(), static_cast<long long>(split.test.size()), took.count());
  return r;
}

// Saves, reloads into a fresh network, and judges that one.
void save_and_reload(Run& r, const digits::Split& split, const tenon::Device& device,
                     const digits::Options& options, const std::string& path) {
  tenon::save(r.net, path);
  auto again = digits::make_net(split.train, device, options);
  tenon::load(again, path);
  double accuracy = digits::judge(again, split.test, device).accuracy;
  std::printf("weights saved to %s; reloaded: test accuracy %.2f %%\n", path.c_str(),
              100 * accuracy);
  if (accuracy != r.judgment.accuracy)
    throw std::runtime_error("the reloaded weights do not give the same accuracy");
}

void print_spread(const std::vector<double>& accuracies) {
  double mean = 0, square = 0;
  for (double a : accuracies) mean += a / static_cast<double>(accuracies.size());
  for (double a : accuracies) square += (a - mean) * (a - mean);
  auto [low, high] = std::minmax_element(accuracies.begin(), accuracies.end());
  std::printf(
      "%zu seeds: mean test accuracy %.2f %%, standard deviation %.2f, from %.2f to %.2f %%\n",
      accuracies.size(), 100 * mean,
      100 *
          std::sqrt(square / static_cast<double>(std::max<std::size_t>(accuracies.size() - 1, 1))),
      100 * *low, 100 * *high);
}

void describe_run(const digits::Split& split, const tenon::Device& device, int ranks) {
  std::printf("plugins:\n%sdevice: %s, %d threads\n", digits::describe_plugins().c_str(),
              device.str().c_str(), tenon::get_num_threads());
  if (ranks > 0) std::printf("ranks: %d, each with a part of every batch\n", ranks);
  std::printf("data: %lld images to train on, %lld held out\n",
              static_cast<long long>(split.train.size()),
              static_cast<long long>(split.test.size()));
}

void work(Settings settings) {
  const digits::Ranks ranks(settings.training.ranks);
  settings.training.rank = ranks.rank();
  if (settings.threads > 0) tenon::set_num_threads(settings.threads);
  auto split = digits::split(digits::load(settings.data));
  auto device = digits::open_device(settings.device);
  if (ranks.rank() == 0) describe_run(split, device, settings.training.ranks);
  std::vector<double> accuracies;
  digits::KernelTimes times;
  for (int i = 0; i < settings.seeds; ++i) {
    Run r = run(settings, settings.training.seed + static_cast<uint64_t>(i), split, device);
    if (ranks.rank() > 0) continue;
    accuracies.push_back(r.judgment.accuracy);
    if (i > 0) continue;
    std::printf("\n%s\n", times.table(12).c_str());
    digits::draw(settings.out + "/digits.svg", r.history, r.judgment, split.test);
    std::printf("picture drawn to %s/digits.svg\n", settings.out.c_str());
    save_and_reload(r, split, device, settings.training, settings.out + "/digits.safetensors");
  }
  if (ranks.rank() > 0) return;
  if (settings.seeds > 1) print_spread(accuracies);
  double worst = 100 * *std::min_element(accuracies.begin(), accuracies.end());
  if (worst < settings.min_accuracy) {
    throw std::runtime_error("a test accuracy of " + std::to_string(worst) + " % is below the " +
                             std::to_string(settings.min_accuracy) +
                             " % that --min-accuracy asks for");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app("Trains a small convolutional network on handwritten digits");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--data", s.data,
                 "csv or csv.gz with one image per line and its label last, or MNIST's idx images")
      ->capture_default_str();
  app.add_option("--device", s.device, "where to train")->capture_default_str();
  app.add_option("--out", s.out, "folder for the picture and the weights")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--epochs", s.training.epochs)
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--batch", s.training.batch)->check(CLI::Range(2, 100000))->capture_default_str();
  app.add_option("--workers", s.training.workers, "threads that read ahead")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option("--seed", s.training.seed)->capture_default_str();
  app.add_option("--seeds", s.seeds, "trainings, each with the next seed")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--min-accuracy", s.min_accuracy, "test accuracy in percent below which it fails")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--threads", s.threads, "for the kernels; all unless given")
      ->check(CLI::Range(1, 1024));
  app.add_option("--ranks", s.training.ranks,
                 "processes that train together, each with a part of every batch, a plain network: "
                 "without batch normalization and dropout; 1: the same in one process")
      ->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  try {
    if (s.training.ranks > 0 && s.training.batch % s.training.ranks != 0)
      throw std::runtime_error("--batch " + std::to_string(s.training.batch) +
                               " is not a multiple of --ranks " + std::to_string(s.training.ranks));
    digits::launch_ranks(s.training.ranks, argv);
    work(s);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "digits: %s\n", e.what());
    return 1;
  }
}
