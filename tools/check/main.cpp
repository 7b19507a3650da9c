// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// tenon_check: walks operators x samples x dtypes x memory layouts on a device and compares with
// the reference.
#include <iostream>
#include <regex>
#include <vector>

#include <CLI/CLI.hpp>

#include "../oracle/workers.h"
#include "operator_check.h"
#include "report.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace {

using namespace tenon::check;
using tenon::oracle::Line;
using tenon::oracle::Send;
namespace core = tenon::core;

struct Options {
  std::string device = "cpu", reference = "ref", op = ".*", cases = "tests/oracle",
              calls = "tests/check/calls", few = "tests/check/few.txt";
  int processes = 2, seconds = 60, min_properties = 12;
  std::size_t samples = 1000;  // more than any operator has
  int shard = 0, shards = 1;
  bool no_gradients = false, deterministic = false, list = false, table = false,
       write_calls = false;
};

// Calls for operators that have none but the cases, as a file that CallFiles reads: up to two per
// operator that work.
int write_calls(const CaseLibrary& library, const CallFiles& calls,
                const std::vector<const core::Op*>& ops) {
  std::cout << "# Written by tenon_check --write-calls: operators that only the oracle's cases "
               "have calls for.\n";
  for (const core::Op* op : ops) {
    if (!calls.specs(*op).empty() || !generated(*op).empty()) continue;
    int written = 0;
    for (const std::string& text : library.texts(*op)) {
      bool fits = false;
      try {
        fits = accepts_on_host(*op, from_text(*op, text));
      } catch (const std::exception&) {  // what the text leaves out matters
      }
      if (!fits) continue;
      std::cout << (written ? "" : core::join("\n", op->name, "\n")) << "  " << text << "\n";
      if (++written == 2) break;
    }
    if (!written) std::cerr << "no call for " << op->name << "\n";
  }
  return 0;
}

int run(const Options& o) {
  std::regex wanted(o.op);
  std::vector<const core::Op*> ops;
  int by_cases = 0;
  for (int i = 0; i < core::op_count(); ++i) {
    core::Op& op = core::op_at(i);
    if (i % o.shards != o.shard || !is_callable(op) || !std::regex_search(op.name, wanted))
      continue;
    if (judged_by_cases(op))
      ++by_cases;
    else
      ops.push_back(&op);
  }
  if (by_cases > 0) {
    std::printf(
        "%d operators of factorizations, transforms and complex parts are left to stored "
        "cases\n",
        by_cases);
  }
  if (o.deterministic) core::set_deterministic(true);
  CaseLibrary library(o.cases);
  CallFiles calls(o.calls);
  for (const std::string& name : calls.unknown_operators())
    throw tenon::ValueError(o.calls + ": there is no operator " + name);
  if (o.write_calls) return write_calls(library, calls, ops);
  // Elsewhere, and without gradients, fewer properties are tried.
  const bool all = o.device == "cpu" && !o.no_gradients;
  const std::map<std::string, std::string> reasons = read_reasons(o.few);
  Report report(o.list, o.table, all ? o.min_properties : 0,
                all ? reasons : std::map<std::string, std::string>());
  tenon::oracle::Work work;
  work.files = static_cast<int>(ops.size());
  work.run = [&](int f, int first, const Send& send) {
    const core::Op& op = *ops[static_cast<std::size_t>(f)];
    try {
      OperatorCheck check(op, {o.device, o.reference, o.samples, !o.no_gradients, false}, library,
                          calls);
      if (!check.has_samples() && !reasons.count(op.name)) send({"none", op.name});
      check.run(first, send);
    } catch (const std::exception& e) {
      Findings found;
      found.failed(Property::Values, core::join("samples: ", e.what()));
      send({"found", encode(op.name, found)});
    }
  };
  work.receive = [&](const Line& l) {
    l.kind == "none" ? report.no_samples(l.text) : report.add(l.text);
  };
  work.died = [&](const std::string& id, int signal) {
    report.died(id, signal);
    return tenon::oracle::AfterDeath::NextItem;
  };
  tenon::oracle::run_all(work, o.processes, o.seconds);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{
      "Checks every operator on a device: values against the reference, and all that property.h "
      "lists."};
  app.add_option("--device", o.device, "the device to check");
  app.add_option("--reference", o.reference, "the device to compare with");
  app.add_option("--op", o.op, "only operators in whose name this regular expression is found");
  app.add_option("--cases", o.cases, "folder of oracle cases that give arguments");
  app.add_option("--calls", o.calls, "folder of calls to try");
  app.add_option("--few", o.few, "reasons of operators with few properties");
  app.add_option("--min-properties", o.min_properties,
                 "minimum of properties for each other operator");
  app.add_option("--samples", o.samples, "cases to take for one operator");
  app.add_option("--shard", o.shard, "the share of the operators to run, counted from 0")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--shards", o.shards, "number of shares")->check(CLI::PositiveNumber);
  app.add_option("-j", o.processes, "processes; 0 runs in this one");
  app.add_option("--seconds", o.seconds, "time for one cell");
  app.add_flag("--no-gradients", o.no_gradients, "leave gradcheck out");
  app.add_flag("--deterministic", o.deterministic,
               "in deterministic mode: elsewhere a device may add in any order, and write one of "
               "several values to one place");
  app.add_flag("--list", o.list, "print why a check was not run");
  app.add_flag("--table", o.table, "a line for each operator");
  app.add_flag("--write-calls", o.write_calls,
               "print calls as text for operators that have none in --calls; check nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(o);
  } catch (const std::exception& e) {
    std::cerr << "tenon_check: " << e.what() << "\n";
    return 2;
  }
}
