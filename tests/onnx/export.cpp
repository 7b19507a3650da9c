// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs written as ONNX and read back: the same numbers, the same names; what cannot be
// expressed is told, and leaves no file.
#include "tenon/onnx/export.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "tenon/creation.h"
#include "tenon/jit.h"
#include "tenon/nn.h"
#include "tenon/onnx.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

std::string exported(const jit::Module& m, const std::vector<IValue>& inputs,
                     const onnx::ExportOptions& options = {}) {
  std::ostringstream out;
  onnx::export_(m, inputs, out, options);
  return out.str();
}
void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LE((got - expected).abs().max().item<float>(), 1e-5);
}

nn::Sequential small_network() {
  manual_seed(3);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).padding(1)), nn::BatchNorm2d(3),
                     nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(12, 4),
                     nn::Softmax(1));
  net->eval();
  return net;
}

// The checks of sizes of an exported program, and its modes of gradients, are not a part of models.
TEST(OnnxExport, AnExportedProgramIsWritten) {
  jit::Module m = jit::load(TENON_TEST_JIT "/data/exported_net.pt2");
  m.eval();
  const Tensor x = arange(96, kFloat).view({3, 2, 4, 4}) / 96;
  expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(),
              m.forward({x}).toTensor());
}

// Its sizes are numbers in the program already.
TEST(OnnxExport, ASizeThatAnExportedProgramPromisesCannotBeDynamic) {
  jit::Module m = jit::load(TENON_TEST_JIT "/data/exported_net.pt2");
  m.eval();
  onnx::ExportOptions batch, height;
  batch.dynamic_axes = {{"image", {{0, "n"}}}};
  height.dynamic_axes = {{"image", {{2, "h"}}}};
  const Tensor x = arange(96, kFloat).view({3, 2, 4, 4}) / 96;
  const Tensor more = cat({x, x});
  expect_near(onnx::load_bytes(exported(m, {x}, batch)).forward({more}).toTensor(),
              m.forward({more}).toTensor());
  test::expect_words(test::text_of([&] { exported(m, {x}, height); }),
                     {"dimension 2 of 'image'", "exported for 4", "dynamic_shapes"});
}

// What scripts ask of types and modes is decided when they are written; arguments that were not
// given have their defaults.
TEST(OnnxExport, TypesModesAndDefaultsAreDecided) {
  const jit::Module m = define(R"(
def scaled(self, x: Tensor, by: Optional[Tensor]) -> Tensor:
    if by is not None:
        x = x * by
    return x

def forward(self, x: Tensor, by: Union[int, float] = 3, mask: Optional[Tensor] = None) -> Tensor:
    y = self.scaled(x, x + 1)
    if isinstance(by, int):
        y = y * by
    if torch.is_autocast_enabled() or torch.is_grad_enabled():
        y = y - 100
    if mask is not None:
        y = y * mask
    return torch.cat([torch.zeros([0]), y, self.scaled(y, None)], 1)
)");
  const Tensor x = arange(6, kFloat).view({2, 3});
  const Tensor once = x * (x + 1) * 3;
  expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(), cat({once, once}, 1));
}

TEST(OnnxExport, ARecordedNetworkComesBackWithItsNamesAndNumbers) {
  nn::Sequential net = small_network();
  const Tensor x = randn({2, 2, 4, 4});
  const jit::Module traced = jit::trace(net, {x});
  const jit::Module back = onnx::load_bytes(exported(traced, {x}));
  const NoGradGuard no_grad;
  expect_near(back.forward({x}).toTensor(), net->forward(x));
  std::set<std::string> names;
  for (const auto& p : back.named_parameters()) names.insert(p.name);
  EXPECT_EQ(names.size(), 6u);  // of both layers and the normalization
  const auto info = onnx::model_info(back);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->producer_name, "tenon");
  EXPECT_EQ(info->opsets.at(""), 17);
}

TEST(OnnxExport, FilesAreTheSameEachTime) {
  nn::Sequential net = small_network();
  const Tensor x = ones({1, 2, 4, 4});
  const jit::Module traced = jit::trace(net, {x});
  EXPECT_EQ(exported(traced, {x}), exported(traced, {x}));
}

