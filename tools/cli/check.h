// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What `tenon check` was asked and what it found, as text, JSON and JUnit's XML.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::command {

struct CheckOptions {
  std::string file;
  std::string op = ".*", reference = "cpu";
  std::string calls, cases;  // folders; no calls: those of the installation
  std::string json, junit;   // files to write; "-": standard output, instead of the text
  int level = 0, seconds = 60, processes = 2;
  bool text = false, table = false;
};

struct CheckFailure {
  std::string id;  // "add.Tensor float32 transposed (self=2x3 other=2x3)"
  std::string property, reason;
};

struct DeviceVerdict {
  std::string name;
  int level = 0;
  bool failed = false, run = false;
  std::string reason;
};

struct CheckResult {
  std::string file, plugin, version, device;
  int kernels = 0;
  std::vector<std::string> quarantined;
  int level = 0;      // asked for
  int reached = 0;    // -1: not even level 0
  int operators = 0;  // with samples
  long passed = 0, not_run = 0;
  std::map<std::string, long> passed_properties;
  std::map<std::string, long> passed_of;  // by operator
  std::vector<CheckFailure> failures;     // of level 0
  std::vector<DeviceVerdict> device_checks;
  std::string stopped;                  // why not everything was tried
  std::vector<std::string> no_samples;  // operators
  std::map<std::string, std::map<std::string, std::string>>
      coverage;                        // operator, dtype: "native", "decomposed", ...
  std::map<std::string, long> staged;  // calls by operator
  bool good() const { return failures.empty() && reached >= level; }
};

// Opens the plugin and calls its device in child processes only. ValueError for a plugin that does
// not open.
CheckResult run_check(const CheckOptions& o);

std::string check_text(const CheckResult& r, bool table);
std::string check_json(const CheckResult& r);
std::string check_junit(const CheckResult& r);

}  // namespace tenon::command
