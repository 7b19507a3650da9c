// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What surrounds programs of TorchScript, by libtorch's headers.
#include <c10/util/tempfile.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/mobile/import_data.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/runtime/jit_exception.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <algorithm>
#include <sstream>

namespace {

TEST(Programs, ListsOfModules) {
  torch::jit::Module inner("__torch__.Inner"), outer("__torch__.Outer");
  inner.register_parameter("w", torch::ones({2}));
  outer.register_module("inner", inner);
  const torch::jit::named_parameter_list named = outer.named_parameters();
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].name, "inner.w");
  const torch::jit::parameter_list parameters = outer.parameters();
  const torch::jit::named_module_list modules = outer.named_modules();
  EXPECT_EQ(parameters.size() + modules.size(), 3u);
  const torch::jit::IValue value(parameters[0]);
  EXPECT_STREQ(c10::typeKindToString(value.type()->kind()), "TensorType");
  EXPECT_STREQ(c10::typeKindToString(c10::TypeKind::AnyEnum), "AnyEnumType");
  const torch::CompilationUnit unit;
  EXPECT_EQ(unit.find_function("f"), nullptr);
}

TEST(Programs, FilesOfParameters) {
  const auto file = c10::make_tempfile();
  torch::jit::StateDict state;
  state.insert("w", torch::ones({2}));
  torch::jit::save_state_dict(state, file.name);
  const auto loaded = torch::jit::_load_parameters(file.name);
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_TRUE(loaded.at("w").equal(torch::ones({2})));
  EXPECT_TRUE(torch::jit::_load_parameters(file.name, torch::Device("cpu")).at("w").is_cpu());
}

TEST(Programs, EntriesOfArchives) {
  const auto file = c10::make_tempfile();
  torch::jit::Module m("m");
  m.define("def forward(self, x): return x\n");
  m.save(file.name, {{"note.txt", "kept"}});
  auto reader = caffe2::serialize::PyTorchStreamReader(file.name);
  EXPECT_TRUE(reader.hasRecord("extra/note.txt"));
  const auto [data, size] = reader.getRecord("extra/note.txt");
  EXPECT_EQ(std::string(static_cast<const char*>(data.get()), size), "kept");
  EXPECT_EQ(reader.getRecordSize("extra/note.txt"), 4u);
  const std::vector<std::string> names = reader.getAllRecords();
  EXPECT_EQ(std::count(names.begin(), names.end(), "data.pkl"), 1);
  EXPECT_FALSE(reader.hasRecord("extra/none"));
  EXPECT_THROW(reader.getRecord("extra/none"), c10::Error);
}

TEST(Programs, WhatTheyRaise) {
  const auto unit = torch::jit::compile(R"(
def checked(n: int) -> int:
    if n > 3:
        raise ValueError("too many")
    return n
def outer(n: int) -> int:
    return checked(n) + 1
)");
  EXPECT_EQ(unit->run_method("outer", 1).toInt(), 2);
  try {
    unit->run_method("outer", 4);
    ADD_FAILURE();
  } catch (const torch::jit::JITException& e) {
    EXPECT_EQ(e.getOriginalMsg(), "too many");
    EXPECT_EQ(e.getPythonClassName(), "builtins.ValueError");
    const std::string text = e.what();
    EXPECT_EQ(text.rfind("ValueError: too many\nTraceback of the program:\n", 0), 0u) << text;
    EXPECT_NE(text.find("return checked(n) + 1"), std::string::npos) << text;
  }
}

TEST(Programs, ValuesArePrinted) {
  std::ostringstream out;
  out << c10::IValue("say \"a\\b\"\n\x01") << " "
      << c10::IValue(std::vector<std::string>{"x", "y"});
  EXPECT_EQ(out.str(), R"("say \"a\\b\"\n\001" ["x", "y"])");
}

}  // namespace
