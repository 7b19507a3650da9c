// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program on the host, by whoever serves it there, against operators and a scalar oracle.
#include <gtest/gtest.h>
#include <tenon/ops/loop_program.gen.h>
#include <tenon/tenon.h>

#include <random>

#include "tenon/sdk/loop_program/check.h"
#include "tenon/sdk/loop_program/parse.h"
#include "tenon/sdk/loop_program/print.h"
#include "tests/loop_program/oracle.h"

namespace lp = tenon::sdk::loop_program;
using tenon::Tensor;

namespace {

Tensor one(const std::vector<Tensor>& inputs, std::string_view text,
           std::vector<int64_t> numbers = {}, std::vector<double> reals = {}) {
  const std::vector<Tensor> outputs = tenon::_loop_program(inputs, text, numbers, reals);
  EXPECT_EQ(outputs.size(), 1u);
  return outputs.at(0);
}

void expect_close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.sizes(), b.sizes());
  ASSERT_EQ(a.scalar_type(), b.scalar_type());
  EXPECT_TRUE(tenon::allclose(a, b, tolerance, tolerance)) << a << b;
}

constexpr const char* chain = R"(loops 1
size N
size M
param alpha float64
input x float32 [N, M]
input b float32 [M]
output y float32 [N, M]
for i < N, j < M
  %0 = read x [i, j]
  %1 = read b [j]
  %2 = add %0 %1
  %3 = tanh %2
  %4 = param alpha
  %5 = cast float32 %4
  %6 = mul %3 %5
  %7 = exp %6
  y [i, j] = %7
)";

TEST(LoopPrograms, AChainHasTheBitsOfItsOperators) {
  tenon::manual_seed(1);
  const Tensor x = tenon::randn({37, 1031}), b = tenon::randn({1031});
  const Tensor expected = tenon::exp(tenon::tanh(x + b) * 0.25);
  EXPECT_TRUE(tenon::equal(one({x, b}, chain, {}, {0.25}), expected));
  const Tensor across = tenon::randn({1031, 37}).t();
  EXPECT_TRUE(tenon::equal(one({across, b}, chain, {}, {0.25}),
                           tenon::exp(tenon::tanh(across + b) * 0.25)));
  EXPECT_EQ(one({x.narrow(0, 0, 0), b}, chain, {}, {0.25}).sizes(), tenon::IntArrayRef({0, 1031}));
}

TEST(LoopPrograms, MatrixProduct) {
  const Tensor a = tenon::randn({9, 31}), b = tenon::randn({31, 14});
  expect_close(
      one({a, b},
          "loops 1\nsize N\nsize K\nsize M\ninput a float32 [N, K]\ninput b float32 [K, M]\n"
          "output c float32 [N, M]\nfor i < N, j < M, k < K\n%0 = read a [i, k]\n"
          "%1 = read b [k, j]\n%2 = mul %0 %1\nc [i, j] +=! %2\n"),
      tenon::mm(a, b));
}

TEST(LoopPrograms, ConvolutionBackwardsThroughTheKernel) {
  const Tensor x = tenon::randn({20}), w = tenon::randn({3});
  const Tensor expected =
      tenon::conv1d(x.view({1, 1, 20}), w.flip({0}).view({1, 1, 3}), {}, 2).view({9});
  expect_close(
      one({x, w},
          "loops 1\nsize H\nsize K\nsize P = (H - K + 2) / 2\ninput x float32 [H]\n"
          "input w float32 [K]\noutput y float32 [P]\nfor i < P, k < K\n"
          "%0 = read x [2*i + k]\n%1 = read w [-k + K - 1]\n%2 = mul %0 %1\ny [i] += %2\n"),
      expected);
}

TEST(LoopPrograms, SoftmaxByFourNests) {
  const Tensor x = tenon::randn({33, 70});
  expect_close(one({x}, R"(loops 1
size N
size M
input x float32 [N, M]
temp top float32 [N]
temp e float32 [N, M]
temp sum float32 [N]
output y float32 [N, M]
for i < N, j < M
  %0 = read x [i, j]
  top [i] max=! %0
for i < N, j < M
  %0 = read x [i, j]
  %1 = read top [i]
  %2 = sub %0 %1
  %3 = exp %2
  e [i, j] = %3
for i < N, j < M
  %0 = read e [i, j]
  sum [i] +=! %0
for i < N, j < M
  %0 = read e [i, j]
  %1 = read sum [i]
  %2 = div %0 %1
  y [i, j] = %2
)"),
               tenon::softmax(x, 1));
}

