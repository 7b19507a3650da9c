// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The conformance runner of tools/check against the file of a plugin.
#include "check.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "../check/device.h"
#include "../check/operator_check.h"
#include "../check/report.h"
#include "child.h"
#include "commands.h"
#include "tenon/core/dispatch.h"
#include "tenon/plugins/plugins.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

namespace fs = std::filesystem;
using check::Findings;
using check::Verdict;
using core::DeviceId;
using nlohmann::json;
using oracle::Line;

std::string installed_calls() {
  std::error_code ec;
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  return (program.parent_path().parent_path() / "share/tenon/check").string();
}

// Opens the plugin in this process; only child processes call it.
plugins::Info open_plugin(const std::string& file) {
  plugins::Info info = plugins::load(file);
  TENON_CHECK(info.state == plugins::State::Opened, ValueError, file, ": ",
              plugins::to_string(info.state), ": ", info.reason);
  return info;
}

void read_description(const CheckOptions& o, CheckResult& r) {
  const ChildResult child = run_in_child(
      [&](const Send& send) {
        const plugins::Info info = open_plugin(o.file);
        TENON_CHECK(info.device != "any", ValueError,
                    "it provides operators, dtypes or layouts for tensors on other devices, and no "
                    "device to check");
        const DeviceId place = check::find_place(info.device);
        TENON_CHECK(!place.is_none(), ValueError, "its device '", info.device, "' cannot be used");
        send(json{{"name", info.name},
                  {"device", info.device},
                  {"version", info.version},
                  {"kernels", info.kernels},
                  {"quarantined", info.quarantined}}
                 .dump());
      },
      o.seconds);
  TENON_CHECK(child.failure.empty(), ValueError, o.file, ": cannot be checked: ", child.failure,
              ". `tenon inspect` shows what the file declares");
  const json said = json::parse(child.text);
  r.plugin = said.at("name");
  r.device = said.at("device");
  r.version = said.at("version");
  r.kernels = said.at("kernels");
  r.quarantined = said.at("quarantined").get<std::vector<std::string>>();
}

// "float32=native int64=staged": what serves the operator in each dtype that it claims.
std::string coverage_of(const core::Op& op, core::DeviceSlot slot) {
  std::string out;
  const core::DtypeMask claimed = core::parse_dtype_mask(op.dtypes);
  for (ScalarType t : check::kDtypes) {
    if (!claimed.has(t)) continue;
    std::string by = "none";
    for (const core::Candidate& c : core::explain(op, slot, t)) {
      if (!c.serves) continue;
      by = c.by == core::ServedBy::Decomposition ? "decomposed" : core::toString(c.by);
      break;
    }
    out += core::join(out.empty() ? "" : " ", dtype_name(t), "=", by);
  }
  return out;
}

class Runner {
 public:
  Runner(const CheckOptions& o, CheckResult& r)
      : o_(o), r_(r), calls_(o.calls.empty() ? installed_calls() : o.calls), library_(o.cases) {
    options_.reference = o.reference;
    options_.device = r.device;
    options_.gradients = false;  // the formulas are core's
    options_.tested_device = true;
    const std::regex wanted(o.op);
    for (const check::DeviceCheck& c : check::device_checks()) {
      if (std::regex_search(c.name, wanted)) checks_.push_back(&c);
    }
    for (int i = 0; i < core::op_count(); ++i) {
      const core::Op& op = core::op_at(i);
      if (check::is_callable(op) && std::regex_search(op.name, wanted)) ops_.push_back(&op);
    }
    TENON_CHECK(!ops_.empty() || !checks_.empty(), ValueError,
                "no operator and no check has a name with '", o.op, "'");
  }
  void run();

 private:
  void run_child(int file, int first, const oracle::Send& send);
  void check_device(const check::DeviceCheck& c, DeviceId place, const oracle::Send& send);
  void check_operator(const core::Op& op, core::DeviceSlot slot, int first,
                      const oracle::Send& send);
  void receive(const Line& l);
  oracle::AfterDeath died(const std::string& id, int signal);
  oracle::AfterDeath after_death(const std::string& id, int signal, std::string& how);
  void judge_levels();

