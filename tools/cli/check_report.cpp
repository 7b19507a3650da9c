// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "../check/operator_check.h"
#include "check.h"
#include "table.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxFailures = 40, kMaxNext = 12;  // lines of the text; JSON has all
constexpr const char* kServedBy[] = {"native", "decomposed", "staged", "none"};

std::string operator_of(const std::string& id) { return id.substr(0, id.find(' ')); }

std::vector<std::pair<long, std::string>> sort_staged(const CheckResult& r) {
  std::vector<std::pair<long, std::string>> out;
  for (const auto& [op, calls] : r.staged) out.emplace_back(calls, op);
  std::sort(out.rbegin(), out.rend());
  return out;
}

std::map<std::string, std::map<std::string, long>> count_by_dtype(const CheckResult& r) {
  std::map<std::string, std::map<std::string, long>> out;
  for (const auto& [op, cells] : r.coverage) {
    for (const auto& [dtype, by] : cells) ++out[dtype][by];
  }
  return out;
}

std::string coverage_text(const CheckResult& r, bool table) {
  Table sums({"operators by dtype", "native", "decomposed", "staged", "none"});
  auto counted = count_by_dtype(r);
  for (ScalarType t : check::kDtypes) {
    const std::string dtype(dtype_name(t));
    if (!counted.count(dtype)) continue;
    std::vector<std::string> line = {dtype};
    for (const char* by : kServedBy) line.push_back(std::to_string(counted[dtype][by]));
    sums.add(line);
  }
  std::string out = sums.text();
  if (!table) return out;
  std::vector<std::string> head = {"operator"};
  for (ScalarType t : check::kDtypes) head.emplace_back(dtype_name(t));
  Table all(head);
  for (const auto& [op, cells] : r.coverage) {
    std::vector<std::string> line = {op};
    for (ScalarType t : check::kDtypes) {
      const auto cell = cells.find(std::string(dtype_name(t)));
      line.push_back(cell == cells.end() ? "-" : cell->second);
    }
    all.add(line);
  }
  return out + "\n" + all.text();
}

std::string next_text(const CheckResult& r) {
  std::string out;
  const auto staged = sort_staged(r);
  for (const DeviceVerdict& v : r.device_checks) {
    if (v.failed && v.level > 0)
      out += core::join("  for level ", v.level, ", ", v.name, ": ", v.reason, "\n");
  }
  if (!staged.empty()) {
    out += core::join("  kernels for what still goes through the host, ", staged.size(),
                      " operators, by calls:");
    for (std::size_t k = 0; k < std::min(staged.size(), kMaxNext); ++k) {
      out += core::join(k ? ", " : " ", staged[k].second, " ", staged[k].first);
    }
    out += staged.size() > kMaxNext ? " ...\n" : "\n";
  }
  return out.empty() ? "" : "\nTo implement next:\n" + out;
}

const char* word_of(const DeviceVerdict& v) {
  if (!v.run) return "not run";
  if (!v.failed) return "passed";
  return v.level == 0 ? "FAILED" : "not yet";
}

std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out +=
            static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no other control characters
    }
  }
  return out;
}

struct TestCase {
  std::string of, name, failure, skipped;
};

std::string xml_of(const TestCase& t) {
  const std::string head =
      core::join("    <testcase classname=\"", escaped(t.of), "\" name=\"", escaped(t.name), "\"");
  if (!t.failure.empty())
    return head + ">\n      <failure>" + escaped(t.failure) + "</failure>\n    </testcase>\n";
  if (!t.skipped.empty())
    return head + ">\n      <skipped message=\"" + escaped(t.skipped) + "\"/>\n    </testcase>\n";
  return head + "/>\n";
}

std::vector<TestCase> test_cases(const CheckResult& r) {
  std::map<std::string, TestCase> by_operator;
  auto case_of = [&](const std::string& name) -> TestCase& {
    const core::Op* op = core::find_op(name);
    TestCase& t = by_operator[name];
    t.of = op ? op->family : "process";
    t.name = name;
    return t;
  };
  for (const auto& [name, passed] : r.passed_of) case_of(name);
  for (const std::string& name : r.no_samples) case_of(name).skipped = "has no samples";
  std::vector<TestCase> out;
  for (const DeviceVerdict& v : r.device_checks) {
    const bool fails = v.failed && v.level <= r.level;
    out.push_back(
        {"device", v.name, fails ? v.reason : "", fails || (v.run && !v.failed) ? "" : v.reason});
  }
  for (const CheckFailure& f : r.failures) {
    if (f.property == "device") continue;
    TestCase& t = case_of(operator_of(f.id));
    t.failure += core::join(t.failure.empty() ? "" : " | ", f.id, ", ", f.property, ": ", f.reason);
  }
  for (const auto& [name, t] : by_operator) out.push_back(t);
  return out;
}

}  // namespace