TEST(LoopPrograms, IndirectReadsAreCheckedOrClamped) {
  const std::string text =
      "loops 1\nsize V\nsize D\nsize N\ninput table float32 [V, D]\ninput at int64 [N]\n"
      "output y float32 [N, D]\nfor i < N, j < D\n%0 = read at [i]\n%1 = read table [HOW %0, j]\n"
      "y [i, j] = %1\n";
  const auto with = [&](const char* how) {
    std::string copy = text;
    return copy.replace(copy.find("HOW"), 3, how);
  };
  const Tensor table = tenon::randn({5, 4});
  const Tensor at = tenon::tensor(std::vector<int64_t>{4, 0, 2, 2});
  EXPECT_TRUE(tenon::equal(one({table, at}, with("check")), table.index_select(0, at)));
  const Tensor wild = tenon::tensor(std::vector<int64_t>{-7, 9});
  EXPECT_TRUE(tenon::equal(one({table, wild}, with("clamp")),
                           table.index_select(0, tenon::tensor(std::vector<int64_t>{0, 4}))));
  EXPECT_THROW(one({table, wild}, with("check")), tenon::IndexError);
}

TEST(LoopPrograms, EmptyReductionsStoreTheirNeutralElement) {
  const Tensor x = tenon::empty({3, 0});
  const char* text =
      "loops 1\nsize N\nsize M\ninput x float32 [N, M]\noutput a float32 [N]\noutput b float32 "
      "[N]\n"
      "output c float32 [N]\nfor i < N, j < M\n%0 = read x [i, j]\na [i] max=! %0\nb [i] *=! %0\n"
      "c [i] += %0\n";
  const std::vector<Tensor> out = tenon::_loop_program({x}, text);
  EXPECT_TRUE(tenon::equal(out[0], tenon::full({3}, -INFINITY)));
  EXPECT_TRUE(tenon::equal(out[1], tenon::ones({3})));
  EXPECT_TRUE(tenon::equal(out[2], tenon::zeros({3})));
}

TEST(LoopPrograms, PhiloxWordsAreThoseOfTheGenerator) {
  const char* text =
      "loops 1\nsize N\nparam seed int64\nparam offset int64\noutput w int32 [N]\nfor i < N\n"
      "%0 = param seed\n%1 = param offset\n%2 = loop i\n%3 = philox %0 %1 %2\nw [i] = %3\n";
  tenon::manual_seed(12345);
  const Tensor expected = tenon::prim_philox({1003}, tenon::TensorOptions().dtype(tenon::kInt));
  EXPECT_TRUE(tenon::equal(one({}, text, {1003, 12345, 0}), expected));
}

TEST(LoopPrograms, WrongCallsNameWhatIsWrong) {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const tenon::ValueError& e) {
      return e.what();
    }
    return "no error";
  };
  const Tensor x = tenon::randn({2, 3}), b = tenon::randn({3});
  EXPECT_NE(message([&] { one({x}, chain, {}, {1.0}); }).find("has 2 inputs, given 1"),
            std::string::npos);
  EXPECT_NE(message([&] {
              one({x, b.to(tenon::kDouble)}, chain, {}, {1.0});
            }).find("input b has dtype float64, expected float32"),
            std::string::npos);
  EXPECT_NE(message([&] {
              one({x, x.select(1, 0)}, chain, {}, {1.0});
            }).find("input b has shape [2], expected [3]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              one({x, b}, chain);
            }).find("no number gives parameter alpha"),
            std::string::npos);
  EXPECT_NE(message([&] { one({x, b}, "loops 1\nfoo"); }).find("line 2"), std::string::npos);
  EXPECT_NE(message([&] {
              const std::vector<Tensor> out = {tenon::empty({3, 2})}, in = {x, b};
              tenon::_loop_program_(out, in, chain, {}, tenon::ArrayRef<double>(1.0));
            }).find("output y has shape [3, 2], expected [2, 3]"),
            std::string::npos);
}

