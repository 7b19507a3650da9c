// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "tests/runtime/heard.h"

using namespace tenon;
using test::hear;
using test::heard;

namespace {

struct Listening {
  Listening() { heard.clear(); }
  ~Listening() { set_warning_handler(before); }
  WarningCallback before = set_warning_handler(hear);
};

TEST(Settings, ComeFromTheEnvironment) {
  setenv("TENON_TEST_SETTING", "5", 1);
  EXPECT_EQ(core::setting("TEST_SETTING"), "5");
  unsetenv("TENON_TEST_SETTING");
  EXPECT_EQ(core::setting("TEST_SETTING"), "");
  EXPECT_EQ(core::setting(std::string(1000, 'A')), "");
}

TEST(Settings, TheProgramsChoicePrecedesTheEnvironments) {
  setenv("TENON_TEST_CHOICE", "5", 1);
  core::set_setting("TEST_CHOICE", "6");
  EXPECT_EQ(core::setting("TEST_CHOICE"), "6");
  EXPECT_EQ(core::number_setting("TEST_CHOICE", 0, 100, ""), 6);
  core::set_setting("TEST_CHOICE", "7");
  EXPECT_EQ(core::setting("TEST_CHOICE"), "7");
  core::set_setting("TEST_CHOICE", "");
  EXPECT_EQ(core::setting("TEST_CHOICE"), "5");
  unsetenv("TENON_TEST_CHOICE");
  core::set_setting("TEST_CHOICE", "");
  EXPECT_EQ(core::setting("TEST_CHOICE"), "");
  EXPECT_NO_THROW(core::set_setting(std::string(57, 'A'), ""));
  for (const std::string& name : {std::string(), std::string(58, 'A')}) {
    try {
      core::set_setting(name, "1");
      ADD_FAILURE() << name.size();
    } catch (const ValueError& e) {
      EXPECT_NE(e.msg().find("expected 1 to 57 characters"), std::string::npos) << e.msg();
    }
  }
}

TEST(Settings, IntegersAreInRangeOrWarnedOf) {
  const Listening listening;
  const auto read = [](const char* name, const char* value) {
    setenv((std::string("TENON_") + name).c_str(), value, 1);
    return core::number_setting(name, 0, 100, "7 is used");
  };
  EXPECT_EQ(core::number_setting("TEST_UNSET", 0, 100, ""), std::nullopt);
  EXPECT_EQ(read("TEST_GOOD", "0"), 0);
  EXPECT_EQ(read("TEST_GOOD", "100"), 100);
  EXPECT_EQ(read("TEST_GOOD", ""), std::nullopt);
  EXPECT_TRUE(heard.empty());
  const char* const bad[] = {"abc", "3x", "-1", "101", "1.5", " 3", "99999999999999999999"};
  for (int i = 0; i < 7; ++i) {
    const std::string name = "TEST_BAD" + std::to_string(i);
    EXPECT_EQ(read(name.c_str(), bad[i]), std::nullopt) << bad[i];
    ASSERT_EQ(heard.size(), static_cast<std::size_t>(i) + 1) << bad[i];
    EXPECT_EQ(heard.back(), "setting: TENON_" + name + " is '" + bad[i] +
                                "'; expected an integer from 0 to 100: 7 is used");
  }
}

TEST(Settings, WordsAreOfTheListOrWarnedOf) {
  const Listening listening;
  constexpr const char* kWords[] = {"one", "two", "three"};
  setenv("TENON_TEST_WORD", "two", 1);
  EXPECT_EQ(core::choice_setting("TEST_WORD", kWords, 3, 0), 1);
  EXPECT_TRUE(heard.empty());
  setenv("TENON_TEST_WORD", "Two", 1);
  EXPECT_EQ(core::choice_setting("TEST_WORD", kWords, 3, 2), 2);
  EXPECT_EQ(heard,
            (std::vector<std::string>{
                "setting: TENON_TEST_WORD is 'Two'; expected one, two or three: three is used"}));
}

}  // namespace