std::string check_text(const CheckResult& r, bool table) {
  std::string out = core::join("plugin ", r.plugin, " ", r.version, ", device ", r.device, ", ",
                               r.kernels, " kernels: ", r.file, "\n");
  for (const std::string& q : r.quarantined) out += "left out: " + q + "\n";
  if (!r.device_checks.empty()) out += "\n";
  for (const DeviceVerdict& v : r.device_checks) {
    out += core::join(word_of(v), " ", v.name, v.reason.empty() ? "" : ": ", v.reason, "\n");
  }
  out += "\n" + coverage_text(r, table) + "\n";
  for (std::size_t k = 0; k < std::min(r.failures.size(), kMaxFailures); ++k) {
    const CheckFailure& f = r.failures[k];
    if (f.property != "device")
      out += core::join("FAILED ", f.id, ", ", f.property, ": ", f.reason, "\n");
  }
  if (r.failures.size() > kMaxFailures) {
    out += core::join("... and ", r.failures.size() - kMaxFailures, " more; --json FILE has all\n");
  }
  if (!r.no_samples.empty()) {
    out += core::join(
        r.no_samples.size(),
        " operators have no samples here and were not called; --cases gives them some\n");
  }
  out += next_text(r);
  out += core::join("\n", r.operators, " operators called, ", r.passed, " checks passed, ",
                    r.failures.size(), " failed, ", r.not_run, " not run\n");
  const std::string reached = r.reached < 0 ? "no level" : core::join("level ", r.reached);
  out += core::join(r.good() ? "PASSED" : "FAILED", ": level ", r.level, " was asked for, ",
                    reached, " is reached\n");
  return out;
}

std::string check_json(const CheckResult& r) {
  ordered_json failures = ordered_json::array(), device = ordered_json::array(),
               next = ordered_json::array();
  for (const CheckFailure& f : r.failures) {
    failures.push_back({{"operator", operator_of(f.id)},
                        {"id", f.id},
                        {"property", f.property},
                        {"reason", f.reason}});
  }
  for (const DeviceVerdict& v : r.device_checks) {
    device.push_back(
        {{"name", v.name}, {"level", v.level}, {"verdict", word_of(v)}, {"reason", v.reason}});
  }
  for (const auto& [calls, op] : sort_staged(r))
    next.push_back({{"op", op}, {"staged_calls", calls}});
  const ordered_json out = {
      {"file", r.file},
      {"plugin", r.plugin},
      {"version", r.version},
      {"device", r.device},
      {"kernels", r.kernels},
      {"left_out", r.quarantined},
      {"passed", r.good()},
      {"level", {{"asked", r.level}, {"reached", r.reached}}},
      {"checks", {{"passed", r.passed}, {"failed", r.failures.size()}, {"not_run", r.not_run}}},
      {"passed_by_property", r.passed_properties},
      {"operators", {{"called", r.operators}, {"without_samples", r.no_samples}}},
      {"device_checks", device},
      {"failures", failures},
      {"next", next},
      {"totals", count_by_dtype(r)},
      {"coverage", r.coverage},
  };
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string check_junit(const CheckResult& r) {
  std::string cases;
  int failed = 0, skipped = 0;
  const std::vector<TestCase> all = test_cases(r);
  for (const TestCase& t : all) {
    failed += !t.failure.empty();
    skipped += t.failure.empty() && !t.skipped.empty();
    cases += xml_of(t);
  }
  const std::string counts =
      core::join("tests=\"", all.size(), "\" failures=\"", failed, "\" skipped=\"", skipped, "\"");
  return core::join("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ", counts,
                    ">\n  <testsuite name=\"", escaped(r.plugin), "\" ", counts, ">\n", cases,
                    "  </testsuite>\n</testsuites>\n");
}

}  // namespace tenon::command
