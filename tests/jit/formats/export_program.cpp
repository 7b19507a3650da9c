// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs of other kinds written as torch.export.save does, and read back. `./dev program-export`
// has torch read them.
#include "tenon/jit/export_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "jit/formats/zip.h"
#include "tenon/jit.h"
#include "tenon/jit/trace.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

// Tests run at once, each in a process of its own.
std::string path_of(const std::string& name) {
  return core::join(testing::TempDir(), "/", name, "_", getpid(), ".pt2");
}

// What the program gives after it was written and read.
IValue again(const Module& m, const std::vector<IValue>& inputs) {
  const std::string path = path_of("tenon_program");
  export_program(m, inputs, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  return back.forward(inputs);
}
void expect_near(const Tensor& a, const Tensor& b) {
  EXPECT_TRUE(allclose(a, b, 1e-5, 1e-6)) << a << b;
}

TEST(ExportProgram, ANetworkKeepsItsNamesAndIsTrained) {
  manual_seed(3);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).padding(1)), nn::BatchNorm2d(3),
                     nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Dropout(0.5),
                     nn::Linear(12, 4));
  net->eval();
  const Tensor x = randn({2, 2, 4, 4});
  const std::string path = path_of("tenon_network");
  export_program(trace(net, {x}), {x}, path);
  Module back = load(path);
  std::filesystem::remove(path);
  expect_near(back.forward({x}).toTensor(), net->forward(x));
  const auto parameters = back.named_parameters();
  ASSERT_EQ(parameters.size(), net->parameters().size());
  for (const auto& p : net->named_parameters()) {
    const auto at = std::find_if(parameters.begin(), parameters.end(),
                                 [&](const auto& q) { return q.name == p.key(); });
    ASSERT_NE(at, parameters.end()) << p.key();
    EXPECT_TRUE(at->value.equal(p.value()));
    EXPECT_TRUE(at->value.requires_grad());
  }
  back.forward({x}).toTensor().sum().backward();
  net->forward(x).sum().backward();
  for (const auto& p : net->named_parameters()) {
    for (const auto& q : parameters)
      if (q.name == p.key()) expect_near(q.value.grad(), p.value().grad());
  }
}

TEST(ExportProgram, ArgumentsOfEveryKind) {
  const Module m = define(R"(
def forward(self, x: Tensor, pair: Tuple[Tensor, Tensor], more: List[Tensor], n: int) -> Tuple[Tensor, List[Tensor], int]:
    a, b = torch.chunk(x, 2, 1)
    a = a.to(torch.float64).to(memory_format=torch.contiguous_format)
    a.add_(1.5, alpha=2)
    y = torch.cat([pair[0], pair[1]] + more, 0).index_put([torch.tensor([0, 1])], torch.ones([2, 2]))
    z = torch.full([x.size(0), n], float("inf"), dtype=torch.float32).clamp(max=3.0)
    w = torch.max(b, 1)[0].unsqueeze(-1)
    return (a.sum() + y.mean() + z.sum(), [w, torch.where(b > 0, b, -b)], n)
)");
  const std::vector<IValue> inputs = {
      randn({3, 4}), IValue(std::tuple<Tensor, Tensor>(randn({2, 2}), randn({1, 2}))),
      IValue(std::vector<Tensor>{randn({1, 2}), randn({2, 2})}), int64_t{5}};
  const auto want = m.forward(inputs).toTupleRef().items, got = again(m, inputs).toTupleRef().items;
  expect_near(got[0].toTensor(), want[0].toTensor());
  EXPECT_EQ(got[0].toTensor().scalar_type(), kDouble);
  for (std::size_t i = 0; i < 2; ++i)
    expect_near(got[1].toListRef().items[i].toTensor(), want[1].toListRef().items[i].toTensor());
  EXPECT_EQ(got[2].toInt(), 5);
}

