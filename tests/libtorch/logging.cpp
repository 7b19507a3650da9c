// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lines of a program's log, and rules that end it.
#include <c10/util/Logging.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace {

std::string said(const std::function<void()>& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

struct Level {
  explicit Level(int level) : before(c10::log_level()) { c10::log_level() = level; }
  ~Level() { c10::log_level() = before; }
  int before;
};

}  // namespace

TEST(LibtorchLogging, LinesFromTheLevelOn) {
  const Level level(c10::GLOG_WARNING);
  EXPECT_EQ(said([] { LOG(INFO) << "quiet"; }), "");
  EXPECT_EQ(said([] { VLOG(1) << "quiet"; }), "");
  EXPECT_FALSE(VLOG_IS_ON(1));
  const std::string line = said([] { LOG(ERROR) << "seen " << 3; });
  EXPECT_EQ(line.substr(0, 15), "[E logging.cpp:");
  EXPECT_EQ(line.substr(line.find(']')), "] seen 3\n");
  EXPECT_EQ(said([] { LOG_IF(ERROR, false) << "not"; }), "");
  c10::ShowLogInfoToStderr();
  EXPECT_EQ(said([] { LOG(INFO) << "now"; }).substr(0, 3), "[I ");
}

TEST(LibtorchLogging, TheLevelOfTheEnvironment) {
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 1);
  EXPECT_EQ(c10::detail::log_level_of_environment(), c10::GLOG_ERROR);
  setenv("TORCH_CPP_LOG_LEVEL", "0", 1);
  EXPECT_EQ(c10::detail::log_level_of_environment(), c10::GLOG_INFO);
  unsetenv("TORCH_CPP_LOG_LEVEL");
  EXPECT_EQ(c10::detail::log_level_of_environment(), c10::GLOG_WARNING);
}

TEST(LibtorchLogging, BrokenRulesEndTheProgram) {
  const int two = 2;
  CHECK(two == 2) << "not evaluated";
  CHECK_EQ(two, 2);
  DCHECK(two > 1);
  EXPECT_DEATH(CHECK_GT(two, 3) << "of parts", "Check failed: two > 3 of parts");
  EXPECT_THROW(CAFFE_ENFORCE(two == 3, "two is ", two), c10::Error);
  EXPECT_THROW(CAFFE_THROW("always"), c10::Error);
}
