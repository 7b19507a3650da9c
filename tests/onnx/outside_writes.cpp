// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Branches and loops that write to tensors of outside, and that return early.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

std::string exported(const jit::Module& m, const Tensor& x) {
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  std::ostringstream out;
  onnx::export_(m, {x}, out, options);
  return out.str();
}

std::vector<Tensor> results_of(const jit::Module& m, const Tensor& x) {
  const IValue all = m.forward({x.clone()});  // the program may write to it
  std::vector<Tensor> tensors;
  for (const IValue& v : all.isTuple() ? all.toTupleRef().items : std::vector<IValue>{all})
    tensors.push_back(v.toTensor().clone());
  return tensors;
}

// For inputs that take each branch, and of other lengths.
void expect_same(const std::string& body, const std::string& result = "") {
  manual_seed(5);
  const jit::Module m = define("def forward(self, x: Tensor)" + result + ":\n" + body);
  const Tensor x = randn({4, 3});
  const jit::Module back = onnx::load_bytes(exported(m, x));
  for (const Tensor& given : {x, -x, x.abs(), -x.abs(), randn({7, 3}), randn({1, 3})}) {
    const auto got = results_of(back, given), expected = results_of(m, given);
    ASSERT_EQ(got.size(), expected.size()) << body;
    for (std::size_t k = 0; k < got.size(); ++k)
      EXPECT_TRUE(got[k].sizes() == expected[k].sizes() &&
                  allclose(got[k], expected[k], 1e-5, 1e-6))
          << body << "result " << k << " for " << given.sizes();
  }
}

TEST(OnnxOutsideWrites, Branches) {
  expect_same(R"(
    y = x * 2
    v = y[:, 1:]
    if bool(x.sum() > 0):
        v[0] = 9
        v += 1
    else:
        y.zero_()
    return y, v
)");
  expect_same(R"(
    y = x * 2
    if bool(x.sum() > 0):
        if bool(x[0, 0] > 0):
            y[0] = 1
        y += 1
    else:
        y = y - 3
    y *= 2
    return y
)");
  expect_same(R"(
    v = x[0]
    if bool(x.sum() > 0):
        v[0] = 1
    return x * 2
)");
}

TEST(OnnxOutsideWrites, Loops) {
  expect_same(R"(
    y = torch.zeros_like(x)
    for i in range(x.size(0)):
        y[i] = x[i] * 2
        if bool(y[i].sum() > 0):
            y[i, 0] = -1.0
    y[0] += 1
    return y
)");
  expect_same(R"(
    s = torch.zeros(3)
    t = s
    for i in range(x.size(0)):
        for j in range(2):
            s += x[i] * j
    s /= 2
    return s, t
)");
  expect_same(R"(
    a = torch.zeros(3)
    b = torch.ones(3)
    for i in range(x.size(0)):
        a += x[i]
        a, b = b, a
    return a, b
)");
  expect_same(R"(
    y = torch.zeros_like(x)
    out = x[0]
    for i in range(x.size(0)):
        out = y.add_(x[i])[0] * 1.0
    return out
)");
}

TEST(OnnxOutsideWrites, EarlyReturns) {
  expect_same(R"(
    if bool(x.sum() > 1):
        return x * 2, torch.tensor(1)
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0.3):
            return x[i:] + 1, torch.tensor(i)
    return x, torch.tensor(-1)
)",
              " -> Tuple[Tensor, Tensor]");
  expect_same(R"(
    for i in range(x.size(0)):
        for j in range(3):
            if bool(x[i, j] > 0.7):
                return x[i] * j
    return x[0] - 1
)");
  expect_same(R"(
    n = 0
    while True:
        x = x * 2
        n += 1
        if bool(x.abs().sum() > 100):
            return x, torch.tensor(n)
        if n > 4:
            break
    return x + 1, torch.tensor(n)
)",
              " -> Tuple[Tensor, Tensor]");
}

// They are read later in the run; the next run begins with the file's values again.
TEST(OnnxOutsideWrites, Attributes) {
  jit::Module m("__torch__.Counts");
  m.register_buffer("sum", ones({3}));
  m.register_attribute("n", jit::Type::integer(), int64_t{2});
  m.define(R"(
def forward(self, x: Tensor):
    self.n = self.n + 1
    self.sum = self.sum * 0.5 + x.sum(0)
    y = self.sum * self.n
    self.sum = y
    y.add_(1)
    return self.sum, y, None
)");
  const Tensor x = randn({4, 3});
  const jit::Module back = onnx::load_bytes(exported(m, x));
  const Tensor expected = (x.sum(0) + 0.5) * 3 + 1;
  for (int run = 0; run < 2; ++run) {
    const auto got = results_of(back, x);
    ASSERT_EQ(got.size(), 2U);
    for (const Tensor& t : got) EXPECT_TRUE(allclose(t, expected, 1e-5, 1e-6));
  }
}

