// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Measures our rows against libtorch's and against their lower bounds, in one process, alternating:
// A B A B. Each side is a shared object of its own, opened with RTLD_LOCAL.
#include <dlfcn.h>
#include <valgrind/callgrind.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "bench/measure.h"

namespace {

using bench::Json;
using bench::Loop;
using bench::Options;
using bench::Side;
using bench::Sides;

Side* open_side(const std::string& path, const char* who) {
  if (path.empty()) return nullptr;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto entry = handle ? reinterpret_cast<Side* (*)()>(dlsym(handle, "bench_side")) : nullptr;
  if (entry) return entry();
  std::fprintf(stderr, "bench: without %s: %s\n", who, dlerror());
  return nullptr;
}

// One library, one row, for callgrind and the malloc counter.
int count(Side* side, const Options& o) {
  for (auto& row : side->suite.rows) {
    if (row.name != o.count) continue;
    Loop loop = row.make();
    loop(20);
    auto symbol = [](const char* name) {
      return reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, name));
    };
    auto blocks = symbol("heap_allocations"), bytes = symbol("heap_bytes");
    long blocks_before = blocks ? blocks() : 0, bytes_before = bytes ? bytes() : 0;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    loop(o.calls);
    CALLGRIND_STOP_INSTRUMENTATION;
    long blocks_after = blocks ? blocks() : 0, bytes_after = bytes ? bytes() : 0;
    double each = static_cast<double>(o.calls) * row.per;
    Json j = {{"row", row.name}, {"operations", each}};
    if (blocks) j["blocks"] = static_cast<double>(blocks_after - blocks_before) / each;
    if (bytes) j["bytes"] = static_cast<double>(bytes_after - bytes_before) / each;
    std::printf("%s\n", j.dump().c_str());
    return 0;
  }
  std::fprintf(stderr, "bench: no row '%s'\n", o.count.c_str());
  return 2;
}

// What run.sh counted, by row: ours_instr, peer_blocks and so on.
std::map<std::string, Json> counts(const std::string& path) {
  std::map<std::string, Json> by;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    Json j = Json::parse(text);
    for (const char* what : {"instr", "blocks", "bytes"}) {
      by[j["row"]][j["who"].get<std::string>() + "_" + what] = j.value(what, Json());
    }
  }
  return by;
}

std::string today() {
  std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int measure(const Options& o) {
  bench::Neighbors neighbors(o.busy);
  Sides s{open_side(o.ours, "ours"), open_side(o.peer, "libtorch"),
          open_side(o.lower_bounds, "lower_bounds")};
  if (!s.ours) return 1;
  if (!o.count.empty()) return count(s.ours, o);
  auto rows = bench::rows(s, o.rows);
  const auto processes = bench::process_rows(o);
  if (rows.empty() && processes.empty()) {
    std::fprintf(stderr, "bench: no row matches '%s'\n", o.rows.c_str());
    return 2;
  }
  if (o.list) {
    for (auto* row : rows) std::printf("%s %s\n", row->group.c_str(), row->name.c_str());
    for (auto& name : processes) std::printf("process %s\n", name.c_str());
    return 0;
  }
  for (Side* side : {s.ours, s.peer, s.lower_bounds}) {
    if (side) side->set_threads(o.threads);
  }
  std::ofstream json;
  if (!o.json.empty()) json.open(o.json);
  if (!o.json.empty() && !json) {
    std::fprintf(stderr, "bench: cannot write %s\n", o.json.c_str());
    return 1;
  }
  auto counted = counts(o.counts);
  std::printf("%s\n", bench::table_head(o).c_str());
  auto report = [&](Json j) {
    if (auto at = counted.find(j["row"]); at != counted.end()) j.update(at->second);
    j.update(Json{{"date", today()}, {"cpu", bench::processor()}, {"commit", o.commit}});
    std::printf("%s\n", bench::table_line(j).c_str());
    std::fflush(stdout);
    if (json.is_open()) json << j.dump() << std::endl;
  };
  // First: a child's peak of resident bytes counts from that of the process that started it.
  for (auto& name : processes) report(bench::measure_process(name, o));
  for (const bench::Row* row : rows) {
    report(o.busy ? measure_busy(s, *row, o, neighbors) : measure(s, *row, o));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Times rows against libtorch and their lower bounds; ratios are ours / libtorch's, lower is "
      "better."};
  app.add_option("--rows", o.rows, "regular expression over row names");
  app.add_option("--threads", o.threads)->check(CLI::PositiveNumber);
  app.add_option("--pairs", o.pairs, "repetitions of each side")->check(CLI::PositiveNumber);
  app.add_option("--json", o.json, "file to write one object per row to");
  app.add_option("--busy", o.busy, "time rows alone and beside N processes that spin")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--markdown", o.markdown, "print the table of these files of --json instead");
  app.add_flag("--list", o.list, "print group and name of the rows instead");
  app.add_option("--ours", o.ours);
  app.add_option("--peer", o.peer);
  app.add_option("--lower-bounds", o.lower_bounds);
  app.add_option("--process-ours", o.process_ours, "NAME=PROGRAM, a row of a whole process")
      ->allow_extra_args(false);
  app.add_option("--process-peer", o.process_peer)->allow_extra_args(false);
  app.add_option("--commit", o.commit, "what is measured, for --json");
  app.add_option("--counts", o.counts, "file of counts to merge into the objects of --json");
  app.add_option("--count", o.count,
                 "run one row of --ours untimed, for callgrind or the malloc counter");
  app.add_option("--calls", o.calls)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return o.markdown.empty() ? measure(o) : bench::markdown(o.markdown);
  } catch (const std::exception& e) {
    std::string what = e.what();
    std::fprintf(stderr, "bench: %s\n", what.substr(0, what.find('\n')).c_str());
    return 1;
  }
}
