// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What written programs keep from call to call: buffers, attributes, statistics of training.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

Module again(const Module& m, const std::vector<IValue>& inputs,
             const ExportProgramOptions& options = {}) {
  const std::string path =
      core::join(testing::TempDir(), "/tenon_exported_state_", getpid(), ".pt2");
  export_program(m, inputs, path, options);
  const Module back = load(path);
  std::filesystem::remove(path);
  return back;
}

// Two calls each, the second of which sees what the first has left.
void expect_same_calls(const Module& m, const Module& back, const std::vector<IValue>& inputs) {
  for (int call = 0; call < 2; ++call) {
    std::vector<Tensor> want, got;
    add_tensors(m.forward(inputs), want);
    add_tensors(back.forward(inputs), got);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(allclose(got[i], want[i], 1e-5, 1e-6)) << call << i << got[i] << want[i];
  }
}

// The program gives what the buffer is to become (run_decompositions of torch).
TEST(ExportedState, AFunctionalProgramIsWrittenAgain) {
  expect_results("exported_functional.pt2", {counted({2, 3}), tensor(2)});
  const Module m = load(data("exported_functional.pt2"));
  const Module back = again(m, {counted({2, 3}), tensor(2)});
  EXPECT_TRUE(m.named_buffers().at(0).value.equal(zeros({3})));
  expect_same_calls(m, back, {counted({2, 3}), tensor(1)});
}

Module with_state(const std::string& forward) {
  Module m("__torch__.Keeps");
  m.register_attribute("state", Type::tensor(), ones({3}));
  m.register_attribute("other", Type::tensor(), zeros({3}));
  m.define(forward);
  return m;
}

// Tensors in attributes are buffers of the file, which are written last: what the program saw
// before keeps its values.
TEST(ExportedState, AttributesThatAreSetAreWrittenBuffers) {
  const Module m = with_state(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    before = self.state
    self.state = before * 2 + x
    self.state = self.state + 1
    return before, self.state, before + self.state
)");
  const Module back = again(m, {counted({3})});
  EXPECT_EQ(back.named_buffers().size(), 2U);
  expect_same_calls(m, back, {counted({3})});
}

TEST(ExportedState, AttributesMayBeSwapped) {
  const Module m = with_state(R"(
def forward(self, x: Tensor) -> Tensor:
    a, b = self.state, self.other
    self.state, self.other = b, a
    return a + x
)");
  expect_same_calls(m, again(m, {counted({3})}), {counted({3})});
}

// As voice detectors begin: the first call makes the state.
TEST(ExportedState, AfterACallThatMadeTheState) {
  Module m("__torch__.Begins");
  m.register_attribute("state", Type::tensor(), empty({0}));
  m.register_attribute("rows", Type::integer(), 0);
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    if len(self.state) == 0 or self.rows != x.size(0):
        self.state = torch.zeros_like(x)
        self.rows = x.size(0)
    self.state = self.state * 0.5 + x
    return self.state
)");
  const Tensor x = counted({2, 3});
  test::expect_words(test::text_of([&] { (void)again(m, {x}); }), {"of other sizes"});
  (void)m.forward({x});
  expect_same_calls(m, again(m, {x}), {x});
}

TEST(ExportedState, AnAttributeOfOtherSizesIsRefused) {
  const Module m = with_state(R"(
def forward(self, x: Tensor) -> Tensor:
    self.state = torch.cat([self.state, x])
    return self.state
)");
  test::expect_words(test::text_of([&] { (void)again(m, {counted({3})}); }),
                     {"cannot write prim::SetAttr", "attribute 'state'", "of other sizes"});
}

// The branch gives what the attribute becomes; numbers begin with the file's value in each call.
TEST(ExportedState, AttributesAreSetInBranchesAndLoopsByData) {
  const char* const programs[] = {R"(
def forward(self, x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        self.state = self.state + x
        if bool(x[0] > 1):
            self.other = self.state * 2
    else:
        self.state = self.other - x
    return self.state + self.other
)",
                                  R"(
def forward(self, x: Tensor) -> Tensor:
    while bool(self.state.sum() < 20):
        self.state = self.state + x
        if bool(self.state[0] > 2):
            self.other = self.other + 1
    return self.state + self.other
)",
                                  R"(
def forward(self, x: Tensor) -> Tensor:
    before = self.state
    if bool(x.sum() > 0):
        before.add_(1)
        self.other[:2].copy_(x[1:])
    else:
        self.other.mul_(2)
    return before + self.state + self.other
)"};
  for (const char* program : programs)
    for (const double example : {1.0, -1.0}) {
      const bool loops =
          std::strstr(program, "while") != nullptr;  // without an end if x is below 0
      const Module m = with_state(program);
      const Module back = again(m, {full({3}, loops ? 1.0 : example)});
      expect_same_calls(m, back, {full({3}, 2.0)});
      expect_same_calls(m, back, {full({3}, loops ? 0.5 : -2.0)});
    }
}

TEST(ExportedState, ANumberInAnAttributeIsSetInABranchByData) {
  Module m("__torch__.Counts");
  m.register_attribute("n", Type::integer(), 1);
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    if bool(x.sum() > 0):
        self.n = self.n + 2
    y = x * self.n
    self.n = 1
    return y
)");
  const Module back = again(m, {counted({3})});
  expect_same_calls(m, back, {counted({3})});
  expect_same_calls(m, back, {-counted({3})});
}

// As programs after run_decompositions do.
TEST(ExportedState, RandomNumbersAreDrawnInEachCall) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
    return torch.exponential(torch.empty([4])), torch.bernoulli(x, x)
)");
  const Module back = again(m, {full({4}, 0.5)});
  std::vector<Tensor> first, second;
  add_tensors(back.forward({zeros({4})}), first);
  add_tensors(back.forward({ones({4})}), second);
  EXPECT_FALSE(first[0].equal(second[0]));
  EXPECT_TRUE(first[1].equal(zeros({4})) && second[1].equal(ones({4})));
}

TEST(ExportedState, TrainingModeIsWrittenWhereItIsAskedFor) {
  Module m("__torch__.Norm");
  m.register_buffer("mean", zeros({2}));
  m.register_buffer("var", ones({2}));
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    return torch.batch_norm(x, None, None, self.mean, self.var, self.training, 0.1, 1e-05, False)
)");
  m.train();
  const Tensor x = counted({4, 2});
  ExportProgramOptions options;
  options.training = true;
  const Module trains = again(m, {x}, options), evaluates = again(m, {x});
  EXPECT_TRUE(m.attr("mean").toTensor().equal(zeros({2})));
  EXPECT_TRUE(allclose(evaluates.forward({x}).toTensor(), x, 1e-4, 1e-4));
  expect_same_calls(m, trains, {x});
  EXPECT_FALSE(m.attr("mean").toTensor().equal(zeros({2})));
  for (const auto& b : trains.named_buffers())
    EXPECT_TRUE(allclose(b.value, m.attr(b.name).toTensor())) << b.name;
}

}  // namespace
}  // namespace tenon::jit
