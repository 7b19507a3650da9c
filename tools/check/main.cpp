// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tenon_check: walks rows x samples x dtypes x memory layouts on a device and compares with the reference.
#include <cstdio>
#include <iostream>
#include <map>
#include <regex>

#include <CLI/CLI.hpp>

#include "../oracle/workers.h"
#include "cell.h"
#include "samples.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"

namespace {

using namespace tenon::check;
using tenon::ScalarType;
using tenon::oracle::Line;
using tenon::oracle::Send;
namespace core = tenon::core;

struct Options {
  std::string device = "cpu", reference = "ref", op = ".*", cases = "tests/oracle";
  int processes = 2, seconds = 60;
  std::size_t samples = 1000;  // more than any row has
  int shard = 0, shards = 1;
  bool no_gradients = false, list = false, table = false;
};

constexpr ScalarType kDtypes[] = {tenon::kDouble, tenon::kFloat, tenon::kHalf, tenon::kBFloat16, tenon::kInt64,
                                  tenon::kInt32,  tenon::kInt16, tenon::kInt8, tenon::kUInt8,    tenon::kBool};

// -1 as the slot when the device is not there.
Place find_place(const std::string& device) {
  try {
    tenon::Device d(device);
    int slot = core::device_slot(d.type());
    if (slot >= 0 && core::ensure_device(slot)) return {slot, std::max<int>(0, d.index())};
  } catch (const tenon::Error&) {
  }
  return {-1, 0};
}

// One thing to run: a cell, or the gradients of a sample where dtype is Undefined.
struct Item {
  std::size_t spec;
  ScalarType dtype;
  Memory memory;
};

// float32 and float64 in every layout, the others row-major and in one more, another one each.
std::vector<Item> items_of(const core::Op& op, const std::vector<Spec>& specs, std::size_t cases, bool gradients) {
  std::vector<Item> out;
  core::DtypeMask mask = core::parse_dtype_mask(op.dtypes);
  for (std::size_t s = 0; s < specs.size(); ++s) {
    std::size_t turn = s;
    for (ScalarType t : kDtypes) {
      bool fits = mask.has(t) && (isFloatingType(specs[s].main) || !isFloatingType(t));
      if (specs[s].main == tenon::kBool) fits = t == tenon::kBool;
      if (!fits) continue;
      bool all = s < cases && (t == tenon::kDouble || t == tenon::kFloat || t == specs[s].main);
      out.push_back({s, t, Memory::Contiguous});
      for (Memory m : kMemories) {
        if (all && m != Memory::Contiguous) out.push_back({s, t, m});
      }
      if (!all) out.push_back({s, t, kMemories[1 + turn++ % 4]});
    }
    if (!gradients || s >= cases) continue;
    out.push_back({s, ScalarType::Undefined, Memory::Contiguous});
    out.push_back({s, ScalarType::Undefined, Memory::Transposed});
  }
  return out;
}

std::string one_line(std::string s) {
  for (char& c : s) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return s;
}

void run_op(const core::Op& op, int first, const Options& o, const CaseLibrary& library, const Send& send) {
  Place place = find_place(o.device), reference = find_place(o.reference);
  TENON_CHECK(place.slot >= 0, ValueError, "device ", o.device, " is not there");
  TENON_CHECK(reference.slot >= 0, ValueError, "reference device ", o.reference, " is not there");
  std::vector<Spec> specs = library.specs(op, o.samples);
  std::size_t cases = specs.size();
  for (Spec& s : generated(op)) specs.push_back(std::move(s));
  std::vector<Item> items = items_of(op, specs, cases, !o.no_gradients && place.slot == 0);
  if (items.empty()) send({"none", std::string(op.name) + "\tno samples"});
  for (int i = first; i < static_cast<int>(items.size()); ++i) {
    const Item& item = items[static_cast<std::size_t>(i)];
    const Spec& spec = specs[item.spec];
    bool gradient = item.dtype == ScalarType::Undefined;
    std::string what = gradient ? "gradient" : std::string(dtype_name(item.dtype));
    std::string id = core::join(op.name, " ", what, " ", name(item.memory), " (", spec.origin, ")");
    send({"start", std::to_string(i) + " " + id});
    Outcome r{Verdict::Failed, ""};
    try {
      r = gradient ? run_gradients(op, spec, item.memory)
                   : run_cell({op, spec, item.dtype, item.memory, place}, reference);
    } catch (const std::exception& e) {
      r.reason = core::join("threw: ", e.what());
    }
    const char* kind = r.verdict == Verdict::Passed ? "passed" : r.verdict == Verdict::Failed ? "FAILED" : "not run";
    send({kind, id + "\t" + one_line(r.reason)});
  }
}

struct Counts {
  int passed = 0, failed = 0, not_run = 0;
};

class Report {
 public:
  explicit Report(const Options& o) : options_(o) {}
  void add(const std::string& kind, const std::string& id, const std::string& reason) {
    std::string op = id.substr(0, id.find(' '));
    if (kind == "none") {
      no_samples_.push_back(op);
      return;
    }
    Counts& c = ops_[op];
    ++(kind == "passed" ? c.passed : kind == "FAILED" ? c.failed : c.not_run);
    if (kind == "FAILED" || (options_.list && kind == "not run")) {
      std::printf("%s %s: %s\n", kind.c_str(), id.c_str(), reason.c_str());
      std::fflush(stdout);
    }
  }
  int finish() const {
    std::map<std::string, Counts> families;
    Counts all;
    for (const auto& [op, c] : ops_) {
      for (Counts* sum : {&families[core::find_op(op)->family], &all}) {
        sum->passed += c.passed;
        sum->failed += c.failed;
        sum->not_run += c.not_run;
      }
      if (options_.table) row(op, c);
    }
    std::printf("\n%-40s %8s %8s %8s\n", "family", "passed", "failed", "not run");
    for (const auto& [family, c] : families) row(family, c);
    for (const std::string& op : no_samples_) std::printf("no samples: %s\n", op.c_str());
    std::printf("%zu ops without samples\n%d passed, %d failed, %d not run\n", no_samples_.size(), all.passed,
                all.failed, all.not_run);
    return all.failed || !all.passed ? 1 : 0;
  }

