// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Texts, complex numbers, dictionaries, generators and modes of an archive are what torch makes of
// them (data/make_values.py).
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tenon/autograd/mode.h"
#include "tenon/jit.h"
#include "tenon/jit/print.h"
#include "tenon/record_function.h"
#include "tenon/tenon.h"

namespace tenon::jit {
namespace {

using Texts = std::vector<std::string>;

struct JitValues : public ::testing::Test {
  JitValues() {
    ExtraFiles extra{{"expected.json", ""}};
    const auto folder = std::filesystem::path(TENON_TEST_JIT);
    module = load((folder / "data/values.pt").string(), std::nullopt, extra);
    expected = nlohmann::json::parse(extra.at("expected.json"));
  }
  Texts texts(const char* method, const std::vector<IValue>& arguments = {}) const {
    Texts out;
    const IValue all = module.get_method(method)(arguments);
    for (const IValue& v : all.toListRef().items) out.push_back(v.toStringRef());
    return out;
  }
  Module module;
  nlohmann::json expected;
};

TEST_F(JitValues, NumbersAndContainersAsText) {
  EXPECT_EQ(texts("numbers"), expected["numbers"].get<Texts>());
  EXPECT_EQ(texts("containers", {tensor({0.5, -2.0}, kFloat)}),
            expected["containers"].get<Texts>());
}

TEST_F(JitValues, PrintsAsText) {
  std::string printed;
  set_print_handler([&](const std::string& line) { printed += line; });
  compile("def f():\n  print('a', 2.0, ['b'], (1.5,))\n")->run_method("f", {});
  set_print_handler(nullptr);
  EXPECT_EQ(printed, "a 2. [b] (1.5,)\n");
}

TEST_F(JitValues, MethodsOfStrings) {
  EXPECT_EQ(texts("letters", {std::string("Ab\tC")}), expected["letters"].get<Texts>());
}

TEST_F(JitValues, DictionariesGiveTheirFirstPairAndTakeComplexKeys) {
  EXPECT_EQ(texts("pairs"), expected["pairs"].get<Texts>());
}

TEST_F(JitValues, BranchesMeetInAny) {
  const Tensor x = ones({2});
  const auto anything = module.get_method("anything");
  EXPECT_EQ(anything({x, 3}).toStringRef(), expected["anything"][0].get<std::string>());
  EXPECT_EQ(anything({3, x}).toStringRef(), expected["anything"][1].get<std::string>());
}

TEST_F(JitValues, ComplexNumbersOfTensorsAndBack) {
  const IValue all = module.get_method("complexes")({tensor({0.5, -2.0}, kFloat)});
  ASSERT_EQ(all.toListRef().items.size(), expected["complexes"].size());
  for (std::size_t i = 0; i < expected["complexes"].size(); ++i) {
    const Tensor got = all.toListRef().items[i].toTensor().flatten();
    EXPECT_EQ(got.scalar_type(), kFloat);
    const auto want = expected["complexes"][i].get<Texts>();
    ASSERT_EQ(got.numel(), static_cast<int64_t>(want.size()));
    for (std::size_t k = 0; k < want.size(); ++k)
      EXPECT_FLOAT_EQ(got[static_cast<int64_t>(k)].item<float>(), std::stof(want[k])) << i;
  }
}

// torch.no_grad() of an archive is code that calls torch.set_grad_enabled.
TEST_F(JitValues, NothingIsRecordedInsideOfNoGrad) {
  const Tensor x = ones({2}).requires_grad_();
  const std::vector<bool> want = expected["modes"].get<std::vector<bool>>();
  std::stringstream file;
  module.save(file);
  for (const Module& m : {module, load(file)}) {
    const IValue got = m.get_method("modes")({x});
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(got.toListRef().items[i].toBool(), want[i]) << i;
  }
}

TEST_F(JitValues, AnErrorLeavesTheModeAsItWas) {
  EXPECT_THROW((void)module.get_method("leaves_by_an_error")({ones({2})}), Error);
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST_F(JitValues, RangesOfProgramsAreObserved) {
  Texts names;
  const CallbackHandle handle = addThreadLocalCallback(
      RecordFunctionCallback([&](const RecordFunction& f) -> std::unique_ptr<ObserverContext> {
        names.push_back(f.name());
        return nullptr;
      }).scopes({RecordScope::USER_SCOPE}));
  (void)module.get_method("modes")({ones({2})});
  removeCallback(handle);
  EXPECT_EQ(names, Texts{"a range"});
}

TEST_F(JitValues, GeneratorsAreSeeded) {
  const IValue got = module.get_method("seeded")({});
  EXPECT_TRUE(got.toListRef().items[0].toBool());
}

TEST(JitValuesOfText, AModuleOfAValue) {
  IValue kept;
  {
    Module inner("__torch__.Inner"), outer("__torch__.Outer");
    inner.register_buffer("two", full({}, 2.0));
    inner.define("def forward(self, x: Tensor) -> Tensor:\n    return x * self.two\n");
    outer.register_module("inner", inner);
    kept = outer.attr("inner");
    const Module again = kept.toModule();
    EXPECT_TRUE(equal(again.forward({ones({3})}).toTensor(), full({3}, 2.0)));
    again.attr("two").toTensor().fill_(5);
    EXPECT_TRUE(equal(inner.forward({ones({3})}).toTensor(), full({3}, 5.0)));
  }
  EXPECT_THROW(kept.toModule(), Error);  // its program is gone
  EXPECT_THROW(IValue(3).toModule(), TypeError);
}

TEST(JitValuesOfText, StatementsSetTheMode) {
  const auto unit = compile(R"(
def f(x: Tensor):
  torch.set_grad_enabled(False)
  y = x * 2
  torch.set_grad_enabled(True)
  with torch.set_grad_enabled(False):
    z = x * 2
  return y.requires_grad, z.requires_grad, (x * 2).requires_grad
)");
  const IValue out = unit->run_method("f", {ones({2}).requires_grad_()});
  EXPECT_FALSE(out.toTupleRef().items[0].toBool());
  EXPECT_FALSE(out.toTupleRef().items[1].toBool());
  EXPECT_TRUE(out.toTupleRef().items[2].toBool());
}

TEST(JitValuesOfText, FunctionalizedDrawsMakeNewTensors) {
  const auto unit = compile(R"(
def f(x: Tensor):
  p = torch.ones(2)
  return (torch.exponential(x), torch.cauchy(x), torch.geometric(x, 0.5), torch.log_normal(x), torch.random(x, 3),
          torch.random(x, 2, 5), torch.bernoulli(x, p), torch.is_set_to(x, x), x.is_set_to(x[:1]))
)");
  const Tensor x = full({2}, 7.0);
  const IValue out = unit->run_method("f", {x});
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(out.toTupleRef().items[i].toTensor().sizes(), x.sizes()) << i;
  EXPECT_TRUE(x.equal(full({2}, 7.0)));
  EXPECT_TRUE(out.toTupleRef().items[6].toTensor().equal(ones({2})));
  EXPECT_TRUE(out.toTupleRef().items[7].toBool());
  EXPECT_FALSE(out.toTupleRef().items[8].toBool());
}

TEST(JitValuesOfText, BatchNormThatSaysWhatItWrites) {
  const auto unit = compile(R"(
def f(x: Tensor, mean: Tensor, var: Tensor):
  a = torch._batch_norm_with_update_functional(x, None, None, mean, var, 0.5, 1e-5)
  b = torch._batch_norm_no_update(x, None, None, mean, var, 0.5, 1e-5)
  c = torch._batch_norm_with_update(x, None, None, mean, var, 0.5, 1e-5)
  return a[0], a[4], b[0], c[0], mean
)");
  const Tensor x = arange(8, kFloat).view({4, 2}), mean = zeros({2}), var = ones({2});
  const auto out = unit->run_method("f", {x, mean, var});
  const auto item = [&](std::size_t i) { return out.toTupleRef().items[i].toTensor(); };
  const Tensor center = x.mean({0}), normal = (x - center) / (x.var({0}, false) + 1e-5).sqrt();
  EXPECT_TRUE(item(0).allclose(normal, 1e-5, 1e-5));
  EXPECT_TRUE(item(1).allclose(center * 0.5));
  EXPECT_TRUE(item(2).allclose(x / std::sqrt(1 + 1e-5)));
  EXPECT_TRUE(item(3).allclose(normal, 1e-5, 1e-5));
  EXPECT_TRUE(mean.allclose(center * 0.5));
}

TEST(JitValuesOfText, RenormalizedRowsOfATable) {
  const auto unit = compile(R"(
def f(w: Tensor, i: Tensor):
  return torch.embedding_renorm(w, i, 1.0, 2.0), w
)");
  const Tensor w = tensor({{3.0, 4.0}, {0.3, 0.4}, {6.0, 8.0}}, kFloat);
  const IValue out = unit->run_method("f", {w, tensor({0, 1}, kLong)});
  const Tensor want = tensor({{0.6, 0.8}, {0.3, 0.4}, {6.0, 8.0}}, kFloat);
  EXPECT_TRUE(out.toTupleRef().items[0].toTensor().allclose(want, 1e-5, 1e-5));
  EXPECT_TRUE(out.toTupleRef().items[1].toTensor().equal(w));
  EXPECT_FLOAT_EQ(w[0][0].item<float>(), 3.0f);
}

// No element is added where the order is 0; real numbers have an angle whose gradient is zero.
TEST(JitValuesOfText, DifferencesOfOrderZeroAndAnglesOfReals) {
  const Tensor x = tensor({1.0, -2.0}, kFloat).requires_grad_();
  EXPECT_TRUE(diff(x.detach(), 0, -1, x.detach(), x.detach()).equal(x.detach()));
  angle(x).sum().backward();
  EXPECT_TRUE(x.grad().equal(zeros({2})));
}

// Programs whose loops torch unrolled divide as C does.
TEST(JitValuesOfText, IntegersAreDividedTowardsZero) {
  Module m("__torch__.Program");
  m.define(
      "def forward(self, a: int, b: int) -> int:\n"
      "    return torch.ops.aten.__round_to_zero_floordiv(a, b)\n");
  for (const auto& [a, b, want] :
       {std::array<int64_t, 3>{7, 2, 3}, {-7, 2, -3}, {7, -2, -3}, {INT64_MIN, -1, INT64_MIN}})
    EXPECT_EQ(m.forward({a, b}).toInt(), want) << a << " " << b;
  EXPECT_THROW((void)m.forward({1, 0}), Error);
}

}  // namespace
}  // namespace tenon::jit
