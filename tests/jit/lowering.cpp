// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Objects and forks that a program has for itself, before it is written in another format.
#include <gtest/gtest.h>

#include "jit/passes/passes.h"
#include "jit/run/plan.h"
#include "tenon/jit.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

const char* const kProgram = R"(
class Counter:
    def __init__(self, n: int):
        self.n = n
        self.last = n
    def __enter__(self) -> int:
        self.last = self.n
        self.n = self.n + 1
        return self.n
    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.n = self.last

def local(x: Tensor, k: int) -> Tensor:
    c = Counter(k)
    with c as inside:
        for i in range(2):
            x = x * (c.n + i)
    if k > 2:
        x = x + c.n
    return x + inside

def decided(x: Tensor, k: int) -> Tensor:
    c = Counter(k)
    if k > 2:
        c.n = 7
    return x * c.n

def listed(x: Tensor, k: int) -> Tensor:
    all = [Counter(k), Counter(k + 1)]
    return x * all[k - 3].n

def work(x: Tensor, k: int) -> Tensor:
    return torch.jit.wait(torch.jit.fork(torch.relu, x)) * k

def forked(x: Tensor, k: int) -> Tensor:
    a = torch.jit.fork(work, x, k)
    b = torch.jit.fork(work, x + 1, 3)
    if k > 2:
        x = x - a.wait()
    return torch.jit.wait(a) + b.wait() + x

def kept(x: Tensor, k: int) -> Tensor:
    all = [torch.jit.fork(work, x, k), torch.jit.fork(work, x, 2)]
    return torch.jit.wait(all[0]) - all[1].wait()

def outs(x: Tensor, k: int) -> Tensor:
    whole = torch.zeros(2, 3)
    torch.mul(x, k, out=whole)
    part = torch.zeros(2, 4)
    torch.cumsum(x, 1, out=part[:, 1:])
    made = torch.empty(0)
    return whole + part[:, :3] + torch.add(x, 1, out=made)
)";

// The function after the pass; it computes what it did.
std::string lowered(bool (*pass)(Graph&), const char* name) {
  const auto unit = compile(kProgram);
  const std::shared_ptr<Graph> g = unit->find_function(name)->graph()->copy();
  inline_calls(*g);
  pass(*g);
  g->lint();
  for (const int64_t k : {3, 4}) {
    std::vector<IValue> stack = {randn({2, 3}), k};
    if (k == 4 && name == std::string("listed")) stack[1] = int64_t{3};
    const IValue want = unit->run_method(name, stack);
    Plan(g->copy()).run(stack);
    EXPECT_TRUE(equal(stack.at(0).toTensor(), want.toTensor())) << name;
  }
  return g->str();
}

void expect(const std::string& text, const char* kind, bool there) {
  EXPECT_EQ(text.find(kind) != std::string::npos, there) << kind << "\n" << text;
}

TEST(JitLowering, ObjectsBecomeTheirAttributes) {
  const std::string g = lowered(lower_objects, "local");
  for (const char* kind : {"prim::CreateObject", "prim::GetAttr", "prim::SetAttr"})
    expect(g, kind, false);
}

TEST(JitLowering, ObjectsThatABranchWritesOrAListHoldsStay) {
  expect(lowered(lower_objects, "decided"), "prim::CreateObject", true);
  expect(lowered(lower_objects, "listed"), "prim::CreateObject", true);
}

TEST(JitLowering, ForksAreComputedAtOnce) {
  const std::string g = lowered(lower_forks, "forked");
  expect(g, "prim::fork", false);
  expect(g, "aten::wait", false);
}

TEST(JitLowering, OutputsThatAreGivenAreCopiedTo) {
  const std::string g = lowered(lower_outs, "outs");
  std::size_t copies = 0;
  for (std::size_t at = g.find("aten::copy_"); at != std::string::npos;
       at = g.find("aten::copy_", at + 1))
    ++copies;
  EXPECT_EQ(copies, 2u) << g;  // a tensor without elements is not kept
}

TEST(JitLowering, FuturesInAListAreTheirValues) {
  const std::string g = lowered(lower_forks, "kept");
  for (const char* kind : {"prim::fork", "aten::wait", "Future"}) expect(g, kind, false);
}

TEST(JitLowering, ForksWhoseFuturesAreGivenStay) {
  const auto unit = compile(R"(
def negated(x: Tensor) -> Tensor:
    return -x
def given(x: Tensor) -> Future[Tensor]:
    return torch.jit.fork(negated, x)
)");
  const std::shared_ptr<Graph> g = unit->find_function("given")->graph()->copy();
  EXPECT_FALSE(lower_forks(*g));
}

}  // namespace
}  // namespace tenon::jit
