// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Exported programs whose branches and loops go by data.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

class ExportByData : public testing::Test {
 protected:
  // As it is after it was written, with the example, and read.
  static Module written(const Module& m, const Tensor& example) {
    const std::string path = core::join(testing::TempDir(), "/tenon_by_data_", getpid(), ".pt2");
    export_program(m, {example}, path);
    const Module back = load(path);
    std::filesystem::remove(path);
    return back;
  }
  static void expect_same(const Module& m, const Module& back, const Tensor& x) {
    std::vector<Tensor> want, got;
    add_tensors(m.forward({x}), want);
    add_tensors(back.forward({x}), got);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t k = 0; k < want.size(); ++k)
      EXPECT_TRUE(allclose(want[k], got[k], 1e-5, 1e-6)) << x << want[k] << got[k];
  }
};

// The sides of the second branch give tensors of other ranks: the file takes the example's.
TEST_F(ExportByData, ABoolOrNumberOfABranchIsThatOfTheSideTaken) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    if bool(x.sum() > 0):
        wide = True
        n = 3
    else:
        wide = False
        n = 2
    if wide:
        z = x[:, :n]
    else:
        z = x[0, :n]
    if n == 2:
        z = z + 1
    return z
)");
  for (const double example : {-1.0, 1.0})
    expect_same(m, written(m, full({2, 3}, example)), full({2, 3}, 2 * example));
}

// The first turn is written before the loop; the file checks that there is one.
TEST_F(ExportByData, LoopsBeginWithNone) {
  const char* const programs[] = {R"(
def forward(self, x: Tensor):
    best: Optional[Tensor] = None
    i = 0
    while bool(x[i].sum() < 100) and i < 3:
        if best is None:
            best = x[i]
        else:
            best = torch.max(best, x[i])
        i += 1
    assert best is not None
    return best, torch.tensor(i)
)",
                                  R"(
def forward(self, x: Tensor):
    state: Optional[Tensor] = None
    y = x
    steps: List[Tensor] = []
    while bool(y.abs().sum() > 0.5):
        state = y if state is None else state + y
        steps.append(state)
        y = y * 0.5
    return torch.stack(steps).sum(0)
)"};
  for (const char* program : programs) {
    const Module m = define(program);
    const Tensor x = arange(8, kFloat).view({4, 2}) - 3.0;
    const Module back = written(m, x);
    for (const double scale : {1.0, 2.0, 0.05}) expect_same(m, back, x * scale);
    expect_same(m, back, x.clone().index_fill(0, tensor({1}), 50.0));
    test::expect_words(
        test::text_of([&] {
          (void)back.forward({std::strstr(program, "best") ? full({4, 2}, 200.0) : zeros({4, 2})});
        }),
        {"decide as the example's do"});
  }
}

TEST_F(ExportByData, BranchesAppendToLists) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    rows: List[Tensor] = [x[0]]
    others: List[Tensor] = []
    for i in range(4):
        if bool(x[i].sum() > 0):
            rows.append(x[i] * 2)
            y = x[i]
        else:
            others.append(x[i])
            y = x[i] * 3
        rows.append(y)
    if len(others) == 0:
        others.append(x[0] * 0)
    return torch.stack(rows), torch.cat(rows), torch.stack(rows, -1), torch.tensor(len(others))
)");
  const Tensor x = arange(8, kFloat).view({4, 2}) - 3.0;
  for (const double example : {1.0, -1.0}) {
    const Module back = written(m, x * example);
    expect_same(m, back, x);
    expect_same(m, back, -x);
  }
}

// The file stacks what turns append: it would fail where torch runs it.
TEST_F(ExportByData, AppendedTensorsOfVaryingSizesAreRefused) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    rows: List[Tensor] = []
    i = 1
    while bool(x[:i].sum() < 100) and i < 4:
        rows.append(x[:i])
        i += 1
    return torch.cat(rows)
)");
  test::expect_words(test::text_of([&] {
                       (void)written(m, ones({4, 2}));
                     }),
                     {"appends tensors whose sizes vary to a list"});
}

TEST_F(ExportByData, DataOfATensorIsWithoutGradients) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    rows, columns = x.data.shape
    return x * x.data + rows
)");
  const Tensor x = randn({2, 3}).requires_grad_();
  const Module back = written(m, x.detach());
  expect_same(m, back, x);
  back.forward({x}).toTensor().sum().backward();
  EXPECT_TRUE(allclose(x.grad(), x.detach()));
}

