// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Frozen modules compute what the modules do that they were made of, and can be saved, moved and
// copied.
#include "tenon/jit/freeze.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/jit.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

Tensor numbers(const std::vector<int64_t>& sizes, double first = 0.3) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (arange(n, kFloat) * 0.7 + first).sin().reshape(sizes);
}

constexpr const char* kLayer = R"(
def forward(self, x: Tensor) -> Tensor:
    y = torch.conv2d(x, self.weight, None, [1, 1], [1, 1])
    if self.training:
        self.count.add_(1)
    if y.dim() != 4:
        raise ValueError("a batch of images is needed")
    y = torch.batch_norm(y, None, None, self.mean, self.variance, self.training, 0.1, 1e-5, True)
    return torch.relu_(y)
)";

Module layer() {
  Module m("__torch__.Layer");
  m.register_parameter("weight", numbers({4, 4, 3, 3}).requires_grad_());
  m.register_buffer("mean", numbers({4}, 1.0));
  m.register_buffer("variance", numbers({4}, 2.0).abs() + 0.5);
  m.register_buffer("count", zeros({}, kLong));
  m.define(kLayer);
  return m;
}

Module net() {
  Module m("__torch__.Net");
  m.register_module("first", layer());
  m.register_module("second", layer());
  m.register_attribute("steps", Type::integer(), 2);
  m.register_attribute("calls", Type::integer(), 0);
  m.register_buffer("total", zeros({1}));
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    for i in range(self.steps):
        x = self.second(self.first(x)) + x
    return x

def counted(self, x: Tensor) -> Tensor:
    self.calls += 1
    self.total.add_(x.sum())
    return self.forward(x) + self.total + self.calls
)");
  m.eval();
  return m;
}

const Tensor& image() {
  static const Tensor x = numbers({2, 4, 5, 5}, 0.1);
  return x;
}

bool close(const IValue& a, const IValue& b) {
  return a.toTensor().allclose(b.toTensor(), 1e-5, 1e-5);
}

std::string text_of(const Module& m) { return m.get_method("forward").graph()->str(); }

TEST(JitFreeze, WeightsBecomeConstants) {
  const Module m = net(), frozen = freeze(m);
  EXPECT_TRUE(frozen.parameters().empty());
  EXPECT_TRUE(frozen.buffers().empty());
  EXPECT_TRUE(frozen.children().empty());
  EXPECT_FALSE(frozen.hasattr("training"));
  EXPECT_FALSE(frozen.find_method("counted"));
  EXPECT_EQ(text_of(frozen).find("GetAttr"), std::string::npos);
  EXPECT_EQ(text_of(frozen).find("batch_norm"), std::string::npos);
  const IValue y = frozen.forward({image()});
  EXPECT_TRUE(close(y, m.forward({image()})));
  EXPECT_FALSE(y.toTensor().requires_grad());
  EXPECT_TRUE(m.parameters()[0].requires_grad());
}

TEST(JitFreeze, NumericsAreOptional) {
  const Module m = net(), exact = freeze(m, std::nullopt, false);
  EXPECT_NE(text_of(exact).find("batch_norm"), std::string::npos);
  EXPECT_TRUE(exact.forward({image()}).toTensor().equal(m.forward({image()}).toTensor()));
}

TEST(JitFreeze, PreservedNamesStay) {
  const Module frozen = freeze(net(), {{"counted", "steps", "first.weight"}});
  ASSERT_TRUE(frozen.find_method("counted"));
  EXPECT_EQ(frozen.parameters().size(), 1u);
  const Module m = net();
  for (const Module* each : {&frozen, &m}) each->setattr("steps", 1);
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(close(frozen.run_method("counted", {image()}), m.run_method("counted", {image()})));
  EXPECT_EQ(frozen.attr("calls").toInt(), 2);
}

// What a method writes stays the module's own.
TEST(JitFreeze, WrittenAttributesAreCopies) {
  const Module m = net(), frozen = freeze(m, {{"counted"}});
  (void)frozen.run_method("counted", {image()});
  EXPECT_EQ(m.attr("calls").toInt(), 0);
  EXPECT_TRUE(m.attr("total").toTensor().equal(zeros({1})));
  EXPECT_FALSE(frozen.attr("total").toTensor().equal(zeros({1})));
}

