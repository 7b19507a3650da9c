// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tenon_oracle DIR: replays the cases of a folder through the op table and counts what agrees.
#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <CLI/CLI.hpp>

#include "replay.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "workers.h"

namespace {

namespace fs = std::filesystem;
using namespace tenon::oracle;

struct Waiver {
  std::string pattern, reason;
};

// Lines of "pattern,reason"; the first line may be that header. A pattern may hold * and ?.
void read_waivers(const std::string& path, std::vector<Waiver>& out) {
  std::ifstream in(path);
  TENON_CHECK(in, ValueError, "cannot open ", path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#' || line == "pattern,reason") continue;
    std::size_t comma = line.find(',');
    TENON_CHECK(comma != std::string::npos, ValueError, path, ": no reason in the line '", line,
                "'");
    out.push_back({line.substr(0, comma), line.substr(comma + 1)});
  }
}

std::string trim(const std::string& s) {
  const std::size_t first = s.find_first_not_of(" \t`"), last = s.find_last_not_of(" \t`");
  return first == std::string::npos ? "" : s.substr(first, last - first + 1);
}

std::vector<std::string> split(const std::string& s, char at) {
  std::vector<std::string> out;
  std::istringstream in(s);
  for (std::string part; std::getline(in, part, at);) out.push_back(trim(part));
  return out;
}

// Of the table "| op, op | when | reason |" in a page of markdown.
std::set<std::string> read_staged(const std::string& path) {
  std::set<std::string> out;
  std::ifstream in(path);
  TENON_CHECK(in, ValueError, "cannot open ", path);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("| op |", 0) == 0 || line.rfind("|-", 0) == 0 || line[0] != '|') continue;
    const std::vector<std::string> cells = split(line.substr(1), '|');
    TENON_CHECK(cells.size() == 3 && !cells[1].empty() && !cells[2].empty(), ValueError, path,
                ": the line '", line, "' is not '| op, op | when | reason |'");
    for (const std::string& op : split(cells[0], ',')) {
      TENON_CHECK(!op.empty() && out.insert(op).second, ValueError, path, ": '", op,
                  "' in the line '", line, "' is empty or listed twice");
    }
  }
  return out;
}

const Waiver* find_waiver(const std::vector<Waiver>& waivers, const std::string& id) {
  for (const Waiver& w : waivers) {
    if (fnmatch(w.pattern.c_str(), id.c_str(), 0) == 0) return &w;
  }
  return nullptr;
}