// Constants of the text stand beside the weights; sizes that a trace computed as tensors are
// numbers; loops of known length are unrolled.
TEST(ExportProgram, ConstantsAndArithmeticOfSizes) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    rows = torch.mul(torch.tensor(x.size(0)), torch.tensor(2))
    y = x * torch.tensor([1.0, -2.0, 3.0])
    sizes = [2]
    for i in range(3):
        y = y + i
        sizes.append(i)
    parts = [y]
    parts.append(y * 2)
    parts[0] = parts[1] - 1
    y = torch.stack(parts, 0).mean(0) + len(sizes) + sizes[-1]
    if x.dim() == 2:
        y = y.repeat(2, 1)
    return y.view([int(rows), -1])
)");
  const Tensor x = randn({2, 3});
  expect_near(again(m, {x}).toTensor(), m.forward({x}).toTensor());
}

// Also where they are written in place, and where they stand side by side in a tensor.
TEST(ExportProgram, SizesAsTensorsThatAreWrittenOrJoined) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    rows = torch.mul(torch.tensor(x.size(0)), torch.tensor(2))
    more = torch.mul_(torch.mul(rows, torch.tensor(1)), torch.tensor(x.size(1)))
    shape = torch.cat([torch.tensor([x.size(1)]), torch.full([1], -1, dtype=torch.long)], 0)
    shape = shape.view(-1, 1).transpose(0, 1).reshape(-1)
    shape = torch.where(torch.eq(shape, torch.tensor(7)), torch.ones_like(shape), shape)
    sizes: List[int] = shape.tolist()
    return x.view(sizes) * int(more) + int(rows)
)");
  const Tensor x = randn({2, 3});
  expect_near(again(m, {x}).toTensor(), m.forward({x}).toTensor());
}

TEST(ExportProgram, ListsOfConstantsAreUnpacked) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    rows, columns = torch.meshgrid([torch.arange(2), torch.arange(3)], indexing="ij")
    return x + rows * columns
)");
  const Tensor x = randn({2, 3});
  expect_near(again(m, {x}).toTensor(), m.forward({x}).toTensor());
}

// As layers of vision transformers hold the sizes of images.
TEST(ExportProgram, ElementsOfTuplesThatModulesHold) {
  Module m("SizesInATuple");
  m.register_attribute("sizes", Type::tuple({Type::integer(), Type::integer()}),
                       std::make_tuple(4, 3));
  m.define(R"(
def forward(self, x: Tensor) -> Tensor:
    n, k = x.size()
    assert k == self.sizes[0]
    return x + k // self.sizes[1]
)");
  const Tensor x = randn({2, 4});
  expect_near(again(m, {x}).toTensor(), x + 1);
}

TEST(ExportProgram, ForksAreComputedAtOnce) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    a = torch.jit.fork(torch.relu, x)
    return torch.jit.wait(a) + x
)");
  const Tensor x = randn({2, 3});
  expect_near(again(m, {x}).toTensor(), m.forward({x}).toTensor());
}

TEST(ExportProgram, ArgumentsThatWereNotGivenHaveTheirDefaults) {
  const Module m = define(R"(
def forward(self, x: Tensor, by: Union[int, float] = 3, mask: Optional[Tensor] = None) -> Tensor:
    if isinstance(by, int) and mask is None:
        x = x * by
    return x
)");
  expect_near(again(m, {ones({2})}).toTensor(), full({2}, 3.0));
  const std::string path = path_of("tenon_defaults");
  export_program(m, {ones({2})}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  // torch wants a value for each that is written
  EXPECT_EQ(back.get_method("forward").function().schema().arguments.size(), 2U);
}

// A constant is the same in every run, also of a program that adds data to it.
TEST(ExportProgram, ConstantsThatAreWrittenAreCopied) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    sum = torch.tensor([1.0, 2.0])
    sum.add_(x)
    count = torch.tensor([1, 2])
    count.add_(torch.tensor(1))
    start = torch.tensor([0, 7])
    start.detach().view([2]).add_(torch.tensor([1, 2]))
    copy = torch.clone(torch.tensor([3, 4]))
    copy.detach().add_(torch.tensor([1, 2]))
    return sum * count + start - copy - torch.tensor([-3, 3])
)");
  const Tensor x = randn({2});
  const std::string path = path_of("tenon_written");
  export_program(m, {x}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  for (int i = 0; i < 2; ++i)
    expect_near(back.forward({x}).toTensor(), (x + tensor({1.0, 2.0})) * tensor({2, 3}));
}