TEST(JitFreeze, SaysWhatIsWrong) {
  const Module m = net();
  try {
    (void)freeze(m, {{"first.nothing"}});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_NE(e.msg().find("Unknown name: first.nothing"), std::string::npos) << e.msg();
  }
  m.train();
  try {
    (void)freeze(m);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.msg().find("only implemented for modules in eval mode"), std::string::npos);
  }
}

TEST(JitFreeze, AgainAndCopied) {
  const Module frozen = freeze(net()), again = freeze(frozen), copy = frozen.clone();
  const Tensor wanted = frozen.forward({image()}).toTensor();
  copy.to(kDouble);
  EXPECT_EQ(copy.forward({image().to(kDouble)}).toTensor().scalar_type(), kDouble);
  EXPECT_TRUE(frozen.forward({image()}).toTensor().equal(wanted));
  EXPECT_TRUE(again.forward({image()}).toTensor().equal(wanted));
}

TEST(JitFreeze, SavedAndLoaded) {
  for (const Module& m :
       {freeze(net(), {{"counted"}}), optimize_for_inference(net(), {"counted"})}) {
    std::stringstream file;
    m.save(file);
    const Module loaded = load(file);
    EXPECT_TRUE(loaded.forward({image()}).toTensor().equal(m.forward({image()}).toTensor()));
    EXPECT_EQ(text_of(loaded).find("GetAttr"), std::string::npos);
    EXPECT_TRUE(close(loaded.run_method("counted", {image()}), m.run_method("counted", {image()})));
    loaded.to(kDouble);
    EXPECT_EQ(loaded.forward({image().to(kDouble)}).toTensor().scalar_type(), kDouble);
  }
}

TEST(JitFreeze, OptimizedForInference) {
  const Module m = net(), fast = optimize_for_inference(m), faster = optimize_for_inference(fast);
  EXPECT_NE(text_of(fast).find("aten::_conv_epilogue"), std::string::npos);
  EXPECT_EQ(text_of(fast).find("aten::relu"), std::string::npos);
  EXPECT_TRUE(close(fast.forward({image()}), m.forward({image()})));
  EXPECT_TRUE(close(faster.forward({image()}), m.forward({image()})));
}

TEST(JitFreeze, ExportedPrograms) {
  const Module m = load(TENON_TEST_JIT "/data/exported_net.pt2");
  const Module frozen = freeze(m);
  EXPECT_FALSE(m.parameters().empty());
  EXPECT_TRUE(frozen.parameters().empty());
  std::stringstream file;
  frozen.save(file);
  EXPECT_EQ(text_of(load(file)).find("GetAttr"), std::string::npos);
}

// The graph before the passes and after each, in numbered files.
TEST(JitFreeze, DumpsGraphs) {
  const auto folder = std::filesystem::temp_directory_path() / "tenon-jit-dump-test";
  std::filesystem::remove_all(folder);
  ASSERT_EQ(setenv("TENON_JIT_DUMP", folder.c_str(), 1), 0);
  (void)optimize_for_inference(net());
  ASSERT_EQ(unsetenv("TENON_JIT_DUMP"), 0);
  std::string last, all;
  for (const auto& e : std::filesystem::directory_iterator(folder)) {
    const std::string name = e.path().filename().string();
    all += name + "\n";
    if (name.find("fuse_epilogues") == std::string::npos) continue;
    std::ifstream in(e.path());
    last.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::filesystem::remove_all(folder);
  EXPECT_NE(all.find(".forward.before.txt"), std::string::npos) << all;
  EXPECT_NE(all.find(".forward.fold_scales.txt"), std::string::npos) << all;
  EXPECT_NE(last.find("aten::_conv_epilogue"), std::string::npos) << last;
}

// A loop that returns carries its result, unset until then.
TEST(JitFreeze, LoopsThatReturnTuplesAreOptimized) {
  Module m("__torch__.Search");
  m.define(R"(
def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
    k = 0
    while k < n:
        k += 1
        x = x * 1.5
        if k == 3:
            return x, k
    return x + 1, -k
)");
  m.eval();
  const Module fast = optimize_for_inference(m);
  for (const int64_t n : {0, 2, 5}) {
    const IValue expected = m.forward({numbers({2}), n}), made = fast.forward({numbers({2}), n});
    const auto &a = expected.toTupleRef().elements(), &b = made.toTupleRef().elements();
    EXPECT_TRUE(a.at(0).toTensor().equal(b.at(0).toTensor())) << n;
    EXPECT_EQ(a.at(1).toInt(), b.at(1).toInt()) << n;
  }
}

}  // namespace
}  // namespace tenon::jit