std::vector<std::string> case_files(const std::string& dir) {
  std::vector<std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(dir)) {
    if (e.path().extension() == ".json") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

tenon::core::DeviceId place_of(const std::string& device) {
  tenon::Device d(device);
  return {tenon::core::usable_slot(d.type()), std::max<int>(0, d.index())};
}

std::string one_line(std::string s) {
  for (char& c : s) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return s;
}

struct Options {
  std::string dir, device = "cpu", filter = ".*", staged;
  std::vector<std::string> waivers;
  bool list = false;
  int processes = 1, seconds = 60, shard = 0, shards = 1, every = 1;
};

// The calls that fallbacks served since the last time.
void send_fallbacks(const Send& send) {
  for (const tenon::core::FallbackCount& c : tenon::core::fallback_counts())
    send({tenon::core::toString(c.by), c.op + "\t" + std::to_string(c.calls)});
  tenon::core::reset_fallback_counts();
}

// Replays one file from an item on, sending one line per case: the verdict, the id, the reason.
void run_file(const std::string& path, int first, const Options& o,
              const std::vector<Waiver>& waivers, const std::regex& filter, const Send& send) {
  std::string failure;
  try {
    CaseFile file(path);
    if (!file.cases().is_array()) return;
    const tenon::core::DeviceId place = place_of(o.device);
    for (int i = first; i < static_cast<int>(file.cases().size()); ++i) {
      if (i % o.every != 0) continue;
      const json& c = file.cases()[static_cast<std::size_t>(i)];
      std::string id = c.is_object() && c.contains("id") ? c.at("id").get<std::string>() : "?";
      if (!std::regex_search(id, filter)) continue;
      send({"start", std::to_string(i) + " " + id});
      const Waiver* w = find_waiver(waivers, id);
      Outcome out = w ? Outcome{Verdict::Skipped, "waived: " + w->reason} : replay(file, c, place);
      const char* kind = out.verdict == Verdict::Passed   ? "passed"
                         : out.verdict == Verdict::Failed ? "FAILED"
                                                          : "skipped";
      send({kind, id + "\t" + one_line(out.reason)});
    }
  } catch (const std::exception& e) {
    failure = e.what();
  }
  send_fallbacks(send);
  if (!failure.empty())
    send({"FAILED", fs::path(path).filename().string() + "\t" + one_line(failure)});
}

class Report {
 public:
  explicit Report(bool list) : list_(list) {}
  void add(const std::string& kind, const std::string& id, const std::string& reason) {
    ++counts_[kind];
    bool waived = reason.rfind("waived", 0) == 0;
    if (kind == "FAILED" || waived || (list_ && kind == "skipped")) {
      std::printf("%s %s: %s\n", kind.c_str(), id.c_str(), reason.c_str());
      std::fflush(stdout);
    }
  }
  void add_fallback(const std::string& fallback, const std::string& op, const std::string& calls) {
    fallbacks_[fallback].insert(op);
    calls_[fallback] += std::stoull(calls);
  }
  // What is staged and not listed with a reason, or listed and not staged.
  void check_staged(const std::string& path) {
    const std::set<std::string> listed = read_staged(path);
    const auto found = fallbacks_.find("staged");
    const std::set<std::string> staged =
        found == fallbacks_.end() ? std::set<std::string>() : found->second;
    for (const std::string& op : staged) {
      if (!listed.count(op))
        add("FAILED", op, "goes through the host, which " + path + " does not list");
    }
    for (const std::string& op : listed) {
      if (!staged.count(op))
        add("FAILED", op, path + " lists it, but it does not go through the host");
    }
  }
  int failed() const { return get("FAILED"); }
  void finish() const {
    for (const auto& [fallback, ops] : fallbacks_) {
      std::printf("%llu calls of %zu ops by %s\n", calls_.at(fallback), ops.size(),
                  fallback.c_str());
    }
    std::printf("%d passed, %d failed, %d skipped\n", get("passed"), failed(), get("skipped"));
  }

 private:
  int get(const char* kind) const {
    auto it = counts_.find(kind);
    return it == counts_.end() ? 0 : it->second;
  }
  bool list_;
  std::map<std::string, int> counts_;
  std::map<std::string, std::set<std::string>> fallbacks_;  // by name of the fallback
  std::map<std::string, unsigned long long> calls_;
};

int run(const Options& o) {
  std::vector<std::string> files = case_files(o.dir);
  std::vector<std::string> mine;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (static_cast<int>(i) % o.shards == o.shard) mine.push_back(files[i]);
  }
  std::vector<Waiver> waivers;
  for (const std::string& path : o.waivers) read_waivers(path, waivers);
  std::regex filter(o.filter);
  Report report(o.list);
  Work work;
  work.files = static_cast<int>(mine.size());
  work.run = [&](int f, int first, const Send& send) {
    run_file(mine[static_cast<std::size_t>(f)], first, o, waivers, filter, send);
  };
  work.receive = [&](const Line& l) {
    std::size_t tab = l.text.find('\t');
    const std::string first = l.text.substr(0, tab),
                      rest = tab == std::string::npos ? "" : l.text.substr(tab + 1);
    if (l.kind == "staged" || l.kind == "decomposition")
      return report.add_fallback(l.kind, first, rest);
    report.add(l.kind, first, rest);
  };
  work.died = [&](const std::string& id, int signal) {
    report.add("FAILED", id, "the process died of signal " + std::to_string(signal));
    return AfterDeath::NextItem;
  };
  run_all(work, o.processes, o.seconds);
  if (!o.staged.empty()) report.check_staged(o.staged);
  report.finish();
  return report.failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Replays the cases of a folder: operators through the op table (values, gradients, errors, "
      "in-place and out "
      "forms), modules, optimizers and schedules."};
  app.add_option("dir", o.dir, "folder with NAME.json and NAME.safetensors; subfolders too")
      ->required();
  app.add_option("--device", o.device, "the device of the tensors");
  app.add_flag("--list", o.list, "print which cases are skipped, and why");
  app.add_option("--filter", o.filter, "only ids in which this regular expression is found");
  app.add_option("--waivers", o.waivers,
                 "file of 'pattern,reason' lines: cases to skip; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--staged", o.staged,
                 "page with a table '| op | when | reason |': exactly these operators are staged "
                 "through the host");
  app.add_option("-j", o.processes, "processes; 0 runs in this one");
  app.add_option("--seconds", o.seconds, "time for one case");
  app.add_option("--shard", o.shard, "the share of the files to run, counted from 0");
  app.add_option("--shards", o.shards, "number of shares");
  app.add_option("--every", o.every, "of each file the first case, and every so many after it")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::cerr << "tenon_oracle: " << e.what() << "\n";
    return 2;
  }
}