TEST(OnnxExport, DimensionsThatAreNamedMayChange) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    return x.view(x.size(0), -1).sum(1) * x.size(1)
)");
  onnx::ExportOptions options;
  options.input_names = {"image"};
  options.output_names = {"total"};
  options.dynamic_axes = {{"image", {{0, "batch"}, {1, "rows"}}}};
  const jit::Module back = onnx::load_bytes(exported(m, {ones({2, 3, 4})}, options));
  expect_near(back.forward({ones({5, 7, 2})}).toTensor(), full({5}, 7.0 * 14.0));
  const auto info = onnx::model_info(back);
  EXPECT_EQ(info->inputs, std::vector<std::string>{"image"});
  EXPECT_EQ(info->outputs, std::vector<std::string>{"total"});
}

TEST(OnnxExport, LoopsAndBranchesStay) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    total = torch.zeros([x.size(1)])
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            total = total + x[i]
        else:
            total = total - x[i]
    return total
)");
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  const jit::Module back = onnx::load_bytes(exported(m, {randn({3, 4})}, options));
  for (const int64_t rows : {1, 3, 17}) {
    const Tensor x = randn({rows, 4});
    expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
  }
}

TEST(OnnxExport, RecurrentLayersAreOneNodeEach) {
  manual_seed(4);
  nn::LSTM lstm(nn::LSTMOptions(3, 5).num_layers(2).bidirectional(true));
  const auto f = [&lstm](const Tensor& x) { return std::get<0>(lstm->forward(x)); };
  const Tensor x = randn({4, 2, 3});
  std::ostringstream out;
  const jit::Module traced = jit::trace_module(lstm.ptr(), f, {x});
  onnx::export_(traced, {x}, out, {});
  const jit::Module back = onnx::load_bytes(out.str());
  const NoGradGuard no_grad;
  expect_near(back.forward({x}).toTensor(), f(x));
}

// What has no rule is written as what it is made of or decomposes into.
TEST(OnnxExport, OperatorsWithoutARuleGoByTheirParts) {
  manual_seed(11);
  const Tensor x = rand({4, 6}) * 0.8 + 0.1, y = randn({4, 6});
  onnx::ExportOptions options;
  options.opset = 18;
  for (const char* formula :
       {"torch.cross_entropy_loss(y, torch.argmax(x, 1))",
        "torch.huber_loss(x, y, 1, 0.3)",
        "torch.embedding_bag(y, torch.tensor([0, 3, 2]), torch.tensor([0, 2]))[0]",
        "torch.repeat_interleave(x, 2, 1)",
        "torch.cdist(x, y)",
        "torch.diag_embed(x, 1)",
        "torch.unfold(x, 1, 3, 2)",
        "torch.col2im(x.view(1, 4, 6), [3, 4], [2, 2], [1, 1], [0, 0], "
        "[1, 1])",
        "torch.corrcoef(x)",
        "torch.logaddexp(x, y)",
        "torch.erfc(y)",
        "torch.hypot(x, y)",
        "torch.logcumsumexp(y, 1)",
        "torch.cumprod(x, 1)",
        "torch.copysign(x, y)",
        "torch.masked_scatter(x, y > 0, y)",
        "torch.quantile(x, 0.3, 1)",
        "torch.log1p(x * 1e-6)",
        "torch.expm1(x * 1e-6)",
        "torch.round(y, decimals=1)",
        "torch.median(x, 1)[0]",
        "torch.kron(x, y)",
        "torch.logit(x)",
        "torch.index_add(x, 0, torch.tensor([1, 3]), y[:2])",
        "torch.gru_cell(x, y[:, :2], x[:2].repeat(3, 1), y[:2, :2].repeat(3, 1))",
        "torch.avg_pool2d(x.view(1, 1, 4, 6), [2, 2], divisor_override=3)",
        "torch.adaptive_avg_pool2d(x.view(1, 4, 6), [3, 4])"}) {
    SCOPED_TRACE(formula);
    const jit::Module m = define(std::string("def forward(self, x: Tensor, y: Tensor) -> Tensor:\n"
                                             "    return ") +
                                 formula + "\n");
    jit::Module back;
    ASSERT_NO_THROW(back = onnx::load_bytes(exported(m, {x, y}, options)));
    // Values that the example did not have; the branches of a decomposition are by shapes alone.
    const Tensor a = x.flip({0}) * 0.9, b = y * 1.5 - 0.2;
    expect_near(back.forward({a, b}).toTensor(), m.forward({a, b}).toTensor());
  }
}

