// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Objects of another compiler, whole and damaged.
#include "plugin_llvm/link.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "plugin_llvm/helpers.h"

namespace tenon::llvm_loops {
namespace {

int64_t doubled(int64_t v) { return 2 * v; }
bool g_has_helper = true;

std::string object() {
  std::ifstream in(TENON_LINKED_KERNEL, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Link, CodeReadsItsConstantsAndCallsHelpers) {
  const Linked linked = link(object());
  ASSERT_EQ(linked.error, "");
  const int64_t numbers[] = {1};
  int64_t out[5] = {};
  void* arrays[] = {out};
  linked.kernel(numbers, nullptr, arrays, nullptr, 1, 5);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 42);
  EXPECT_EQ(out[3], 82);
  EXPECT_EQ(out[4], 22);
}

TEST(Link, AnUnknownHelperIsNamed) {
  g_has_helper = false;
  const Linked linked = link(object());
  g_has_helper = true;
  EXPECT_EQ(linked.kernel, nullptr);
  EXPECT_EQ(linked.error, "an object cannot be linked: it calls 'tn_test_helper'");
}

TEST(Link, DamageIsRefusedOrChangesNoAddressOutsideOfIt) {
  const std::string whole = object();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Linked cut = link(whole.substr(0, n));
    EXPECT_EQ(cut.kernel, nullptr) << n;
    EXPECT_NE(cut.error, "") << n;
  }
  int refused = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ bits);
      refused += link(changed).kernel == nullptr;  // never run: its instructions may be damaged
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace

const void* find_helper(std::string_view name) {
  return g_has_helper && name == "tn_test_helper" ? reinterpret_cast<const void*>(&doubled)
                                                  : nullptr;
}

}  // namespace tenon::llvm_loops