 private:
  static void row(const std::string& name, const Counts& c) {
    std::printf("%-40s %8d %8d %8d\n", name.c_str(), c.passed, c.failed, c.not_run);
  }
  const Options& options_;
  std::map<std::string, Counts> ops_;
  std::vector<std::string> no_samples_;
};

int run(const Options& o) {
  std::regex wanted(o.op);
  std::vector<const core::Op*> ops;
  for (int i = 0; i < core::op_count(); ++i) {
    core::Op& op = core::op_at(i);
    if (i % o.shards == o.shard && op.row_call.load() && std::regex_search(op.name, wanted)) ops.push_back(&op);
  }
  CaseLibrary library(o.cases);
  Report report(o);
  tenon::oracle::Work work;
  work.files = static_cast<int>(ops.size());
  work.run = [&](int f, int first, const Send& send) {
    const core::Op& op = *ops[static_cast<std::size_t>(f)];
    try {
      run_op(op, first, o, library, send);
    } catch (const std::exception& e) {
      send({"FAILED", std::string(op.name) + " samples\t" + one_line(e.what())});
    }
  };
  work.receive = [&](const Line& l) {
    std::size_t tab = l.text.find('\t');
    report.add(l.kind, l.text.substr(0, tab), l.text.substr(tab + 1));
  };
  work.died = [&](const std::string& id, int signal) {
    report.add("FAILED", id, "the process died of signal " + std::to_string(signal));
  };
  tenon::oracle::run_all(work, o.processes, o.seconds);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Checks every row on a device: values against the reference, gradients, inputs, bits, stray writes."};
  app.add_option("--device", o.device, "the device to check");
  app.add_option("--reference", o.reference, "the device that is right");
  app.add_option("--op", o.op, "only rows in whose name this regular expression is found");
  app.add_option("--cases", o.cases, "folder of oracle cases that give arguments");
  app.add_option("--samples", o.samples, "cases to take for one row");
  app.add_option("--shard", o.shard, "run this share of the rows, counted from 0")->check(CLI::NonNegativeNumber);
  app.add_option("--shards", o.shards, "shares that the rows are cut into")->check(CLI::PositiveNumber);
  app.add_option("-j", o.processes, "processes; 0 runs in this one");
  app.add_option("--seconds", o.seconds, "time for one cell");
  app.add_flag("--no-gradients", o.no_gradients, "leave gradcheck out");
  app.add_flag("--list", o.list, "say what is not run, and why");
  app.add_flag("--table", o.table, "a line for each row");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::cerr << "tenon_check: " << e.what() << "\n";
    return 2;
  }
}
