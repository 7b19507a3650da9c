// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// `with torch.autocast(...)` in archives and exported programs (data/make_autocast.py).
#include "tenon/autocast.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/jit/freeze.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

struct Autocast : public ::testing::Test {
  explicit Autocast(const std::string& name = "autocast.pt") {
    ExtraFiles extra{{"expected.json", ""}};
    const auto folder = std::filesystem::path(TENON_TEST_JIT) / "data";
    module = load((folder / name).string(), std::nullopt, extra);
    expected = nlohmann::json::parse(extra.at("expected.json"));
  }
  void expect_as_torch(Module m) const {
    const IValue out = m.forward({arange(6, kFloat).view({2, 3}) / 7});
    ASSERT_EQ(out.toTupleRef().size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Tensor t = out.toTupleRef().items[i].toTensor();
      EXPECT_EQ(dtype_name(t.scalar_type()), expected[i]["dtype"].get<std::string>());
      const auto elements = expected[i]["elements"].get<std::vector<double>>();
      EXPECT_TRUE(t.to(kDouble).flatten().allclose(tensor(elements, kDouble), 1e-6, 1e-7)) << t;
    }
    EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
  }
  // Its regions are graphs of the file.
  void expect_as_torch_as_exported() const {
    const std::string path = core::join(testing::TempDir(), "/tenon_autocast_", getpid(), ".pt2");
    export_program(module, {arange(6, kFloat).view({2, 3}) / 7}, path);
    const Module back = load(path);
    std::filesystem::remove(path);
    expect_as_torch(back);
  }
  Module module;
  nlohmann::json expected;
};

TEST_F(Autocast, CastsAsInTorch) { expect_as_torch(module); }

TEST_F(Autocast, IsSavedAndOptimized) {
  std::stringstream file;
  module.save(file);
  expect_as_torch(load(file));
  module.eval();
  expect_as_torch(optimize_for_inference(module));
}

TEST_F(Autocast, IsExported) { expect_as_torch_as_exported(); }

TEST_F(Autocast, EndsWhereTheBlockFails) {
  EXPECT_THROW((void)module.forward({zeros({2, 5})}), Error);
  EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
  EXPECT_THROW((void)module.forward({zeros({2, 3}, kInt)}), Error);
  EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
}

struct AutocastExported : public Autocast {
  AutocastExported() : Autocast("exported_autocast.pt2") {}
};

TEST_F(AutocastExported, CastsAsInTorch) { expect_as_torch(module); }

TEST_F(AutocastExported, IsOptimizedAndTrained) {
  module.eval();
  expect_as_torch(optimize_for_inference(module));
  const IValue out = module.forward({arange(6, kFloat).view({2, 3}) / 7});
  out.toTupleRef().items[4].toTensor().sum().backward();
  for (const Tensor& p : module.parameters()) EXPECT_EQ(p.grad().scalar_type(), kFloat);
}

TEST_F(AutocastExported, IsSavedAsTorchScript) {
  module.unit()->kept = nullptr;  // it would be saved as the file that it is
  std::stringstream file;
  module.save(file);
  expect_as_torch(load(file));
}

TEST_F(AutocastExported, IsExportedAgain) {
  module.unit()->kept = nullptr;
  expect_as_torch_as_exported();
}

TEST_F(AutocastExported, EndsWhereTheRegionFails) {
  EXPECT_THROW((void)module.forward({arange(6, kInt).view({2, 3})}), Error);
  EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
}

TEST_F(Autocast, ProgramsAskForIt) {
  Module m("Early");
  m.define(R"(
def forward(self, x: Tensor, cast: bool):
    if cast:
        return torch.get_autocast_dtype("cpu")
    return 0
)");
  EXPECT_EQ(m.forward({ones({1}), true}).toScalarType(), kBFloat16);
  const autocast::AutocastGuard half(kCPU, kHalf);
  EXPECT_EQ(m.forward({ones({1}), true}).toScalarType(), kHalf);
}

}  // namespace
}  // namespace tenon::jit