// What would be seen under two names is told.
TEST(OnnxOutsideWrites, OtherNamesAreRefused) {
  const auto refusal = [](const std::string& body) {
    const jit::Module m = define("def forward(self, x: Tensor):\n" + body);
    return test::text_of([&] { (void)exported(m, ones({4, 3})); });
  };
  for (const char* body : {// a list keeps the tensor of each turn
                           "    y = torch.zeros(3)\n"
                           "    l: List[Tensor] = []\n"
                           "    for i in range(x.size(0)):\n"
                           "        y += x[i]\n"
                           "        l.append(y)\n"
                           "    return torch.stack(l)\n",
                           "    y = x * 2\n"
                           "    l = [y, x]\n"
                           "    if bool(x.sum() > 0):\n"
                           "        l[0].add_(1)\n"
                           "    return y, l[0]\n",
                           // a part of what is written, or of another tensor
                           "    y = x * 2\n"
                           "    for i in range(x.size(0)):\n"
                           "        if bool(x[i].sum() > 0):\n"
                           "            v = y[i]\n"
                           "        else:\n"
                           "            v = y[0]\n"
                           "        v += 1\n"
                           "    return y\n",
                           // both start as one
                           "    a = torch.zeros(3)\n"
                           "    b = a\n"
                           "    for i in range(x.size(0)):\n"
                           "        a += x[i]\n"
                           "        b = b * 2\n"
                           "    return a, b\n"})
    test::expect_words(refusal(body), {"it writes to memory that has other names"});
}

TEST(OnnxOutsideWrites, PartsCountedFromTheEnd) {
  expect_same("    return x.narrow(0, -1, 1), x.narrow(-1, -2, 2)\n");
  expect_same("    k = int(x.sum() > 0)\n    return torch.narrow(x, 1, k - 2, 2 - k), x\n");
}

TEST(OnnxOutsideWrites, GivenOutputsAndViewsOfEveryKind) {
  expect_same("    y = torch.zeros(3)\n    torch.add(y, x[0], out=y)\n    return y\n");
  expect_same(R"(
    y = torch.zeros(2, 3, 4)
    y.permute(2, -3, 1)[1].add_(x[0])
    y.narrow(1, 1, 2).mul_(3)
    y.narrow(-1, -1, 1).sub_(1)
    torch.cumsum(x[:1], 1, out=y[0, 1:2, :3])
    y.swapdims(0, 2)[0, 0].zero_()
    return y, x * y[0, 0, 0]
)");
}

TEST(OnnxOutsideWrites, PiecesOfATensor) {
  expect_same(R"(
    y = x * 2
    a, b = y.chunk(2, 1)
    a.add_(1)
    b.mul_(y[:, :1])
    return y, a + b
)");
  expect_same(R"(
    y = torch.cat([x, x], 1)
    pieces = y.split([1, 3, 2], 1)
    pieces[1].fill_(0.5)
    first, second, third, = y.split(2, 1)
    third -= first
    rows = y.t().unbind(0)
    rows[5].copy_(x[:, 0])
    y[0] = 7
    return y, pieces[1], second, rows[5]
)");
}

// Those of a list are told apart where a loop goes over it.
TEST(OnnxOutsideWrites, ElementsOfALoop) {
  for (const char* end : {"    for q in rows:\n        s = s + q\n        q.mul_(2)\n",
                          "    for i in range(2):\n        rows[i].sub_(i + 1)\n"
                          "        s = s + rows[i]\n"})
    for (const char* rows : {"y.unbind(0)", "y.split(1)", "[y[0], y[1]]", "[y[0], x[0] * 2]"})
      expect_same("    y = torch.zeros(2, 3) + x[0]\n    rows = " + std::string(rows) +
                  "\n    s = torch.zeros(3)\n" + end + "    return y, s\n");
  expect_same(
      "    rows = [x[0] * 2, x[0] * 3]\n    rows[0].add_(1)\n    rows[-1].mul_(2)\n"
      "    return rows[0] + rows[1]\n");
}

// They were those of before the write.
TEST(OnnxOutsideWrites, AListOfPiecesOfWhatIsWritten) {
  const std::string begin = "    y = torch.zeros(2, 3) + x[0]\n    rows = y.unbind(0)\n",
                    end = "    s = torch.zeros(3)\n    for q in rows:\n        s = s + q\n";
  for (const std::string& body : {begin + "    y.add_(1)\n" + end + "    return s\n",
                                  begin + "    y.add_(1)\n    return torch.cat(rows)\n"})
    test::expect_words(test::text_of([&] {
                         exported(define_of_x(body), ones({2, 3}));
                       }),
                       {"it writes to memory that has other names"});
}

TEST(OnnxOutsideWrites, WhatMayBeTheTensorItself) {
  expect_same("    y = x * 2\n    v = y.type_as(x)\n    v[:1].add_(1)\n    return y, v\n");
  expect_same("    y = x * 2\n    y.movedim(0, 1)[0].mul_(3)\n    return y\n");
  expect_same("    y = x * 2\n    y.moveaxis(1, 0)[1].sub_(1)\n    return y\n");
}

}  // namespace