TEST(OnnxExport, PartsHaveFixedSizes) {
  const jit::Module m =
      define("def forward(self, x: Tensor) -> Tensor:\n    return torch.kron(x, x)\n");
  onnx::ExportOptions options;
  options.input_names = {"x"};
  options.dynamic_axes = {{"x", {{0, "n"}}}};
  test::expect_words(test::text_of([&] {
                       exported(m, {ones({2, 3})}, options);
                     }),
                     {"cannot export aten::kron: there is no rule for it", "fixed sizes",
                      "leave dynamic_axes out"});
}

// Before the loop both are one tensor, in it they are two.
TEST(OnnxExport, PartsTellArgumentsApartThatBeginAsOneTensor) {
  manual_seed(23);
  const jit::Module m = define(R"(
def forward(self, x: Tensor, w: Tensor) -> Tensor:
    h = torch.zeros([2, 3])
    c = h
    for t in range(3):
        h, c = torch.lstm_cell(x[t], (h, c), w, w)
    return torch.cat([h, c])
)");
  const Tensor x = randn({3, 2, 3}), w = randn({12, 3});
  expect_near(onnx::load_bytes(exported(m, {x, w})).forward({x, w}).toTensor(),
              m.forward({x, w}).toTensor());
}

TEST(OnnxExport, AViewThatNobodyElseSeesMayBeWritten) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    a, b = torch.chunk(x * 2, 2, 1)
    return torch.sigmoid_(torch.add_(a, b))
)");
  const Tensor x = randn({2, 4});
  expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(),
              m.forward({x}).toTensor());
}

TEST(OnnxExport, WhatReadsBeforeAWriteDoesNotMind) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    y = (x * 2).permute([1, 0])
    n = torch.sum(y)
    return y.div_(n)
)");
  const Tensor x = rand({2, 4});
  expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(),
              m.forward({x}).toTensor());
}

TEST(OnnxExport, TablesOfPositionsAreComputed) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    table = torch.new_zeros(x, [4, 3])
    row = torch.slice(table, 0, 1)
    before = table + 1
    a = torch.add_(torch.select(row, 1, 0), torch.arange(3))
    b = torch.copy_(torch.slice(torch.slice(table, 0, 2), 1, 2), torch.ones([2, 1]))
    return x + table + row.sum() + before
)");
  const Tensor x = rand({4, 3});
  for (int run = 0; run < 2; ++run)  // the program is left as it was
    expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(),
                m.forward({x}).toTensor());
}

TEST(OnnxExport, RepetitionsAndGridsHaveSizesOfTheRun) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    a, b = torch.meshgrid([x[:, 0], x.sum(1).repeat_interleave(torch.tensor(x.size(0)))], indexing="xy")
    return torch.cat([a, b], 1).repeat_interleave(3, 1) + x.repeat_interleave(2).sum()
)");
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  const jit::Module back = onnx::load_bytes(exported(m, {rand({2, 3})}, options));
  for (const int64_t rows : {2, 5}) {
    const Tensor x = rand({rows, 3});
    expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
  }
}

// What the program writes while its nodes are computed is not what it had there before.
TEST(OnnxExport, ConstantsAreThoseOfBeforeAWrite) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    n = torch.arange(4) * 1
    m = n.add_(torch.arange(4))
    return x[m // 2] + m
)");
  const Tensor x = rand({4});
  expect_near(onnx::load_bytes(exported(m, {x})).forward({x}).toTensor(),
              m.forward({x}).toTensor());
}

TEST(OnnxExport, AnArgumentKeepsItsNameThoughAnotherValueHasIt) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    x = torch.pad(x, [0, 3 - x.size(0) % 2]) + 1
    x = torch.diff(x, 1, -1, x[:, :1]) * 2
    return x
)");
  onnx::ExportOptions options;
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  const jit::Module back = onnx::load_bytes(exported(m, {rand({2, 3})}, options));
  for (const int64_t rows : {2, 5}) {
    const Tensor x = rand({rows, 3});
    expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
  }
}

// The axes of reductions and sizes are lists that loops of the reader make.
TEST(OnnxExport, WhatWasReadIsWrittenAgain) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    y = torch.adaptive_avg_pool2d(torch.max_pool2d(x, [2, 2]), [1, 1]).flatten(1)
    z = torch.upsample_nearest2d(torch.constant_pad_nd(x, [1, 1, 0, 2]), [9, 8])
    return y.mean(1) + z.sum()
)");
  const Tensor x = rand({2, 3, 6, 4});
  const jit::Module once = onnx::load_bytes(exported(m, {x}));
  const jit::Module twice = onnx::load_bytes(exported(once, {x}));
  expect_near(twice.forward({x}).toTensor(), m.forward({x}).toTensor());
}

