// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scripts call recorded programs, recorded programs call scripts, and both call the host.
#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

const char* const kRepeat = R"(
def repeat(x: Tensor, n: int):
    if bool(x.sum() > 0):
        for i in range(n):
            x = x * 2
    else:
        x = x - n
    return x
)";

TEST(JitTraceMixing, ScriptCallsTraced) {
  const auto traced = trace([](const Tensor& x) { return (x + 1).relu(); }, {randn({2})});
  auto unit = std::make_shared<CompilationUnit>();
  traced.add_to(*unit, "step");
  unit->define(R"(
def loop(x: Tensor, n: int):
    for i in range(n):
        x = step(x)
    return x
)");
  for (int n : {0, 1, 5}) {
    Tensor expected = full({3}, -2.0);
    for (int i = 0; i < n; ++i) expected = (expected + 1).relu();
    expect_equal(unit->run_method("loop", {full({3}, -2.0), n}).toTensor(), expected);
  }
}

// The recurrent loop over a recorded model: hidden begins with None.
Module recurrent(nn::RNNCell cell) {
  Module rnn("__torch__.Rnn");
  rnn.register_module("cell", trace_module(cell.ptr(),
                                           [cell](const Tensor& x, const Tensor& h) mutable {
                                             return cell->forward(x, h);
                                           },
                                           {randn({1, 3}), randn({1, 4})}));
  rnn.define(R"(
def forward(self, x: Tensor):
    hidden: Optional[Tensor] = None
    for x_t in x.split(1):
        if hidden is None:
            hidden = torch.zeros(1, 4)
        hidden = self.cell(x_t, hidden)
    assert hidden is not None
    return hidden
)");
  return rnn;
}

void expect_recurrent(const Module& rnn, nn::RNNCell cell) {
  for (int64_t n : {1, 5, 50}) {
    const Tensor x = randn({n, 3});
    Tensor hidden = zeros({1, 4});
    for (const Tensor& x_t : x.split(1)) hidden = cell->forward(x_t, hidden);
    expect_equal(rnn.forward({x}).toTensor(), hidden);
  }
}

TEST(JitTraceMixing, ScriptCallsTracedModule) {
  const nn::RNNCell cell(3, 4);
  expect_recurrent(recurrent(cell), cell);
}

TEST(JitTraceMixing, SavedScriptCallsTracedModule) {
  const nn::RNNCell cell(3, 4);
  expect_recurrent(saved_and_loaded(recurrent(cell)), cell);
}

TEST(JitTraceMixing, TracedCallsScriptWithItsControlFlow) {
  const auto unit = compile(kRepeat);
  Function& repeat = unit->get_function("repeat");
  const auto f = [&](const Tensor& x) { return repeat({x + 1, 3}).toTensor() * 10; };
  const auto traced = trace(f, {ones({2})});
  expect_in(traced.graph()->str(), "prim::CallFunction[name=\"repeat\"]");
  for (double v : {1.0, -5.0}) expect_equal(traced(full({2}, v)), f(full({2}, v)));

  const Module again = saved_and_loaded(traced.module());
  for (double v : {1.0, -5.0})
    expect_equal(again.forward({full({2}, v)}).toTensor(), f(full({2}, v)));
}

struct MixedImpl : nn::Module {
  MixedImpl() : gate("__torch__.Gate") {
    fc = register_module("fc", nn::Linear(2, 2));
    gate.register_parameter("limit", zeros({1}).requires_grad_());
    gate.define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, List[Tensor]]:
    if bool(x.sum() > self.limit):
        y = x * 2
    else:
        y = x - self.limit
    return y, [x, y]
)");
  }
  Tensor forward(const Tensor& x) {
    const IValue out = gate.forward({fc(x)});
    const auto& items = out.toTupleRef().items;
    return items[0].toTensor() + items[1].toTensorVector()[1];
  }
  nn::Linear fc{nullptr};
  jit::Module gate;
};

TEST(JitTraceMixing, TracedModuleCallsScriptedModule) {
  auto net = std::make_shared<MixedImpl>();
  const Module traced = trace(net, {ones({1, 2})});
  EXPECT_EQ(traced.named_parameters().size(), 3U);  // limit, too
  const Module again = saved_and_loaded(traced);
  for (double v : {3.0, -3.0}) {
    const Tensor x = full({1, 2}, v);
    expect_equal(traced.forward({x}).toTensor(), net->forward(x));
    expect_equal(again.forward({x}).toTensor(), net->forward(x));
  }
  traced.forward({full({1, 2}, 1.0)}).toTensor().sum().backward();
  EXPECT_TRUE(net->fc->weight.grad().defined());
}

TEST(JitTraceMixing, HostFunctionsRunAndAreNotSaved) {
  auto unit = std::make_shared<CompilationUnit>();
  int calls = 0;
  unit->add_host_function("scale(Tensor x, float by) -> Tensor", [&](std::vector<IValue> a) {
    ++calls;
    return IValue(a[0].toTensor() * a[1].toDouble());
  });
  unit->define("def twice(x: Tensor): return scale(scale(x, 2.0), 3.0)");
  expect_equal(unit->run_method("twice", {ones({2})}).toTensor(), full({2}, 6.0));
  EXPECT_EQ(calls, 2);

  Function& scale = unit->get_function("scale");
  const auto traced = trace(
      [&](const Tensor& x) {
        return scale({x + 1, 0.5}).toTensor();
      },
      {ones({2})});
  calls = 0;
  expect_equal(traced(full({2}, 3.0)), full({2}, 2.0));
  EXPECT_EQ(calls, 1);
  expect_in(error_of([&] { (void)saved_and_loaded(traced.module()); }),
            "host function scale cannot be exported");

  Module m("__torch__.M");
  m.unit()->add_host_function("noise(Tensor x) -> Tensor",
                              [](std::vector<IValue> a) { return IValue(a[0].toTensor() + 1); });
  m.define("def forward(self, x: Tensor): return noise(x) * 2");
  expect_equal(m.forward({ones({2})}).toTensor(), full({2}, 4.0));
  expect_in(error_of([&] { (void)saved_and_loaded(m); }), "host function noise cannot be exported");
  EXPECT_THROW(unit->run_method("scale", {1, 2.0}), TypeError);
}

TEST(JitTraceMixing, NumbersOfScriptsBecomeConstants) {
  const auto unit = compile("def count(x: Tensor): return x.size(0), x * 2");
  const Warnings warnings;
  const auto traced = trace(
      [&](const Tensor& x) {
        const IValue out = unit->run_method("count", {x});
        const auto& items = out.toTupleRef().items;
        return items[1].toTensor() + items[0].toInt();
      },
      {ones({3})});
  ASSERT_EQ(Warnings::texts().size(), 1U);
  expect_in(Warnings::texts()[0], "the value 3 becomes a constant");
  expect_equal(traced(ones({2})), full({2}, 5.0));
}

}  // namespace
}  // namespace tenon::jit
