// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Everything that is checked of one operator on a device.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../oracle/workers.h"
#include "cell.h"
#include "samples.h"

namespace tenon::check {

// In the order of the checks and of reports: floating first, wide ones before narrow ones. Complex
// numbers are judged by stored cases alone (tests/oracle).
inline constexpr auto kDtypes = [] {
  std::array<ScalarType, 10> real{};
  auto at = real.rbegin();
  for (const ScalarType t : core::kBuiltInDtypes) {
    if (t != kComplexFloat && t != kComplexDouble) *at++ = t;
  }
  return real;
}();

// DeviceId::none() if the device does not exist.
DeviceId find_place(const std::string& device);

struct OperatorCheckOptions {
  std::string device = "cpu", reference = "ref";
  std::size_t samples = 1000;  // cases to take: more than any operator has
  bool gradients = true;
  bool tested_device = false;  // also the properties from Sentinels on, of a device under test
};

// Whether the operator wants tensors of a layout, which a plugin provides: tests/custom and
// tests/sparse call those.
inline bool needs_layout(const core::Op& op) {
  const std::string_view family = op.family;
  return family == "sparse" || (family == "layout" && op.kind == core::OpKind::Kernel);
}
// Whether there is a function for the operator that takes strided tensors.
inline bool is_callable(const core::Op& op) { return op.boxed_call.load() && !needs_layout(op); }
// Factorizations are unique up to signs and phases, tell the half of a matrix that they read by no
// argument, and fall apart where elements repeat; transforms and parts have complex numbers in or
// out. Stored cases judge them, by formulas where values are free (tests/oracle).
inline bool judged_by_cases(const core::Op& op) {
  const std::string_view family = op.family;
  return family == "factor" || family == "solve" || family == "spectral" || family == "fft" ||
         family == "complex";
}
// Whether the operator takes the sample as it is, on the host.
bool accepts_on_host(const core::Op& op, const Spec& s);
// The samples to call the operator with; empty if there are none.
std::vector<Spec> list_samples(const core::Op& op, const OperatorCheckOptions& o,
                               const CaseLibrary& library, const CallFiles& calls);

class OperatorCheck {
 public:
  // ValueError if a device does not exist.
  OperatorCheck(const core::Op& op, const OperatorCheckOptions& o, const CaseLibrary& library,
                const CallFiles& calls);
  bool has_samples() const { return !specs_.empty(); }
  // Sends {"start", ...} before and {"found", encode(...)} after each item from `first` on.
  void run(int first, const oracle::Send& send);

 private:
  enum class Task {
    Cell,
    Large,
    Gradients,
    Batched,
    Unclaimed,
    BadArguments,
    OtherShapes,
    Whole,
    Refused,
    TestedDevice
  };
  struct Item {
    Task task;
    std::size_t spec;
    ScalarType dtype;
    Memory memory;
  };
  static const char* const kTaskNames[];
  void list_items(const OperatorCheckOptions& o);
  void list_cells(std::size_t s);
  void list_tested_device(std::size_t s);
  bool fits(const Spec& s, ScalarType t) const;
  std::string id_of(const Item& item) const;
  Findings findings_of(const Item& item);
  Findings claims() const;

  const core::Op& op_;
  DeviceId place_, reference_;
  std::vector<Spec> specs_, refused_;
  std::size_t cases_ = 0;
  bool judge_claims_;  // of the operator: does not apply to a device under test
  std::vector<Item> items_;
  std::set<ScalarType> tried_, worked_;
};

}  // namespace tenon::check