// Also between two reads, and from one call to the next.
TEST(ExportProgram, BuffersThatAreWrittenKeepWhatWasWritten) {
  Module m("__torch__.Counts");
  m.register_buffer("total", zeros({1}));
  m.register_attribute("seen", Type::tensor(), zeros({2}));
  m.define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
    before = self.total * 2
    self.total.add_(x.sum())
    self.seen.add_(1)
    return before + self.total, self.seen + x
)");
  const Tensor x = ones({2});
  const std::string path = path_of("tenon_counts");
  export_program(m, {x}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(back.named_buffers().size(), 2U);
  EXPECT_EQ(m.attr("total").toTensor().item<float>(), 0);
  for (int i = 0; i < 3; ++i) {
    const auto got = back.forward({x}).toTupleRef().items, want = m.forward({x}).toTupleRef().items;
    expect_near(got[0].toTensor(), want[0].toTensor());
    expect_near(got[1].toTensor(), want[1].toTensor());
  }
}

TEST(ExportProgram, RandomNumbersAreDrawnInEachCall) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
    return x + torch.randn([4]) - torch.rand_like(x), torch.randint(0, 1000, [8]) * x.sum()
)");
  const std::string path = path_of("tenon_random");
  export_program(m, {ones({4})}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  const auto first = back.forward({ones({4})}).toTupleRef().items,
             second = back.forward({ones({4})}).toTupleRef().items;
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_FALSE(first[i].toTensor().equal(second[i].toTensor())) << i;
}

// torch reads results that are numbers one by one, and no texts.
TEST(ExportProgram, ListsOfNumbersAreResults) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, List[int], List[List[float]]]:
    return x, x.size(), [[0.5], [1.5, 2.5]]
)");
  const auto got = again(m, {ones({2, 3})}).toTupleRef().items;
  EXPECT_EQ(got[1].toIntVector(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(got[2].toListRef().items.at(1).toDoubleVector(), (std::vector<double>{1.5, 2.5}));
  const Module text = define("def forward(self, x: Tensor) -> str:\n    return str(x.dim())\n");
  test::expect_words(test::text_of([&] { (void)again(text, {ones({2})}); }),
                     {"cannot write the text '1' as a result"});
}

TEST(ExportProgram, WhatItCannotHoldIsTold) {
  const std::string path = path_of("tenon_refused");
  std::filesystem::remove(path);
  const auto refusal = [&](const std::string& body) {
    const Module m = define("def forward(self, x: Tensor) -> Tensor:\n" + body);
    return test::text_of([&] { export_program(m, {ones({2})}, path); });
  };
  test::expect_words(refusal("    return x + int(bool(x.sum() > 0))\n"),
                     {"export_program: cannot write aten::Int: its result depends on data"});
  test::expect_words(refusal("    xs: List[float] = x[x > 0].tolist()\n    return x * xs[0]\n"),
                     {"cannot write prim::tolist", "depends on data", "<--- HERE"});
  EXPECT_FALSE(std::filesystem::exists(path));
  const Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return x\n");
  test::expect_words(test::text_of([&] { export_program(m, {}, path); }),
                     {"forward() is missing value for argument 'x'"});
}

// Written with the first inputs; the others choose other elements and sizes.
void expect_same(const Module& m, const std::vector<Tensor>& examples) {
  const std::string path = path_of("tenon_by_data");
  export_program(m, {examples.at(0)}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  for (const Tensor& x : examples) {
    const IValue expected = m.forward({x}), got = back.forward({x});
    for (std::size_t i = 0; i < expected.toTupleRef().items.size(); ++i)
      expect_near(got.toTupleRef().items[i].toTensor(), expected.toTupleRef().items[i].toTensor());
  }
}

TEST(ExportProgram, SizesThatDataDecideAreThoseOfEachRun) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    at = (x > 0).nonzero()
    chosen = x[x > 0]
    where, = torch.where(x > 1)
    return torch.ones(at.size(0)), chosen.size(0) * x, chosen.mean(), where.numel() + x
)");
  expect_same(m, {tensor({1.0, -1.0, 2.0, 3.0}), tensor({1.0, -1.0, -2.0, -3.0})});
}

