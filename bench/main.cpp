// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Measures our rows against libtorch's and against their floors, in one process, in turn: A B A B. Each side is a
// shared object of its own, opened with RTLD_LOCAL.
#include <dlfcn.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "bench/harness.h"

namespace {

using bench::Loop;
using bench::Side;

Side* open_side(const std::string& path, std::string& why) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto entry = handle ? reinterpret_cast<Side* (*)()>(dlsym(handle, "bench_side")) : nullptr;
  if (!entry) why = dlerror();
  return entry ? entry() : nullptr;
}

struct Contender {
  Loop loop;
  long calls = 0;
  std::vector<double> ns;
  bool ok = false;

  // `more`: raises the calls so that the sum of several loops is not one scheduler tick.
  void prepare(Side* side, const std::string& name, std::string& note) {
    if (!side) return;
    for (auto& row : side->suite.rows) {
      if (row.name != name) continue;
      try {
        loop = row.make();
        calls = bench::calibrate(loop);
        ok = true;
      } catch (const std::exception& e) {
        note = std::string(e.what()).substr(0, 120);
      }
      return;
    }
  }
  void run(double per) {
    if (ok) ns.push_back(bench::seconds(loop, calls) / static_cast<double>(calls) * 1e9 / per);
  }
};

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
}

struct Options {
  std::string rows = ".*", json, count, ours, peer, floors;
  int threads = 1, pairs = 9;
  long calls = 200;
};

struct Sides {
  Side *ours, *peer, *floors;
};

// One pass over a row; the spread of the ratios decides whether it is repeated.
nlohmann::json measure(const Sides& s, const bench::Row& row, const Options& o) {
  Contender ours, peer, floor;
  std::string note, ignored;
  ours.prepare(s.ours, row.name, note);
  peer.prepare(s.peer, row.name, ignored);
  floor.prepare(s.floors, row.name, ignored);
  auto pause = [&] {
    if (o.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  std::vector<double> ratios;
  for (int i = 0; i < o.pairs; ++i) {
    ours.run(row.per);
    pause();
    peer.run(row.per);
    pause();
    floor.run(row.per);
    if (ours.ok && peer.ok) ratios.push_back(ours.ns.back() / peer.ns.back());
  }
  nlohmann::json j = {{"row", row.name}, {"group", row.group}, {"threads", o.threads}, {"note", row.note}};
  auto median = [](const Contender& c) { return c.ok ? nlohmann::json(quantile(c.ns, 0.5)) : nlohmann::json(); };
  j["ours_ns"] = median(ours);
  j["peer_ns"] = median(peer);
  j["floor_ns"] = median(floor);
  if (!note.empty()) j["failed"] = note;
  const std::vector<double>& base = ratios.empty() ? ours.ns : ratios;
  j["ratio"] = ratios.empty() ? nlohmann::json() : nlohmann::json(quantile(ratios, 0.5));
  j["spread"] = base.empty() ? nlohmann::json()
                             : nlohmann::json((quantile(base, 0.75) - quantile(base, 0.25)) / quantile(base, 0.5));
  return j;
}

nlohmann::json settled(const Sides& s, const bench::Row& row, const Options& o) {
  nlohmann::json best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    nlohmann::json j = measure(s, row, o);
    if (best.is_null() || (j["spread"].is_number() && j["spread"] < best["spread"])) best = j;
    if (!best["spread"].is_number() || best["spread"] <= 0.15) return best;
  }
  best["noisy"] = true;
  return best;
}

std::string cell(const nlohmann::json& v, const char* format) {
  if (!v.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, v.get<double>());
  return text;
}

// One library, one row, for callgrind and the malloc counter.
int count(Side* side, const Options& o) {
  for (auto& row : side->suite.rows) {
    if (row.name != o.count) continue;
    Loop loop = row.make();
    loop(20);
    auto heap = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, "heap_allocations"));
    long before = heap ? heap() : 0;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    loop(o.calls);
    CALLGRIND_STOP_INSTRUMENTATION;
    double each = heap ? static_cast<double>(heap() - before) / static_cast<double>(o.calls) / row.per : -1;
    std::printf("{\"row\":\"%s\",\"calls\":%ld,\"per\":%g,\"blocks\":%.2f}\n", row.name.c_str(), o.calls, row.per,
                each);
    return 0;
  }
  std::fprintf(stderr, "bench: no row '%s'\n", o.count.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Times rows beside libtorch and their floors; ratios are ours / libtorch's, lower is better."};
  app.add_option("--rows", o.rows, "regular expression over row names");
  app.add_option("--threads", o.threads);
  app.add_option("--pairs", o.pairs, "repetitions of each side");
  app.add_option("--json", o.json, "file to append one object a row to");
  app.add_option("--ours", o.ours)->required();
  app.add_option("--peer", o.peer);
  app.add_option("--floors", o.floors);
  app.add_option("--count", o.count, "run one row of --ours untimed, for callgrind or the malloc counter");
  app.add_option("--calls", o.calls);
  CLI11_PARSE(app, argc, argv);
  std::string why;
  Sides s{open_side(o.ours, why), nullptr, nullptr};
  if (!s.ours) {
    std::fprintf(stderr, "bench: %s\n", why.c_str());
    return 1;
  }
  if (!o.count.empty()) return count(s.ours, o);
  if (!o.peer.empty() && !(s.peer = open_side(o.peer, why)))
    std::fprintf(stderr, "bench: without libtorch: %s\n", why.c_str());
  if (!o.floors.empty() && !(s.floors = open_side(o.floors, why)))
    std::fprintf(stderr, "bench: without floors: %s\n", why.c_str());
  for (Side* side : {s.ours, s.peer, s.floors}) {
    if (side && side->set_threads) side->set_threads(o.threads);
  }
  std::ofstream json;
  if (!o.json.empty()) json.open(o.json, std::ios::app);
  std::regex pattern(o.rows);
  std::printf("%-24s %2s %14s %14s %14s %8s %7s\n", "row", "t", "ours ns", "libtorch ns", "floor ns", "ratio",
              "spread");
  for (const bench::Row& row : s.ours->suite.rows) {
    if (!std::regex_match(row.name, pattern)) continue;
    nlohmann::json j = settled(s, row, o);
    std::printf("%-24s %2d %14s %14s %14s %8s %7s %s\n", row.name.c_str(), o.threads,
                cell(j["ours_ns"], "%.1f").c_str(), cell(j["peer_ns"], "%.1f").c_str(),
                cell(j["floor_ns"], "%.1f").c_str(), cell(j["ratio"], "%.3f").c_str(),
                cell(j["spread"], "%.2f").c_str(),
                j.contains("failed")  ? j["failed"].get<std::string>().c_str()
                : j.contains("noisy") ? "noisy"
                                      : "");
    std::fflush(stdout);
    if (json) json << j.dump() << std::endl;
  }
}
