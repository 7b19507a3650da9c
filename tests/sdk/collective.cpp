// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/collective.h"

#include <gtest/gtest.h>

namespace {

namespace sdk = tenon::sdk;

int g_scopes = 0, g_aborts_in_scope = 0;
bool g_in_scope = false, g_done = false;

struct Work : sdk::CollectiveWork {
  bool wait(int64_t) override { return g_done; }
  bool end() override { return true; }
};

struct Group {
  explicit Group(const tn_group_options&) {}
  std::shared_ptr<sdk::CollectiveWork> start(const tn_collective_call&) {
    return std::make_shared<Work>();
  }
  void abort() { g_aborts_in_scope += g_in_scope; }
};

struct Engine : sdk::CollectiveEngine<Group> {
  struct Scope {
    Scope() { ++g_scopes, g_in_scope = true; }
    ~Scope() { g_in_scope = false; }
  };
  static bool supports(int32_t, int32_t, tn_dtype, std::string_view) { return true; }
};

// gloo's is three system calls, and a work is asked again and again.
TEST(Collective, AWorkThatIsAskedMakesNoScope) {
  const tn_ext_collective engine = sdk::collective_functions<Engine>();
  tn_group_options options{};
  tn_group* group = nullptr;
  ASSERT_EQ(engine.join(nullptr, &options, &group), TN_OK);
  EXPECT_EQ(g_scopes, 1);
  const tn_collective_call call{};
  for (const bool done : {true, false}) {
    tn_work* work = nullptr;
    const int before = g_scopes;
    g_done = done;
    ASSERT_EQ(engine.start(nullptr, group, &call, &work), TN_OK);
    int32_t ended = -1;
    EXPECT_EQ(engine.wait(nullptr, work, 1, &ended), TN_OK);
    EXPECT_EQ(ended, done);
    int64_t begin = -1, end = -1;
    EXPECT_EQ(engine.span(nullptr, work, &begin, &end), TN_DECLINED);  // it sets none
    EXPECT_EQ(engine.release(nullptr, work), 1);
    EXPECT_EQ(g_scopes - before, done ? 1 : 2);  // an abort is a call of the group
    EXPECT_EQ(g_aborts_in_scope, !done);
  }
  engine.leave(nullptr, group);
}

}  // namespace