// As nn.TransformerDecoder asks whether its mask is the causal one.
TEST_F(ExportByData, AFlagByDataOfAnOperatorIsTheExamples) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    q = x.unsqueeze(0)
    return torch.scaled_dot_product_attention(q, q, q, None, 0.0, bool(x.sum() > 0))
)");
  for (const double example : {1.0, -1.0}) {
    const Module back = written(m, full({3, 2}, example));
    expect_same(m, back, full({3, 2}, 2 * example));
    test::expect_words(test::text_of([&] {
                         (void)back.forward({full({3, 2}, -example)});
                       }),
                       {"decide as the example's do"});
  }
}

TEST_F(ExportByData, TheSideThatTheExampleDoesNotTakeMayFail) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    chosen = x[x > 0]
    mask: Optional[Tensor] = None
    if chosen.size(0) > 2:
        mask = chosen > 1
        y = chosen.view([3, -1]).sum(0)
    else:
        y = chosen[:2] + x[:2]
    if mask is not None:
        y = y * mask.sum()
    return y
)");
  const Module back = written(m, tensor({1.0, -2.0, 0.5, -1.0}));
  expect_same(m, back, tensor({1.0, 2.0, -3.0, -1.0}));
  test::expect_words(test::text_of([&] {
                       (void)back.forward({tensor({1.0, 2.0, 3.0, -1.0})});
                     }),
                     {"the program was exported for sizes where"});
  expect_same(m, written(m, tensor({1.0, 2.0, 3.0, -1.0})), tensor({5.0, -2.0, 1.0, 0.5}));
}

TEST_F(ExportByData, RangesWithSteps) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    n = int(x.sum())
    y = torch.zeros([1])
    for i in range(1, n, 3):
        y = y * 2 + i
    for i in range(n, -2, -2):
        y = y * 0.5 + i
    for i in range(2, n):
        y = y + 1
    return y
)");
  for (const double example : {1.0, 0.0}) {
    const Module back = written(m, full({4}, example));
    for (const double x : {-2.0, 0.0, 0.25, 1.0, 2.0, 2.5}) expect_same(m, back, full({4}, x));
  }
}

// torch's reader fails at checks of symbols that are reals.
TEST_F(ExportByData, ConditionsOfRealsAreCheckedInTensors) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    total = float(x.sum())
    if total > 1.0:
        x = x.unsqueeze(0)
    return x * 2
)");
  for (const double example : {1.0, -1.0}) {
    const Module back = written(m, full({2}, example));
    expect_same(m, back, full({2}, 2 * example));
    test::expect_words(test::text_of([&] { (void)back.forward({full({2}, -example)}); }),
                       {"exported for data that decide as the example's do"});
  }
}

// They stay operators of torch, whose loops over the lengths no file holds.
TEST_F(ExportByData, PackedSequencesOfAnyLengths) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    lengths = torch.sort(x.sum([0, 2]).clamp(1, 4).to(torch.int64), 0, True)[0]
    data, sizes = torch._pack_padded_sequence(x, lengths, False)
    weights = [torch.full([6, 3], 0.1), torch.full([6, 2], -0.2), torch.ones([6]), torch.ones([6])]
    y, h = torch.gru(data, sizes, torch.zeros([1, 2, 2]), weights, True, 1, 0.0, False, False)
    padded, back = torch._pad_packed_sequence(y, sizes, True, 0.5, 0)
    return padded, back, h, data * 2
)");
  const Module back = written(m, full({4, 2, 3}, 0.25));
  for (const double x : {0.0, 0.1, 0.25, 1.0}) {
    const Tensor two = stack({full({4, 3}, x), full({4, 3}, 0.15)}, 1);
    expect_same(m, back, two);
  }
}

TEST_F(ExportByData, BoolsOfTensorsAndOfNumbersAreJoined) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    n = 0
    while n < int(x.max()) and bool(x.sum() < 20):
        x = x + 1
        n = n + 1
    if bool(x.min() > 2) or n > 3:
        y = x * 2
    else:
        y = x - n
    return y, x * n
)");
  const Module back = written(m, tensor({1.0, 2.0, 3.0}));
  for (const double x : {-2.0, 1.0, 3.0, 8.0}) expect_same(m, back, tensor({x, 2 * x, x + 1}));
}

