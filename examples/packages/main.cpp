// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Learns which section a Debian package belongs to from the packages that it is linked to.
#include <tenon/parallel.h>
#include <tenon/tenon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "control.h"
#include "files.h"
#include "graph.h"
#include "map.h"
#include "model.h"
#include "picture.h"
#include "report.h"

namespace {

struct Settings {
  std::vector<std::string> files, ask;
  std::string device = "cpu", out = ".";
  double hide = 0.3, min_accuracy = 0;
  int64_t smallest = 8, dots = 1200;
  uint64_t seed = 1;
  int threads = 0;
  packages::Options training;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<packages::Package> read_packages(const Settings& settings) {
  auto files = settings.files.empty() ? packages::machine_files("/var/lib") : settings.files;
  if (files.empty()) {
    throw std::runtime_error(
        "this machine has neither /var/lib/dpkg/status nor apt's lists, so it is not of the Debian "
        "family. Copy one of "
        "them from a machine that is, and name it by --status FILE");
  }
  std::vector<packages::Package> all;
  for (const auto& file : files) {
    auto some = packages::parse(packages::read_text(file));
    std::printf("%9s packages described in %s\n",
                packages::grouped(static_cast<int64_t>(some.size())).c_str(), file.c_str());
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

// A sparse tensor there needs the device's plugin and the one of the layout.
tenon::Device open_device(const std::string& name) {
  try {
    tenon::Device device(name);
    tenon::sparse_coo_tensor(
        tenon::zeros({2, 1}, tenon::TensorOptions(tenon::kLong).device(device)),
        tenon::ones({1}, tenon::TensorOptions().device(device)), {1, 1});
    return device;
  } catch (const tenon::Error& e) {
    throw std::runtime_error(
        "sparse tensors on the device '" + name + "' are not available: " + e.what() +
        "\n(sparse tensors come from libtenon_sparse.so; `tenon plugins --load` lists the plugins "
        "that are found, and why others are not)");
  }
}

// On a terminal a bar that moves, elsewhere ten lines.
packages::Progress progress_bar(int epochs) {
  bool terminal = isatty(fileno(stdout)) == 1;
  return [=](int epoch, const packages::Epoch& e) {
    int done = epoch + 1, step = std::max(1, epochs / 10);
    if (!terminal && done % step != 0 && done != epochs) return;
    constexpr int kWidth = 24;
    auto filled = static_cast<std::size_t>(kWidth * static_cast<int64_t>(done) / epochs);
    std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
    std::printf("%sepoch %3d/%d [%s] loss %.4f  known ones right %6.2f %%%s", terminal ? "\r" : "",
                done, epochs, bar.c_str(), e.loss, 100 * e.accuracy,
                terminal && done < epochs ? "" : "\n");
    std::fflush(stdout);
  };
}

void print_graph(const packages::Graph& graph, const packages::Split& split,
                 const std::vector<tenon::Tensor>& matrices) {
  int64_t nnz = 0;
  for (const auto& m : matrices) nnz += m.values().numel();
  using packages::grouped;
  std::printf(
      "graph: %s packages, %s links, %s elements in %zu sparse %s; %s needs that no package "
      "answers\n",
      grouped(graph.size()).c_str(), grouped(static_cast<int64_t>(graph.links.size())).c_str(),
      grouped(nnz).c_str(), matrices.size(), matrices.size() == 1 ? "matrix" : "matrices",
      grouped(graph.unanswered).c_str());
  auto known = static_cast<int64_t>(split.known.size()),
       hidden = static_cast<int64_t>(split.hidden.size());
  std::printf("sections: %zu; known of %s packages, hidden of %s, none or too small a one for %s\n",
              graph.sections.size(), grouped(known).c_str(), grouped(hidden).c_str(),
              grouped(graph.size() - known - hidden).c_str());
}

// Hidden packages evenly from all of them, so that large sections have more.
std::vector<packages::Dot> map_of(const packages::Split& split, const packages::Answers& answers,
                                  int64_t max_dots) {
  auto all = static_cast<int64_t>(split.hidden.size()), n = std::min(all, max_dots);
  std::vector<packages::Dot> dots;
  if (n < 3) return dots;
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < n; ++i)
    chosen.push_back(split.hidden[static_cast<std::size_t>(i * all / n)]);
  auto at = tenon::tensor(chosen).to(answers.embedding.device());
  auto places = packages::lay_out(answers.embedding.index_select(0, at)).cpu().contiguous();
  const float* p = places.data_ptr<float>();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    dots.push_back(
        {p[2 * i], p[2 * i + 1], chosen[i], answers.best[static_cast<std::size_t>(chosen[i])]});
  }
  return dots;
}

void print_asked(const std::string& name, const packages::Graph& graph,
                 const packages::Split& split, const packages::Answers& answers) {
  auto found = std::find(graph.names.begin(), graph.names.end(), name);
  if (found == graph.names.end()) {
    std::printf("%s: no such package in the files\n", name.c_str());
    return;
  }
  int64_t node = found - graph.names.begin(), truth = graph.section[static_cast<std::size_t>(node)];
  auto [p, s] = answers.probability[node].topk(
      std::min<int64_t>(3, static_cast<int64_t>(graph.sections.size())));
  std::string line = name + ":";
  for (int64_t i = 0; i < p.size(0); ++i) {
    char text[128];
    std::snprintf(text, sizeof text, "%s %.60s %.0f %%", i > 0 ? "," : "",
                  graph.sections[static_cast<std::size_t>(s[i].item<int64_t>())].c_str(),
                  100 * p[i].item<double>());
    line += text;
  }
  bool hidden = std::binary_search(split.hidden.begin(), split.hidden.end(), node);
  std::string own =
      truth < 0 ? "none that counts" : graph.sections[static_cast<std::size_t>(truth)];
  std::printf("%s (its own: %s%s)\n", line.c_str(), own.c_str(),
              hidden      ? ", hidden"
              : truth < 0 ? ""
                          : ", known");
}

void run(const Settings& settings) {
  auto begin = std::chrono::steady_clock::now();
  if (settings.threads > 0) tenon::set_num_threads(settings.threads);
  auto device = open_device(settings.device);
  auto graph = packages::build(read_packages(settings), settings.smallest);
  auto split = packages::split(graph, settings.hide, settings.seed);
  tenon::manual_seed(settings.seed);
  auto matrices = packages::adjacency(graph, settings.training.directed, device);
  print_graph(graph, split, matrices);
  std::printf("device: %s, %d threads; ready after %.1f s\n", device.str().c_str(),
              tenon::get_num_threads(), seconds_since(begin));

  packages::Gcn net(matrices, settings.training.width, static_cast<int64_t>(graph.sections.size()),
                    settings.training.dropout);
  net->to(device);
  auto start = std::chrono::steady_clock::now();
  packages::train(net, graph, split, settings.training, progress_bar(settings.training.epochs));
  double took = seconds_since(start);
  std::printf("trained in %.1f s, %.0f ms per epoch\n\n", took,
              1e3 * took / settings.training.epochs);

  auto answers = packages::answer(net);
  auto judgment = packages::judge(graph, split, answers.best);
  std::printf("%s\n%s\n", packages::table(graph, judgment).c_str(),
              packages::accuracies(graph, split, judgment).c_str());
  for (const auto& name : settings.ask) print_asked(name, graph, split, answers);
  std::string path = settings.out + "/packages.svg";
  packages::write_file(path,
                       packages::draw(graph, judgment, map_of(split, answers, settings.dots)));
  std::printf("picture drawn to %s; %.1f s in all\n", path.c_str(), seconds_since(begin));
  if (100 * judgment.accuracy < settings.min_accuracy) {
    throw std::runtime_error("an accuracy of " + std::to_string(100 * judgment.accuracy) +
                             " % is below the " + std::to_string(settings.min_accuracy) +
                             " % that --min-accuracy asks for");
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  CLI::App app(
      "Learns which section a Debian package belongs to (libs, games, python...) from the packages "
      "that it is linked\n"
      "to: a graph convolution of two layers over the sparse matrix of all dependencies. The "
      "section of a share of "
      "the\n"
      "packages is hidden, and predicted at the end. Draws packages.svg: a map of those, and what "
      "is taken for what.");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--status", s.files,
                 "dpkg status file or apt list (plain, gzip or lz4), of any machine; may be given "
                 "several times. Without "
                 "it: this machine's /var/lib/dpkg/status and all that is in /var/lib/apt/lists")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", s.device, "where to learn: cpu, cuda, ...")->capture_default_str();
  app.add_option("--out", s.out, "folder for the picture")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--ask", s.ask,
                 "a package whose likely sections are printed; may be given several times")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--hide", s.hide, "share of the packages of each section that are hidden")
      ->check(CLI::Range(0.01, 0.99))
      ->capture_default_str();
  app.add_option("--smallest", s.smallest, "packages that a section must have to count")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  app.add_flag(
      "--directed", s.training.directed,
      "one matrix for what a package needs and one for what needs it, instead of one for both");
  app.add_option("--epochs", s.training.epochs)
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--width", s.training.width, "size of each package's embedding")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--rate", s.training.learning_rate, "Adam's step at the start")
      ->check(CLI::Range(1e-6, 10.0))
      ->capture_default_str();
  app.add_option("--dropout", s.training.dropout)
      ->check(CLI::Range(0.0, 0.95))
      ->capture_default_str();
  app.add_option("--dots", s.dots, "packages on the map; the time for it goes with the square")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app.add_option("--seed", s.seed, "the same seed gives the same result")->capture_default_str();
  app.add_option("--threads", s.threads, "for the kernels; all unless given")
      ->check(CLI::Range(1, 1024));
  app.add_option("--min-accuracy", s.min_accuracy, "accuracy in percent below which it fails")
      ->check(CLI::Range(0.0, 100.0));
  app.footer(
      "Examples:\n"
      "  tenon_packages                                       # this machine\n"
      "  tenon_packages --directed --ask vim --ask libpng-dev\n"
      "  tenon_packages --status /var/lib/dpkg/status         # what is installed, without apt's "
      "lists\n"
      "  scp host:/var/lib/dpkg/status s; tenon_packages --status s");
  CLI11_PARSE(app, argc, argv);
  try {
    run(s);
    return 0;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "packages: %s\n", e.what());
    return 1;
  }
}
