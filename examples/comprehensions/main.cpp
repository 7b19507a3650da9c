// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Definitions of a file against the operators that they stand for.
#include <tenon/jit/comprehension.h>
#include <tenon/tenon.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "plot.h"

namespace {

using tenon::Tensor;
using Tensors = std::vector<Tensor>;
using Sizes = std::map<std::string, int64_t>;

struct Known {
  std::vector<std::vector<const char*>> inputs;  // sizes by name
  Tensor (*operators)(const Tensors&);
};

const std::map<std::string, Known>& known() {
  static const std::map<std::string, Known> table = {
      {"matmul", {{{"M", "K"}, {"K", "N"}}, [](const Tensors& x) { return x[0].mm(x[1]); }}},
      {"linear_relu",
       {{{"M", "K"}, {"N", "K"}, {"N"}},
        [](const Tensors& x) { return tenon::relu(tenon::linear(x[0], x[1], x[2])); }}},
      {"batch_matmul",
       {{{"B", "M", "K"}, {"B", "K", "N"}}, [](const Tensors& x) { return x[0].bmm(x[1]); }}},
      {"softmax", {{{"M", "N"}}, [](const Tensors& x) { return tenon::softmax(x[0], 1); }}},
      {"layer_norm",
       {{{"M", "N"}}, [](const Tensors& x) { return tenon::layer_norm(x[0], {x[0].size(1)}); }}},
      {"distances", {{{"M", "K"}, {"N", "K"}}, [](const Tensors& x) {
                       return (x[0].unsqueeze(1) - x[1]).abs().sum(2);
                     }}}};
  return table;
}

template <class F>
double median_milliseconds(int repeats, F f) {
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {  // the first is not counted
    const auto begin = std::chrono::steady_clock::now();
    f().sum().template item<float>();  // waits for the device
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (i > 0) times.push_back(took.count());
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

Tensors make_inputs(const Known& known, const Sizes& sizes, const tenon::Device& device) {
  Tensors inputs;
  for (const auto& names : known.inputs) {
    std::vector<int64_t> shape;
    shape.reserve(names.size());
    for (const char* name : names) shape.push_back(sizes.at(name));
    inputs.push_back(tenon::randn(shape).to(device));
  }
  return inputs;
}

void read_sizes(const std::vector<std::string>& given, Sizes& sizes) {
  for (const std::string& it : given) {
    const std::size_t at = it.find('=');
    const auto size = sizes.find(it.substr(0, at));
    int64_t value = 0;
    const char* end = it.data() + it.size();
    if (at == std::string::npos || size == sizes.end() ||
        std::from_chars(it.data() + at + 1, end, value).ptr != end || value < 1)
      throw std::invalid_argument(it + ": expected M=, N=, K= or B= and a number above 0");
    size->second = value;
  }
}

// Searches a schedule, with the best so far on standard error.
Curve tune(const std::string& name, const tenon::tc::Function& f, const Tensors& inputs,
           int generations) {
  Curve curve{name, 0, {}};
  tenon::tc::TuneOptions options;
  options.generations = generations;
  options.progress = [&](const tenon::tc::TuneProgress& p) {
    curve.times.push_back(p.last);
    std::fprintf(stderr, "\r%s: %d of %d, best %.1f us, untuned %.1f us ", name.c_str(), p.measured,
                 p.planned, p.best, p.untuned);
    return true;
  };
  curve.untuned = f.tune(inputs, options).untuned;
  std::fprintf(stderr, "\r%70s\r", "");
  return curve;
}

// Whether both agree.
bool print_row(const std::string& name, const tenon::tc::Function& f, const Known& known,
               const Tensors& inputs, int repeats) {
  const auto run = [&] { return f.run(inputs)[0]; };
  const auto operators = [&] { return known.operators(inputs); };
  const Tensor given = run(), expected = operators();
  const double off = (given - expected).abs().max().item<float>();
  const double ours = median_milliseconds(repeats, run);
  const double theirs = median_milliseconds(repeats, operators);
  std::printf("%-14s %10.1e %12.3f %12.3f %8.2f\n", name.c_str(), off, ours, theirs, ours / theirs);
  return tenon::allclose(given, expected, 1e-3, 1e-3);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times tensor comprehensions against operators");
  std::string path, device = "cpu";
  std::vector<std::string> given;
  std::string plot;
  int repeats = 20, generations = 0;
  app.add_option("file", path, "definitions")->required()->check(CLI::ExistingFile);
  app.add_option("sizes", given, "M=, N=, K=, B=");
  app.add_option("--device", device)->capture_default_str();
  app.add_option("--repeats", repeats)->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--tune", generations, "Search schedules before, for so many generations")
      ->check(CLI::Range(0, 1000));
  app.add_option("--plot", plot, "Draw the searches into this file, as SVG");
  CLI11_PARSE(app, argc, argv);
  try {
    Sizes sizes = {{"M", 64}, {"N", 64}, {"K", 64}, {"B", 4}};
    read_sizes(given, sizes);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::printf("%-14s %10s %12s %12s %8s\n", "definition", "off", "ms", "operators", "ratio");
    bool agree = true;
    std::vector<Curve> curves;
    for (const auto& [name, f] : tenon::tc::define_all(text.str())) {
      const auto at = known().find(name);
      if (at == known().end()) {
        std::printf("%-14s no operators are known for it\n", name.c_str());
        continue;
      }
      const Tensors inputs = make_inputs(at->second, sizes, tenon::Device(device));
      if (generations > 0) curves.push_back(tune(name, f, inputs, generations));
      agree &= print_row(name, f, at->second, inputs, repeats);
    }
    if (!plot.empty()) write_plot(plot, curves);
    return agree ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