// The turns are stacked by the file's loop, which gives one where there is none.
TEST_F(ExportByData, LoopsAppendToLists) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    rows: List[Tensor] = []
    wide = [x.sum(1)]
    n = 0
    while n < 7 and bool(x.sum() < 20):
        rows.append(x[0] * n)
        x = x * 1.5 + 1
        wide.append(x.sum(1))
        n = n + 1
    more: List[Tensor] = []
    for i in range(int(x.max())):
        more.append(x + i)
    last = more[-1]
    return torch.stack(wide, 1), torch.cat(wide), torch.cat(more, 1), torch.stack(more, -1), last, x, n
)");
  const Module back = written(m, full({2, 3}, 1.0));
  for (const double x : {-1.0, 1.0, 1.5, 3.0, 30.0}) expect_same(m, back, full({2, 3}, x));
  const Module none = define(R"(
def forward(self, x: Tensor):
    rows: List[Tensor] = []
    while bool(x.sum() < 20):
        rows.append(x)
        x = x + 1
    rows.append(x)
    return torch.stack(rows)
)");
  test::expect_words(test::text_of([&] { (void)written(none, ones({2})); }),
                     {"aten::append", "can only be stacked"});
  const Module twice = define(R"(
def forward(self, x: Tensor):
    rows: List[Tensor] = []
    while bool(x.sum() < 20):
        rows.append(x)
        if bool(x.sum() > 10):
            rows.append(x)
        x = x + 1
    return torch.stack(rows)
)");
  test::expect_words(test::text_of([&] { (void)written(twice, ones({2})); }),
                     {"writes to a tensor or a list"});
}

// Another turn may go another way than the first one.
TEST_F(ExportByData, ABranchOfALoopIsNotDecidedByItsFirstTurn) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    while bool(x.sum() < 20):
        if bool(x.sum() < 8):
            y = x[:1]
        else:
            y = x[:2]
        x = x + y.sum()
    return x
)");
  test::expect_words(test::text_of([&] { (void)written(m, ones({3})); }),
                     {"a branch by data in a loop by data"});
  const Module same = define(R"(
def forward(self, x: Tensor):
    while bool(x.sum() < 20):
        if bool(x.sum() < 8):
            y = x + 1
        else:
            y = x * 2
        x = y
    return x
)");
  const Module back = written(same, ones({3}));
  for (const double x : {1.0, 3.0, 30.0}) expect_same(same, back, full({3}, x));
}

// The fast path of nn.TransformerEncoder, with padding at the end and elsewhere.
TEST_F(ExportByData, EncodersWithPaddingAreWritten) {
  Module m("__torch__.Encoder");
  manual_seed(3);
  const auto add = [&](const char* name, const Tensor& t) { m.register_parameter(name, t); };
  add("w", randn({6, 2}));
  add("b", randn({6}));
  add("ow", randn({2, 2}));
  add("v", randn({2}));
  add("one", ones({2}));
  m.define(R"(
def forward(self, x: Tensor, kept: Tensor):
    mask: Optional[Tensor] = torch.logical_not(kept)
    if torch._nested_tensor_from_mask_left_aligned(x, kept):
        y = torch._nested_tensor_from_mask(x, kept, False)
        mask = None
    else:
        y = x
    kind: Optional[int] = None
    if mask is not None:
        kind = 1
    for i in range(2):
        y = torch._transformer_encoder_layer_fwd(y, 2, 1, self.w, self.b, self.ow, self.v, False,
            False, 1e-5, self.one, self.v, self.one, self.v, self.ow, self.v, self.ow, self.v,
            mask, kind)
    if mask is None:
        y = torch.to_padded_tensor(y, 0.0)
    return y
)");
  const Tensor x = randn({2, 3, 2});
  const auto kept = [](const std::vector<int64_t>& rows) {
    return tensor(rows).view({2, 3}).to(kBool);
  };
  const Tensor aligned = kept({1, 1, 0, 1, 0, 0}), mixed = kept({1, 1, 1, 0, 1, 1});
  for (const Tensor& example : {aligned, mixed}) {
    const std::string path = core::join(testing::TempDir(), "/tenon_encoder_", getpid(), ".pt2");
    export_program(m, {x, example}, path);
    const Module back = load(path);
    std::filesystem::remove(path);
    for (const Tensor& k : {aligned, mixed}) {
      const NoGradGuard no_grad;
      const Tensor want = m.forward({x, k}).toTensor(), got = back.forward({x, k}).toTensor();
      EXPECT_TRUE(allclose(want, got, 1e-5, 1e-6)) << want << got;
    }
  }
}

}  // namespace
}  // namespace tenon::jit
