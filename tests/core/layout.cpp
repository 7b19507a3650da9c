// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/layout.h"

#include <gtest/gtest.h>

#include "tenon/runtime/error.h"

using namespace tenon;

TEST(Layout, NamesGetSlots) {
  EXPECT_EQ(core::layout_slot_from_name("strided"), 0);
  EXPECT_EQ(core::layout_slot_from_name("test_blocked"), -1);
  tn_ext_layout ext{};
  ext.name = {"test_blocked", 12};
  ext.components = {"blocks,values", 13};
  tn_ext_layout other = ext;
  int slot = core::register_layout(&ext);
  EXPECT_EQ(core::register_layout(&ext), slot);
  EXPECT_EQ(core::layout_components(slot), (std::vector<std::string>{"blocks", "values"}));
  EXPECT_EQ(core::layout_ext(slot), &ext);
  EXPECT_EQ(core::layout_slot_from_abi(core::abi_layout(slot)), slot);
  EXPECT_THROW(core::register_layout(&other), ValueError);
  core::unregister_layout(slot);
  EXPECT_EQ(core::layout_ext(slot), nullptr);
  EXPECT_EQ(core::layout_name(slot), "test_blocked");
}
