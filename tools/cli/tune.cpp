// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "commands.h"
#include "table.h"
#include "tenon/jit/comprehension.h"
#include "tenon/parallel.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "tenon/types.h"

namespace tenon::command {
namespace {

using Sizes = std::map<std::string, int64_t>;

volatile std::sig_atomic_t g_interrupted = 0;

std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  TENON_CHECK(in.good(), ValueError, "tune: ", file, " cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// "M=128": a name and what stands for it.
std::pair<std::string, std::string> split(const std::string& text, const char* option) {
  const std::size_t at = text.find('=');
  TENON_CHECK(at != std::string::npos && at > 0 && at + 1 < text.size(), ValueError,
              "tune: ", option, " '", text, "' is not NAME=NUMBER, as M=128");
  return {text.substr(0, at), text.substr(at + 1)};
}

template <class T>
bool read_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, fault] = std::from_chars(text.data(), end, value);
  return fault == std::errc() && at == end;
}

tc::Constants read_constants(const std::vector<std::string>& list) {
  tc::Constants constants;
  for (const std::string& it : list) {
    const auto [name, text] = split(it, "--constant");
    int64_t whole = 0;
    double real = 0;
    if (read_number(text, whole))
      constants[name] = Scalar(whole);
    else if (read_number(text, real))
      constants[name] = Scalar(real);
    else
      TENON_CHECK(false, ValueError, "tune: --constant ", name, " is '", text,
                  "', expected a number");
  }
  return constants;
}

// "M=128,N=64"
Sizes read_sizes(const std::string& text) {
  Sizes sizes;
  std::stringstream list(text);
  for (std::string it; std::getline(list, it, ',');) {
    const auto [name, number] = split(it, "--sizes");
    TENON_CHECK(number.find_first_of(":-") == std::string::npos, ValueError,
                "tune: autotune needs exact sizes, ", name, " is ", number,
                "; give --sizes once for each");
    int64_t size = 0;
    TENON_CHECK(read_number(number, size) && size > 0, ValueError, "tune: size ", name, " is '",
                number, "', expected an integer above 0");
    sizes[name] = size;
  }
  return sizes;
}

std::vector<std::vector<int64_t>> shapes_of(const tc::Function& f, const Sizes& sizes) {
  std::vector<std::vector<int64_t>> shapes;
  for (const auto& names : f.sizes()) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (const std::string& name : names) {
      int64_t number = 0;
      const auto at = sizes.find(name);
      TENON_CHECK(at != sizes.end() || read_number(name, number), ValueError, "tune: ", f.name(),
                  " has a size ", name, ", which --sizes does not give");
      shape.push_back(at != sizes.end() ? at->second : number);
    }
  }
  return shapes;
}

// The line of a terminal that is written again and again.
bool show(const tc::TuneProgress& p) {
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r\033[K%d of %d: best %.1f us, untuned %.1f us: %.*s", p.measured,
                 p.planned, p.best, p.untuned, 60,
                 p.schedule.substr(0, p.schedule.find('\n')).c_str());
  return !g_interrupted;
}

tc::Tuned tune_one(const tc::Function& f, const Sizes& sizes, const TuneCommand& o) {
  tc::TuneOptions options;
  options.cache = o.cache;
  options.generations = o.generations;
  options.population = o.population;
  options.seed = o.seed;
  options.progress = show;
  const tc::Tuned tuned = f.tune(shapes_of(f, sizes), Device(o.device), options);
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
  return tuned;
}

std::string microseconds(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f us", v);
  return text;
}

}  // namespace

void tune(const TuneCommand& o) {
  if (o.threads > 0) set_num_threads(o.threads);
  core::set_log_handler([](int level, std::string_view text) {
    if (level >= TN_LOG_INFO)
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  });
  const std::map<std::string, tc::Function> all =
      tc::define_all(read_text(o.file), read_constants(o.constants));
  TENON_CHECK(o.name.empty() || all.count(o.name) > 0, ValueError, "tune: ", o.file, " defines no ",
              o.name);
  TENON_CHECK(!o.name.empty() || all.size() == 1, ValueError, "tune: ", o.file, " defines ",
              all.size(), " functions; choose one with --name");
  const tc::Function& f = o.name.empty() ? all.begin()->second : all.at(o.name);
  const auto before = std::signal(SIGINT, [](int) { g_interrupted = 1; });
  Table table({"SIZES", "UNTUNED", "TUNED", "RATIO", "MEASURED", "SCHEDULE"});
  for (const std::string& it : o.sizes) {
    if (g_interrupted) break;
    const tc::Tuned tuned = tune_one(f, read_sizes(it), o);
    char ratio[16];
    std::snprintf(ratio, sizeof ratio, "%.2f", tuned.best / tuned.untuned);
    std::string schedule = tuned.schedule.empty() ? "the backend's own" : tuned.schedule;
    for (char& c : schedule) c = c == '\n' ? ';' : c;
    table.add({it, microseconds(tuned.untuned), microseconds(tuned.best), ratio,
               tuned.measured == 0 ? "from the file" : std::to_string(tuned.measured), schedule});
  }
  std::signal(SIGINT, before);
  std::cout << table.text();
  if (!o.cache.empty()) std::cout << "\nkept in " << o.cache << "\n";
  if (g_interrupted) std::cout << "interrupted: the best so far counts\n";
}

}  // namespace tenon::command