// Random nests over three loops, with shifted, reversed, strided and broadcast reads.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  lp::Program make() {
    lp::Program p;
    for (const char* name : {"A", "B", "C"}) p.sizes.push_back({name, false, {}, 1});
    for (int i = 0; i < 3; ++i) {
      lp::Array array{"x" + std::to_string(i), lp::Role::kInput, lp::Dtype::kDouble, {}};
      for (int d = 0; d < 3; ++d) array.shape.push_back(size(d));
      p.arrays.push_back(array);
    }
    const bool reduces = pick(2) == 1;
    lp::Array out{"y", lp::Role::kOutput, lp::Dtype::kDouble, {}};
    lp::Nest nest;
    lp::Store store;
    std::vector<int> order = {0, 1, 2};
    std::shuffle(order.begin(), order.end(), random_);
    for (int l = 0; l < 3; ++l)
      nest.loops.push_back({std::string(1, static_cast<char>('i' + l)), size(l)});
    const int named = reduces ? pick(3) : 3;
    for (int d = 0; d < named; ++d) {
      out.shape.push_back(size(order[static_cast<size_t>(d)]));
      store.indices.push_back(loop(order[static_cast<size_t>(d)]));
    }
    p.arrays.push_back(out);
    for (int i = 0; i < 3; ++i) nest.nodes.push_back(read(i));
    for (int i = 0; i < 8; ++i) nest.nodes.push_back(operation(nest));
    store.array = 3;
    store.node = static_cast<int>(nest.nodes.size()) - 1;
    if (reduces) {
      store.update = static_cast<lp::Update>(1 + (pick(3) == 0 ? 0 : 2 + pick(2)));
      if (store.update == lp::Update::kProd) store.update = lp::Update::kSum;
      store.from_neutral = pick(2) == 1;
    }
    nest.stores.push_back(store);
    p.nests.push_back(nest);
    return p;
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

 private:
  static lp::Affine size(int which) { return {0, {}, {{which, 1}}}; }
  static lp::Affine loop(int which) { return {0, {{which, 1}}, {}}; }

  lp::Node read(int source) {
    lp::Node node;
    node.kind = lp::Kind::kRead;
    node.dtype = lp::Dtype::kDouble;
    node.source = source;
    for (int d = 0; d < 3; ++d) {
      lp::Affine index = loop(d);
      if (pick(4) == 0) index = {0, {}, {}};                // broadcast
      if (pick(4) == 0) index = {-1, {{d, -1}}, {{d, 1}}};  // reversed
      node.indices.push_back({lp::Bound::kProven, index, -1});
    }
    return node;
  }

  lp::Node operation(const lp::Nest& nest) {
    std::vector<int> reals, tests;
    for (size_t i = 0; i < nest.nodes.size(); ++i)
      (nest.nodes[i].dtype == lp::Dtype::kBool ? tests : reals).push_back(static_cast<int>(i));
    const auto real = [&] {
      return reals[static_cast<size_t>(pick(static_cast<int>(reals.size())))];
    };
    lp::Node node;
    node.dtype = lp::Dtype::kDouble;
    const bool is_last = nest.nodes.size() == 10;
    const int kind = pick(is_last ? 4 : 5);
    constexpr int unary[] = {TN_UNARY_NEG, TN_UNARY_ABS, TN_UNARY_TANH, TN_UNARY_SIGMOID};
    constexpr int binary[] = {TN_BINARY_ADD, TN_BINARY_SUB, TN_BINARY_MUL, TN_BINARY_MAX,
                              TN_BINARY_MIN};
    node.operands[0] = real();
    if (kind == 0) {
      node.kind = lp::Kind::kUnary;
      node.code = unary[pick(4)];
    } else if (kind == 3 && !tests.empty()) {
      node.kind = lp::Kind::kSelect;
      node.operands[0] = tests[static_cast<size_t>(pick(static_cast<int>(tests.size())))];
      node.operands[1] = real();
      node.operands[2] = real();
    } else {
      node.kind = lp::Kind::kBinary;
      node.code = kind == 4 ? TN_BINARY_LT : binary[pick(5)];
      node.operands[1] = real();
      if (kind == 4) node.dtype = lp::Dtype::kBool;
    }
    return node;
  }

  std::mt19937 random_;
};

TEST(LoopPrograms, RandomProgramsAgreeWithTheOracle) {
  tenon::manual_seed(5);
  for (unsigned seed = 0; seed < 300; ++seed) {
    Maker maker(seed);
    const lp::Program program = maker.make();
    const std::string text = lp::print(program);
    ASSERT_NO_THROW(lp::check(program)) << text;
    ASSERT_EQ(lp::print(lp::parse(text)), text);
    const bool wide = seed % 10 == 0;
    const std::vector<int64_t> sizes = {1 + maker.pick(5), 1 + maker.pick(4),
                                        wide ? 1200 + maker.pick(100) : 1 + maker.pick(7)};
    std::vector<Tensor> inputs;
    std::vector<oracle::Values> values;
    for (int i = 0; i < 3; ++i) {
      Tensor t = tenon::randn({sizes[2], sizes[0], sizes[1]}, tenon::kDouble).permute({1, 2, 0});
      if (maker.pick(2) == 0) t = t.contiguous();
      const Tensor row = t.contiguous();
      inputs.push_back(t);
      values.emplace_back(row.data_ptr<double>(), row.data_ptr<double>() + row.numel());
    }
    const lp::Binding binding = lp::bind_sizes(program, {sizes, sizes, sizes}, {}, {});
    const oracle::Values expected = oracle::run(program, binding, values).at(3);
    const Tensor out = one(inputs, text);
    ASSERT_EQ(static_cast<size_t>(out.numel()), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(out.data_ptr<double>()[i], expected[i], 1e-9 * (1 + std::fabs(expected[i])))
          << text << "element " << i << ", seed " << seed;
  }
}

}  // namespace
