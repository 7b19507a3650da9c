// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Times rows of several sides, alternating between them.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/harness.h"

namespace bench {

using Json = nlohmann::ordered_json;

struct Options {
  std::string rows = ".*", json, counts, count, ours, peer, lower_bounds, commit;
  std::vector<std::string> markdown, process_ours, process_peer;  // NAME=PROGRAM
  int threads = 1, pairs = 9, busy = 0;
  long calls = 200;
  bool list = false;
};

struct Sides {
  Side *ours = nullptr, *peer = nullptr, *lower_bounds = nullptr;
};

// Null if there are no values; the spread is the interquartile range / median.
Json median(const std::vector<double>& v);
Json spread(const std::vector<double>& v);

// Ours, then those that only the lower bounds have: a limit of the machine, or a row that ours
// lacks.
std::vector<const Row*> rows(const Sides& s, const std::string& pattern);

// Tries until the spread is at most 0.15, three times at most; then the best try is marked noisy.
Json best_of_three(const std::function<Json()>& once);

// Pairs of A B.
Json measure(const Sides& s, const Row& row, const Options& o);

// The names of the wanted rows of whole processes, and one of them: its time, and in ours_bytes and
// peer_bytes what was resident: after the add of startup, at the peak of compile_all.
std::vector<std::string> process_rows(const Options& o);
Json measure_process(const std::string& name, const Options& o);

// Processes that spin until paused and compete for a core. Started before any thread is.
class Neighbors {
 public:
  explicit Neighbors(int count);
  ~Neighbors();
  Neighbors(const Neighbors&) = delete;
  Neighbors& operator=(const Neighbors&) = delete;
  void run() const;
  void pause() const;

 private:
  std::vector<int> pids;
};

// Each side alone and with busy neighbors, alternating.
Json measure_busy(const Sides& s, const Row& row, const Options& o, const Neighbors& n);

std::string table_head(const Options& o);
std::string table_line(const Json& j);
// The markdown table of files that --json wrote.
int markdown(const std::vector<std::string>& files);
std::string processor();

}  // namespace bench
