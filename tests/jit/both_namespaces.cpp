// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// load and save are in both namespaces, and what they are given tells which is meant.
#include <gtest/gtest.h>

#include <filesystem>

#include "tenon/jit.h"
#include "tenon/tenon.h"

using namespace tenon;
using namespace tenon::jit;

TEST(JitBothNamespaces, LoadAndSave) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string program = folder / "tenon_both.pt", tensors = folder / "tenon_both.safetensors";
  tenon::jit::Module m("__torch__.M");
  m.register_buffer("b", ones({2}));
  save(m, program);
  EXPECT_TRUE(equal(load(program).attr("b").toTensor(), ones({2})));
  EXPECT_TRUE(equal(load(program.c_str()).attr("b").toTensor(), ones({2})));
  save(full({3}, 2.0), tensors);
  Tensor t;
  load(t, tensors);
  EXPECT_TRUE(equal(t, full({3}, 2.0)));
  std::filesystem::remove(program);
  std::filesystem::remove(tensors);
}