  const CheckOptions& o_;
  CheckResult& r_;
  check::CallFiles calls_;
  check::CaseLibrary library_;
  check::OperatorCheckOptions options_;
  std::vector<const check::DeviceCheck*> checks_;
  std::vector<const core::Op*> ops_;
  std::map<std::string, int> deaths_;  // by operator
  int hangs_ = 0;
};

void Runner::check_device(const check::DeviceCheck& c, DeviceId place, const oracle::Send& send) {
  send({"start", std::string("0 ") + c.name});
  std::string wrong;
  try {
    const bool host = place.is_host() && c.level == 0;
    wrong = host ? "?the device is the host, whose memory is core's own" : c.run(place);
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  for (char& ch : wrong) {
    if (ch == '\n' || ch == '\t') ch = ' ';
  }
  send({"device", std::string(c.name) + " " + wrong});
}

void Runner::check_operator(const core::Op& op, core::DeviceSlot slot, int first,
                            const oracle::Send& send) {
  if (first == 0 && op.kind == core::OpKind::Kernel)
    send({"cover", std::string(op.name) + " " + coverage_of(op, slot)});
  check::OperatorCheck check(op, options_, library_, calls_);
  if (first == 0) send({check.has_samples() ? "operator" : "none", op.name});
  check.run(first, send);
}

void Runner::run_child(int file, int first, const oracle::Send& send) {
  const auto f = static_cast<std::size_t>(file);
  const bool on_device = f < checks_.size();
  const std::string name = on_device ? checks_[f]->name : ops_[f - checks_.size()]->name;
  try {
    core::set_fallback(core::Fallback::Allow);
    open_plugin(o_.file);
    const DeviceId place = check::find_place(r_.device);
    check::watch_device(place.slot);
    core::reset_fallback_counts();
    on_device ? check_device(*checks_[f], place, send)
              : check_operator(*ops_[f - checks_.size()], place.slot, first, send);
  } catch (const std::exception& e) {
    Findings found;
    found.failed(check::Property::Values, core::join("samples: ", e.what()));
    send({"found", check::encode(name, found)});
  }
  for (const core::FallbackCount& c : core::fallback_counts()) {
    if (c.by == core::ServedBy::Staged) send({"staged", c.op + " " + std::to_string(c.calls)});
  }
}

void Runner::receive(const Line& l) {
  const std::size_t space = l.text.find(' ');
  const std::string name = l.text.substr(0, space),
                    rest = space == std::string::npos ? "" : l.text.substr(space + 1);
  if (l.kind == "none") {
    r_.no_samples.push_back(name);
  } else if (l.kind == "operator") {
    ++r_.operators;
    r_.passed_of[name] += 0;
    if (isatty(STDERR_FILENO))
      std::fprintf(stderr, "\r\033[K%d of %zu: %s", r_.operators, ops_.size(), name.c_str());
  } else if (l.kind == "staged") {
    r_.staged[name] += std::stol(rest);
  } else if (l.kind == "device") {
    for (DeviceVerdict& v : r_.device_checks) {
      if (v.name != name) continue;
      v.run = rest.empty() || rest[0] != '?';
      v.failed = v.run && !rest.empty();
      v.reason = v.run ? rest : rest.substr(1);
    }
  } else if (l.kind == "cover") {
    std::istringstream cells(rest);
    for (std::string cell; cells >> cell;) {
      r_.coverage[name][cell.substr(0, cell.find('='))] = cell.substr(cell.find('=') + 1);
    }
  } else if (l.kind == "found") {
    std::string id;
    for (const check::Finding& f : check::decode(l.text, id)) {
      r_.passed += f.verdict == Verdict::Passed;
      r_.not_run += f.verdict == Verdict::NotRun;
      if (f.verdict == Verdict::Passed) {
        ++r_.passed_of[id.substr(0, id.find(' '))];
        ++r_.passed_properties[check::kPropertyNames[static_cast<int>(f.property)]];
      }
      if (f.verdict == Verdict::Failed) {
        r_.failures.push_back({id, check::kPropertyNames[static_cast<int>(f.property)], f.reason});
      }
    }
  }
}

// Stops calling a device that kills every call: thousands of deadlines would be waited for.
oracle::AfterDeath Runner::after_death(const std::string& id, int signal, std::string& how) {
  constexpr int kMaxDeaths = 3, kMaxHangs = 10;  // of an operator, of all
  hangs_ += signal == SIGALRM;
  if (hangs_ == kMaxHangs) {
    r_.stopped = core::join("stopped after ", kMaxHangs, " calls that did not end");
    return oracle::AfterDeath::Nothing;
  }
  const std::string op = id.substr(0, id.find(' '));
  if (++deaths_[op] < kMaxDeaths) return oracle::AfterDeath::NextItem;
  how += core::join("; the rest of ", op, " was not called, as it is the ", kMaxDeaths, "rd time");
  return oracle::AfterDeath::NextFile;
}

oracle::AfterDeath Runner::died(const std::string& id, int signal) {
  std::string how =
      core::join("crashed with signal ", signal, " (", std::string(strsignal(signal)), ")");
  if (signal == SIGALRM) how = core::join("did not end within ", o_.seconds, " s");
  if (signal == 0) how = "ended the process";
  const oracle::AfterDeath next = after_death(id, signal, how);
  for (DeviceVerdict& v : r_.device_checks) {
    if (v.name != id) continue;
    v.run = v.failed = true;
    v.reason = how;
    return next == oracle::AfterDeath::Nothing
               ? next
               : oracle::AfterDeath::NextFile;  // a device check is one item
  }
  r_.failures.push_back({id.empty() ? "the process, before its first check" : id, "crash", how});
  return next;
}

void Runner::judge_levels() {
  if (!r_.stopped.empty()) r_.failures.push_back({"the check", "crash", r_.stopped});
  for (const std::string& q : r_.quarantined)
    r_.failures.push_back({q.substr(0, q.find(':')), "left out", q});
  r_.reached = r_.failures.empty() ? 2 : -1;
  for (const DeviceVerdict& v : r_.device_checks) {
    if (v.failed && v.level == 0) r_.failures.push_back({v.name, "device", v.reason});
    if (v.failed) r_.reached = std::min(r_.reached, v.level - 1);
  }
  // --op may leave out the checks that a higher level is about.
  for (const check::DeviceCheck& c : check::device_checks()) {
    const bool selected = std::find(checks_.begin(), checks_.end(), &c) != checks_.end();
    if (!selected && c.level > 0) r_.reached = std::min(r_.reached, c.level - 1);
  }
}

void Runner::run() {
  for (const std::string& name : calls_.unknown_operators()) {
    throw ValueError("calls to try: there is no operator " + name);
  }
  for (const check::DeviceCheck* c : checks_)
    r_.device_checks.push_back({c->name, c->level, false, false, "died"});
  oracle::Work work;
  work.files = static_cast<int>(checks_.size() + ops_.size());
  work.run = [&](int file, int first, const oracle::Send& send) { run_child(file, first, send); };
  work.receive = [&](const Line& l) { receive(l); };
  work.died = [&](const std::string& id, int signal) { return died(id, signal); };
  oracle::run_all(work, o_.processes, o_.seconds);
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
  judge_levels();
}

void write_report(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  TENON_CHECK(file, ValueError, path, ": cannot be written");
}

}  // namespace

CheckResult run_check(const CheckOptions& asked) {
  CheckOptions o = asked;
  o.file = fs::absolute(o.file).string();
  setenv("TENON_PLUGIN_PROBE", "0", 1);  // only children open it, and they may die
  CheckResult r;
  r.file = asked.file;
  r.level = o.level;
  read_description(o, r);
  Runner(o, r).run();
  return r;
}

bool check_plugin(const CheckOptions& o) {
  const CheckResult r = run_check(o);
  if (!o.json.empty()) write_report(o.json, check_json(r));
  if (!o.junit.empty()) write_report(o.junit, check_junit(r));
  if (o.text || (o.json != "-" && o.junit != "-")) std::cout << check_text(r, o.table);
  return r.good();
}

}  // namespace tenon::command
