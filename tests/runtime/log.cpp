// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/heard.h"

using namespace tenon;
using test::hear;
using test::heard;

TEST(Log, WarningsGoToTheHandlerOrNowhere) {
  WarningCallback before = set_warning_handler(nullptr);
  warn("user", "unheard");
  warn_once("key", "user", "unheard");
  set_warning_handler(hear);
  warn("user", "a");
  warn_once("key", "user", "b");
  warn_once("key", "user", "c");
  EXPECT_EQ(heard, (std::vector<std::string>{"user: a", "user: b"}))
      << "an unheard warning is not used up";
  EXPECT_EQ(set_warning_handler(before), hear);
}

TEST(Log, LinesGoToTheHandler) {
  static std::string last;
  core::LogHandler before = core::set_log_handler(
      [](int level, std::string_view text) { last = std::to_string(level) + std::string(text); });
  core::log(TN_LOG_INFO, "line");
  EXPECT_EQ(last, "1line");
  core::set_log_handler(before);
}