TEST(OnnxExport, SizesThatWereReadAreWrittenAgain) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    n = x.size(0)
    y = torch.ones([1, 4]).expand([n, 4]) * x.view([n, 2, -1, 2]).flatten(1)
    y = y.reshape([n, 1, 2, 2]).flatten(1)
    return y.transpose(0, 1).reshape([2, n // 1, -1]) + torch.zeros([n, 2])
)");
  onnx::ExportOptions options;
  options.input_names = {"x"};
  options.dynamic_axes = {{"x", {{0, "rows"}}}};
  const jit::Module once = onnx::load_bytes(exported(m, {rand({3, 4})}, options));
  const jit::Module twice = onnx::load_bytes(exported(once, {rand({3, 4})}, options));
  for (const int64_t rows : {3, 5}) {
    const Tensor x = rand({rows, 4});
    expect_near(twice.forward({x}).toTensor(), m.forward({x}).toTensor());
  }
}

// 5 times 1.5 is 7.5: of 7 elements each is 1 / 1.5 apart, not 5 / 7.
TEST(OnnxExport, ScalesBesideASizeAreKept) {
  const Tensor x = rand({1, 2, 4, 5});
  for (const char* call : {"upsample_bilinear2d(x, [8, 7], False, 2.0, 1.5)",
                           "upsample_nearest2d(x, [8, 7], 2.0, 1.5)",
                           "upsample_bilinear2d(x, [9, 7], False, None, None)"}) {
    SCOPED_TRACE(call);
    const jit::Module m = define_of_x("    return torch." + std::string(call) + "\n");
    const Tensor got = onnx::load_bytes(exported(m, {x})).forward({x}).toTensor();
    expect_near(got, m.forward({x}).toTensor());
  }
}

TEST(OnnxExport, LargeIntegersAreExact) {
  const jit::Module m =
      define_of_x("    return torch.full_like(x, 9223372036854775807) - (x + 9007199254740993)\n");
  const Tensor x = arange(3);
  const Tensor got = onnx::load_bytes(exported(m, {x})).forward({x}).toTensor();
  EXPECT_TRUE(got.equal(m.forward({x}).toTensor())) << got;
}

TEST(OnnxExport, PaddingMayBeComputed) {
  const jit::Module m =
      define_of_x("    return torch.constant_pad_nd(x, [1, 2], float(x.max().item()) + 1)\n");
  const jit::Module back = onnx::load_bytes(exported(m, {rand({2, 3})}));
  const Tensor x = rand({2, 3}) * 9;
  expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
}

TEST(OnnxExport, WeightsMayLieBesideTheModel) {
  const std::string path = core::join(testing::TempDir(), "/tenon_beside_", getpid(), ".onnx");
  manual_seed(5);
  nn::Sequential net(nn::Linear(40, 30), nn::Linear(30, 3));
  const Tensor x = randn({2, 40});
  onnx::ExportOptions options;
  options.external_data = true;
  onnx::export_(jit::trace(net, {x}), {x}, path, options);
  EXPECT_LT(std::filesystem::file_size(path), 3000u);
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 40u * 30 * 4);
  expect_near(onnx::load(path).forward({x}).toTensor(), net->forward(x));
  std::ostringstream out;
  test::expect_words(test::text_of([&] { onnx::export_(jit::trace(net, {x}), {x}, out, options); }),
                     {"a stream has no folder"});
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".data");
}

TEST(OnnxExport, NewerOperatorSets) {
  const jit::Module m = define(R"(
def forward(self, x: Tensor, g: Tensor) -> Tensor:
    return torch.grid_sampler(torch.avg_pool2d(x, 2), g, 0, 0, False)
)");
  const Tensor x = randn({1, 2, 6, 6}), g = rand({1, 3, 3, 2}) * 2 - 1;
  for (int64_t opset = 16; opset <= onnx::kMaxOpset; ++opset) {
    onnx::ExportOptions options;
    options.opset = opset;
    const jit::Module back = onnx::load_bytes(exported(m, {x, g}, options));
    expect_near(back.forward({x, g}).toTensor(), m.forward({x, g}).toTensor());
    EXPECT_EQ(onnx::model_info(back)->opsets.at(""), opset);
  }
}