TEST(ExportProgram, NumbersThatTensorsHoldAreReadInEachRun) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    n = int(x.sum())
    part = float(x.max().item()) / 2
    if n > 3:
        y = x + n
    else:
        y = x - n
    return y, torch.arange(n + 1), x * part, torch.full([2], int(x.sum().long()))
)");
  expect_same(m, {tensor({1.0, 2.0, 3.5}), tensor({1.0, 1.0, 0.0})});
}

TEST(ExportProgram, ListsOfNumbersThatATensorHoldsAreReadInEachRun) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    at: List[int] = x.to(torch.int64)[:3].tolist()
    reals: List[float] = x.to(torch.float64).tolist()
    return torch.zeros(at[0:2]), x[at[2]] * at[1], x * reals[3]
)");
  expect_same(m, {tensor({1.0, 2.0, 3.0, 0.5}), tensor({3.0, 1.0, 0.0, 4.5})});
}

TEST(ExportProgram, BranchesAndLoopsByDataWriteToTensors) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    kept = torch.zeros_like(x)
    if bool(x.sum() > 0):
        kept[0] = 5
        own = x.clone()
        own += 1
    else:
        own = x * 2
        kept[1:].sub_(own[1:])
    for value in torch._unique2(x, True, False, False)[0]:
        at, = torch.where(x == value)
        kept[at] += value * at.numel()
    count = 0
    while bool(kept.sum() < 50):
        kept.abs_().mul_(2).add_(1)
        count += 1
    return kept, own, x * count
)");
  expect_same(m, {tensor({1.0, 2.0, 2.0, 0.5}), tensor({-3.0, -3.0, -3.0, -3.0}),
                  tensor({-3.0, -1.0, 0.0, 1.5})});
}

TEST(ExportProgram, BranchesByDataGiveTensorsOfOtherSizes) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    chosen = x[x > 0]
    if chosen.numel() == 0:
        y = torch.zeros([0])
    else:
        y = chosen * 2 - chosen.max()
    return y.sum(), torch.ones([4]) * y.numel()
)");
  expect_same(m, {tensor({1.0, 2.0, -2.0, 0.5}), tensor({-3.0, -3.0, -3.0, -3.0}),
                  tensor({-3.0, -1.0, 0.0, 1.5})});
}

// The number of pieces is known where their sizes are not. cond gives tensors of one rank: the
// written program checks that the data decide as the example's do.
TEST(ExportProgram, SizesOfListsThatDataDecide) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    chosen = x[x > 0]
    n = chosen.size(0)
    lengths = [n, n * 2, 3]
    pieces = torch.cat([chosen, chosen, chosen]).split([n, n * 2], 0)
    y = torch.ones([min(lengths), max(lengths), sum(lengths)])
    y = y * float(torch.reciprocal(torch.tensor(n + 1)))
    if n > 0:
        chosen = chosen.view([1, -1])
    return y, chosen * len(pieces), pieces[1]
)");
  expect_same(m, {tensor({1.0, 2.0, -2.0, 0.5}), tensor({-3.0, -3.0, 1.0, -3.0}),
                  tensor({3.0, 1.0, 1.0, 1.5})});
  const std::string path = path_of("tenon_checked");
  export_program(m, {tensor({1.0, 2.0})}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  test::expect_words(test::text_of([&] {
                       (void)back.forward({tensor({-1.0, -2.0})});
                     }),
                     {"the program was exported for"});
}

