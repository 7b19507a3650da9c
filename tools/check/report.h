// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts by operator, family and property, and what is said of them.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "property.h"

namespace tenon::check {

// One item's findings as text without newline, and back.
std::string encode(const std::string& id, const Findings& findings);
std::vector<Finding> decode(const std::string& encoded, std::string& id);

class Report {
 public:
  // An operator with fewer than `min_properties` properties fails, unless `few` says why it has no
  // more.
  Report(bool list, bool table, int min_properties, std::map<std::string, std::string> few)
      : list_(list), table_(table), min_properties_(min_properties), few_(std::move(few)) {}
  void add(const std::string& encoded);
  void died(const std::string& id, int signal);
  void no_samples(const std::string& op) { no_samples_.push_back(op); }
  // Prints the tables; the exit code.
  int finish() const;

 private:
  struct Counts {
    long passed = 0, failed = 0, not_run = 0;
    void add(Verdict v) {
      ++(v == Verdict::Passed ? passed : v == Verdict::Failed ? failed : not_run);
    }
    void add(const Counts& c);
  };
  static void print_counts(const std::string& name, const Counts& c);
  void count(const std::string& id, Property p, Verdict v);
  long check_property_counts() const;

  bool list_, table_;
  int min_properties_;
  std::map<std::string, std::string> few_;  // of an operator: the reason
  std::map<std::string, Counts> ops_;
  std::array<Counts, kProperties> properties_;
  std::map<std::string, std::set<int>> of_op_;  // the properties that passed or failed
  std::map<std::string, long> reasons_;         // why not run
  std::vector<std::string> no_samples_;
};

// The reasons of a file: on each line the names of operators, a colon and why they have few
// properties. ValueError names an operator that is not there.
std::map<std::string, std::string> read_reasons(const std::string& path);

}  // namespace tenon::check
