// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Cases of modules, optimizers and schedules with a number changed must fail.
#include <gtest/gtest.h>

#include "tools/oracle/replay.h"

using namespace tenon::oracle;

namespace {

std::string folder() { return std::string(TENON_ORACLE_DIR) + "/nn/"; }

// The verdict on a case as stored, and after `spoil` has changed it.
template <class F>
void expect_found(const std::string& name, F spoil) {
  const CaseFile file(folder() + name + ".json");
  json c = file.cases().at(0);
  const Outcome stored = replay(file, c, {});
  ASSERT_EQ(stored.verdict, Verdict::Passed) << stored.reason;
  spoil(c);
  const Outcome spoiled = replay(file, c, {});
  EXPECT_EQ(spoiled.verdict, Verdict::Failed) << spoiled.reason;
  EXPECT_FALSE(spoiled.reason.empty());
}

TEST(TrainingCases, AWrongRateIsFound) {
  expect_found("schedulers", [](json& c) { c["lr"].back() = 1234.5; });
}

TEST(TrainingCases, AWrongParameterIsFound) {
  expect_found("optimizers", [](json& c) { c["after"].begin().value() = c["start"]; });
}

TEST(TrainingCases, AWrongOutputIsFound) {
  expect_found("ReLU", [](json& c) { c["outputs"][0] = c["cotangents"][0]; });
}

TEST(TrainingCases, AWrongGradientIsFound) {
  expect_found("Linear", [](json& c) { c["input_grads"][0] = c["inputs"][0]; });
}

TEST(TrainingCases, AnUnknownNameIsSkippedAndReported) {
  const CaseFile file(folder() + "ReLU.json");
  json c = file.cases().at(0);
  c["module"] = "NoSuchModule";
  const Outcome out = replay(file, c, {});
  EXPECT_EQ(out.verdict, Verdict::Skipped);
  EXPECT_EQ(out.reason, "no module named NoSuchModule");
}

}  // namespace