TEST(ExportProgram, LoopsOverPairsThatDataCount) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    chosen = x[x > 0]
    out: List[Tensor] = []
    for a, b in zip(chosen, chosen * 2):
        out.append(a + b)
    return torch.stack(out)
)");
  const std::string path = path_of("tenon_pairs");
  export_program(m, {tensor({1.0, 2.0})}, path);
  const Module back = load(path);
  for (const Tensor& x : {tensor({-1.0, 3.0}), tensor({4.0, 2.0})})
    EXPECT_TRUE(back.forward({x}).toTensor().equal(m.forward({x}).toTensor()));
  std::filesystem::remove(path);
}

TEST(ExportProgram, AttributesThatTheProgramSetsAreValues) {
  Module m("__torch__.Program");
  m.register_attribute("seen", Type::boolean(), false);
  m.register_attribute("levels", Type::list(Type::tensor()),
                       IValue(std::vector<Tensor>{zeros({})}));
  m.define(R"(
def build(self, x: Tensor):
    self.levels = [x]
    for i in range(2):
        x = x * 2
        self.levels.append(x)
def forward(self, x: Tensor):
    if not self.seen:
        self.seen = True
    self.build(x)
    return torch.stack(self.levels[::-1]), torch.cat([self.levels[1]] * 3)
)");
  expect_same(m, {tensor({1.0, 2.0}), tensor({-3.0, 1.0})});
}

TEST(ExportProgram, ListsThatAttributesKeepForTheNextCallAreRefused) {
  Module m("__torch__.Program");
  m.register_attribute("state", Type::list(Type::tensor()), std::vector<Tensor>{zeros({2})});
  m.define(R"(
def forward(self, x: Tensor):
    self.state = [self.state[0] + x]
    return self.state[0]
)");
  test::expect_words(
      test::text_of([&] { export_program(m, {ones({2})}, path_of("tenon_state")); }),
      {"cannot write prim::SetAttr", "attribute 'state' for the next call", "make it a buffer"});
}

TEST(ExportProgram, BoolsByDataAreJoined) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    small = bool(x.sum() < 3)
    if torch.__and__(True, small):
        x = x + 1
    if torch.__or__(bool(x.max() > 4), small):
        x = x * 2
    y = x
    while torch.__and__(bool(y.sum() < 50), bool(y.max() < 20)):
        y = y * 3
    return x, y
)");
  expect_same(m, {tensor({1.0, 1.0}), tensor({5.0, 1.0}), tensor({2.0, 3.0}), tensor({20.0, 1.0})});
}

TEST(ExportProgram, ListsOfTensorsAreChangedInEveryWay) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    kept = [x, x + 1, x + 2]
    last = kept.pop()
    kept.insert(0, last * 2)
    kept.insert(-1, last * 3)
    kept.reverse()
    first = kept.pop(0)
    del kept[1]
    gone = [x]
    gone.clear()
    kept += gone
    return last, first, torch.stack(kept), x * len(kept)
)");
  expect_same(m, {tensor({1.0, 2.0}), tensor({3.0, 4.0})});
}

TEST(ExportProgram, WhatKindOfTensorItIsIsKnown) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    if x.is_nested or x.is_sparse or x.is_quantized:
        x = x * 2
    return x + 1, x
)");
  expect_same(m, {tensor({1.0, 2.0}), tensor({3.0, 4.0})});
}

TEST(ExportProgram, AttentionOfScriptsIsTheOperatorOfTorch) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    w = torch.arange(48, dtype=6).view(12, 4) / 48
    y, weights = torch._native_multi_head_attention(
        x, x, x, 4, 2, w, torch.ones([12]), w[:4], torch.zeros([4]))
    return y, weights
)");
  expect_same(m, {ones({1, 3, 4}), arange(12, kFloat).view({1, 3, 4}) / 12});
}