TEST(OnnxExport, TheOperatorSetIsOneThatHasTheOperators) {
  const Tensor x = randn({3, 4});
  const auto opset_of = [&](const std::string& value) {
    const jit::Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return " + value);
    const jit::Module back = onnx::load_bytes(exported(m, {x}));
    expect_near(back.forward({x}).toTensor(), m.forward({x}).toTensor());
    return onnx::model_info(back)->opsets.at("");
  };
  EXPECT_EQ(opset_of("x + 1"), 17);
  EXPECT_EQ(opset_of("x.scatter_reduce(0, torch.zeros_like(x, dtype=torch.int64), x, 'amax')"), 18);
}

TEST(OnnxExport, AFunctionIsRecordedFirst) {
  const std::string path = core::join(testing::TempDir(), "/tenon_function_", getpid(), ".onnx");
  onnx::export_([](const Tensor& x, const Tensor& y) { return (x * y).relu() + 1; },
                {ones({3}), ones({3})}, path);
  const jit::Module back = jit::load(path);  // which finds the reader by the content
  expect_near(back.forward({full({3}, 2.0), full({3}, -1.0)}).toTensor(), ones({3}));
  std::filesystem::remove(path);
}

TEST(OnnxExport, WhatCannotBeExpressedIsToldWholeAndLeavesNoFile) {
  const std::string path = core::join(testing::TempDir(), "/tenon_refused_", getpid(), ".onnx");
  const jit::Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    y = torch.igamma(x, x)
    z = torch.special_ndtri(x)
    return y.sum() + z.sum()
)");
  const std::string text = test::text_of([&] { onnx::export_(m, {ones({4})}, path); });
  test::expect_words(text, {"cannot export aten::igamma: there is no rule for it", "<--- HERE",
                            "cannot export aten::special_ndtri: there is no rule for it"});
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(onnx::export_(m, {ones({4})}, path), NotImplementedError);
}

TEST(OnnxExport, OptionsThatDoNotFitAreRefused) {
  const jit::Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return x + 1\n");
  const auto refusal = [&](onnx::ExportOptions o, std::vector<IValue> inputs = {ones({2})}) {
    return test::text_of([&] { exported(m, inputs, o); });
  };
  onnx::ExportOptions opset, axes, names;
  opset.opset = 5;
  axes.dynamic_axes = {{"nobody", {{0, "n"}}}};
  names.input_names = {"a", "b"};
  test::expect_words(refusal(opset), {"opset 5", "[13, 22]"});
  test::expect_words(refusal(axes), {"'nobody'", "neither an input nor an output"});
  test::expect_words(refusal(names), {"2 input names", "1 inputs"});
  test::expect_words(refusal({}, {}), {"forward() is missing value for argument 'x'"});
}

TEST(OnnxExport, ARegisteredRuleServesAnOperator) {
  onnx::register_symbolic("aten::polygamma", [](onnx::ExportCall& c) {
    const int64_t n = c.example("n").toInt();
    if (n > 100) c.refuse("such orders are not supported");
    c.output(c.node("CountOf", {c.input("self")}, {{"weighted", int64_t{0}}}, "vendor"));
  });
  const jit::Module m =
      define("def forward(self, x: Tensor) -> Tensor:\n    return torch.polygamma(2, x)\n");
  const Tensor x = arange(4, kFloat);
  const std::string bytes = exported(m, {x});
  EXPECT_NE(bytes.find("CountOf"), std::string::npos);
  test::expect_words(test::text_of([&] { (void)onnx::load_bytes(bytes); }), {"vendor", "CountOf"});
  const jit::Module other =
      define("def forward(self, x: Tensor) -> Tensor:\n    return torch.polygamma(200, x)\n");
  test::expect_words(test::text_of([&] { exported(other, {x}); }),
                     {"cannot export aten::polygamma: such orders are not supported"});
}

TEST(OnnxExport, WeightsMayBeInputs) {
  nn::Sequential net = small_network();
  const Tensor x = ones({1, 2, 4, 4});
  const jit::Module traced = jit::trace(net, {x});
  onnx::ExportOptions options;
  options.export_params = false;
  EXPECT_LT(exported(traced, {x}, options).size() + 100, exported(traced, {x}).size());
}

}  // namespace