// torch serializes such a result as none.
TEST(ExportProgram, AttentionMayLeaveItsWeightsOut) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    w = torch.arange(48, dtype=6).view(12, 4) / 48
    y, weights = torch._native_multi_head_attention(
        x, x, x, 4, 2, w, torch.ones([12]), w[:4], torch.zeros([4]), None, False)
    return y, weights, x + 1
)");
  const Tensor x = arange(12, kFloat).view({1, 3, 4}) / 12;
  const IValue got = again(m, {x}), expected = m.forward({x});
  expect_near(got.toTupleRef().items[0].toTensor(), expected.toTupleRef().items[0].toTensor());
  EXPECT_TRUE(got.toTupleRef().items[1].isNone());
  expect_near(got.toTupleRef().items[2].toTensor(), x + 1);
}

TEST(ExportProgram, ATensorGoesWhereAnotherIs) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    y = torch.ones([2]).to(x.device)
    z = y.to(x.device, torch.float64)
    y.add_(x)
    c = x.to(x.device, None, False, True)
    c.mul_(3)
    same = torch.as_tensor(y)
    same.add_(1)
    wide = torch.as_tensor(same, dtype=torch.float64)
    return y, z, c, x.to(torch.float64, False), x.to(False), x.cpu(), same, wide
)");
  expect_same(m, {tensor({1.0, 2.0}), tensor({3.0, 4.0})});
}

TEST(ExportProgram, OperatorsOfOtherLibrariesKeepTheirNames) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    boxes = torch.cat([x[:, :2], x[:, :2] + 1], 1)
    kept = ops.torchvision.nms(boxes, x[:, 2], 0.3)
    return boxes[kept], torch.zeros(kept.size(0))
)");
  expect_same(m, {tensor({{0.0, 0.0, 1.0}, {0.1, 0.0, 2.0}, {5.0, 5.0, 0.5}}),
                  tensor({{0.0, 0.0, 1.0}, {0.1, 0.0, 2.0}, {0.0, 0.1, 0.5}})});
}

// The text of a program has no types of values but those that follow from the operators.
TEST(ExportProgram, NumbersThatTensorsHoldAreSavedAsTorchScript) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    n = int(x.sum())
    return torch.zeros([n, 2]) + float(x.max())
)");
  const std::string path = path_of("tenon_numbers");
  export_program(m, {tensor({1.0, 2.0})}, path);
  const Module program = load(path);
  std::filesystem::remove(path);
  program.unit()->kept = nullptr;  // it would be saved as the file that it is
  std::stringstream file;
  program.save(file);
  const Tensor x = tensor({2.5, 2.0});
  expect_near(load(file).forward({x}).toTensor(), m.forward({x}).toTensor());
}

// Its checks of what it was exported for are not a part of the new program.
TEST(ExportProgram, AnExportedProgramIsExportedForTheSizesOfTheExample) {
  const Module m = load(data("exported_net.pt2"));
  const Tensor x = counted({3, 2, 4, 4});
  const std::string path = path_of("tenon_exported");
  export_program(m, {x}, path);
  const Module back = load(path);
  std::filesystem::remove(path);
  m.eval();
  expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
  EXPECT_EQ(back.named_parameters().size(), m.named_parameters().size());
  EXPECT_THROW((void)back.forward({counted({5, 2, 4, 4})}), ValueError);
}

TEST(ExportProgram, TheModuleAndItsInputsStayAsTheyWere) {
  Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return x.add_(1)\n");
  const Tensor x = zeros({3});
  const std::string path = path_of("tenon_writes");
  export_program(m, {x}, path);
  std::filesystem::remove(path);
  EXPECT_EQ(x.sum().item<float>(), 0);
  Module dropout = define(
      "def forward(self, x: Tensor) -> Tensor:\n    return torch.dropout(x, 0.5, self.training)\n");
  dropout.train();
  export_program(dropout, {ones({4})}, path);
  EXPECT_TRUE(dropout.is_training());
  expect_near(load(path).forward({ones({4})}).toTensor(), ones({4}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon::jit
