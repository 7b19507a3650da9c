// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;

struct BlockImpl : nn::Cloneable<BlockImpl> {
  BlockImpl() { reset(); }
  void reset() override {
    fc = register_module("fc", nn::Linear(3, 4));
    norm = register_module("norm", nn::BatchNorm1d(4));
  }
  Tensor forward(const Tensor& x) { return norm->forward(fc->forward(x)).relu(); }
  nn::Linear fc{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TENON_MODULE(Block);

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    block = register_module("block", Block());
    out = register_module("out", nn::Linear(nn::LinearOptions(4, 2).bias(false)));
    scale = register_parameter("scale", ones({1}));
  }
  Tensor forward(const Tensor& x) { return out->forward(block->forward(x)) * scale; }
  Block block{nullptr};
  nn::Linear out{nullptr};
  Tensor scale;
};
TENON_MODULE(Net);

TEST(Module, NamesInOrderOfRegistration) {
  Net net;
  const std::vector<std::string> names = {"scale",           "block.fc.weight",
                                          "block.fc.bias",   "block.norm.weight",
                                          "block.norm.bias", "out.weight"};
  EXPECT_EQ(net->named_parameters().keys(), names);
  EXPECT_EQ(net->named_parameters(false).keys(), std::vector<std::string>{"scale"});
  EXPECT_EQ(net->named_buffers().keys(),
            (std::vector<std::string>{"block.norm.running_mean", "block.norm.running_var",
                                      "block.norm.num_batches_tracked"}));
  EXPECT_EQ(net->named_modules().keys(),
            (std::vector<std::string>{"", "block", "block.fc", "block.norm", "out"}));
  EXPECT_EQ(net->children().size(), 2u);
  EXPECT_EQ(net->modules(false).size(), 4u);
}

TEST(Module, SharedParameterIsListedOnce) {
  struct Tied : nn::Module {
    Tied() {
      a = register_module("a", nn::Linear(nn::LinearOptions(2, 2).bias(false)));
      register_parameter("again", a->weight);
    }
    nn::Linear a{nullptr};
  } tied;
  EXPECT_EQ(tied.parameters().size(), 1u);
  EXPECT_EQ(tied.state_dict().size(), 2u);
}

TEST(Module, RefusesNames) {
  nn::Linear m(1, 1);
  auto each = [&](const std::string& name, std::initializer_list<const char*> words) {
    expect_words(test::text_of([&] { m->register_parameter(name, ones({1})); }), words);
    expect_words(test::text_of([&] { m->register_buffer(name, ones({1})); }), words);
    expect_words(test::text_of([&] { m->register_module(name, nn::ReLU()); }), words);
  };
  each("", {"name must not be empty"});
  each("a.b", {"name must not contain a dot", "a.b"});
  each("weight", {"'weight' already defined"});
  EXPECT_EQ(m->named_parameters().size(), 2u);
}

TEST(Module, RefusesParameterWithHistory) {
  nn::Linear m(1, 1);
  const Tensor x = ones({1}, requires_grad()) * 2;
  expect_words(test::text_of([&] { m->register_parameter("x", x); }), {"leaf"});
  m->register_parameter("nothing", Tensor(), false);
}

TEST(Module, TrainAndEvalReachChildren) {
  Net net;
  EXPECT_TRUE(net->block->norm->is_training());
  net->eval();
  EXPECT_FALSE(net->block->norm->is_training());
  net->train();
  EXPECT_TRUE(net->block->norm->is_training());
}

TEST(Module, ApplyVisitsParentsFirst) {
  Net net;
  std::vector<std::string> seen;
  net->apply([&](const std::string& name, nn::Module&) { seen.push_back(name); });
  EXPECT_EQ(seen, (std::vector<std::string>{"", "block", "block.fc", "block.norm", "out"}));
  int linear = 0;
  net->apply([&](nn::Module& m) { linear += m.as<nn::Linear>() != nullptr; });
  EXPECT_EQ(linear, 2);
}

TEST(Module, ToConvertsFloatingTensorsOnly) {
  Net net;
  const Tensor weight = net->out->weight;
  net->to(kFloat64);
  EXPECT_EQ(weight.scalar_type(), kFloat64);  // the same tensor object
  EXPECT_EQ(net->block->norm->num_batches_tracked.scalar_type(), kInt64);
  EXPECT_EQ(net->forward(ones({2, 3}, kFloat64)).scalar_type(), kFloat64);
  expect_words(test::text_of([&] { net->to(kInt32); }),
               {"to(device)", "to(floating dtype)", "to(device, floating dtype)"});
}

TEST(Module, ZeroGrad) {
  nn::Linear m(2, 1);
  m->forward(ones({1, 2})).sum().backward();
  ASSERT_TRUE(m->weight.grad().defined());
  m->zero_grad(false);
  EXPECT_EQ(m->weight.grad().abs().sum().item<float>(), 0);
  m->zero_grad();
  EXPECT_FALSE(m->weight.grad().defined());
}

TEST(Module, CloneSharesNothing) {
  Net net;
  net->eval();
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  ASSERT_NE(copy, nullptr);
  EXPECT_FALSE(copy->is_training());
  const auto mine = net->named_parameters(), theirs = copy->named_parameters();
  ASSERT_EQ(mine.keys(), theirs.keys());
  for (const auto& p : mine) {
    EXPECT_NE(p.value().data_ptr(), theirs[p.key()].data_ptr());
    EXPECT_TRUE(equal(p.value(), theirs[p.key()])) << p.key();
  }
  const Tensor x = randn({4, 3});
  EXPECT_TRUE(equal(net->forward(x), copy->forward(x)));
  struct Plain : nn::Module {
  } plain;
  expect_words(test::text_of([&] { plain.clone(); }), {"Cloneable"});
}

TEST(Module, LoadReportsAllFaultsAtOnce) {
  Net net;
  const Tensor before = net->out->weight.detach().clone();
  auto state = net->state_dict();
  OrderedDict<std::string, Tensor> given;
  for (const auto& item : state) {
    if (item.key() == "scale") continue;
    given.insert(item.key(), item.key() == "out.weight" ? ones({3, 4}) : item.value().detach() + 1);
  }
  given.insert("extra", ones({1}));
  const std::string text = test::text_of([&] { net->load_state_dict(given); });
  expect_words(text, {"NetImpl", "missing", "scale", "unexpected", "extra", "shape of out.weight",
                      "[2, 4]", "[3, 4]"});
  EXPECT_TRUE(equal(net->out->weight, before));
  net->load_state_dict(given, false);
  EXPECT_TRUE(equal(net->block->fc->bias, given["block.fc.bias"]));
}

TEST(Module, SavesAndLoads) {
  Net a, b;
  std::stringstream file;
  save(a, file);
  load(b, file);
  for (const auto& item : a->state_dict())
    EXPECT_TRUE(equal(item.value(), b->state_dict()[item.key()])) << item.key();
}

TEST(Module, Prints) {
  std::ostringstream out;
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1)), nn::ReLU(),
                     nn::Dropout(0.25));
  out << net;
  EXPECT_EQ(out.str(),
            "tenon::nn::Sequential(\n"
            "  (0): tenon::nn::Conv2d(1, 2, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1])\n"
            "  (1): tenon::nn::ReLU()\n"
            "  (2): tenon::nn::Dropout(p=0.25, inplace=false)\n"
            ")");
}

TEST(Containers, SequentialAndAnyModule) {
  nn::Sequential inner(nn::Linear(3, 4), nn::ReLU());
  nn::Sequential net({{"inner", inner}, {"last", nn::Linear(4, 2)}});
  EXPECT_EQ(net->forward(ones({5, 3})).sizes(), (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(net->named_parameters().keys().back(), "last.bias");
  EXPECT_EQ(net->at<nn::LinearImpl>(1).options.out_features(), 2);
  EXPECT_EQ(net->size(), 2u);
  nn::AnyModule any(nn::Bilinear(2, 3, 4));
  EXPECT_EQ(any.forward(ones({1, 2}), ones({1, 3})).sizes(), (std::vector<int64_t>{1, 4}));
  expect_words(test::text_of([&] { any.forward(ones({1, 2})); }), {"expects 2 argument(s)"});
  expect_words(test::text_of([&] {
                 any.forward(ones({1, 2}), 3);
               }),
               {"argument #1", "Tensor", "int"});
  expect_words(test::text_of([&] { any.get<nn::LinearImpl>(); }), {"LinearImpl", "BilinearImpl"});
  nn::Sequential up(nn::ConvTranspose2d(1, 1, 2));  // its output_size may be left out
  EXPECT_EQ(up->forward(ones({1, 1, 2, 2})).size(3), 3);
  nn::Sequential functional(nn::Functional([](const Tensor& x) { return x * 2; }));
  EXPECT_EQ(functional->forward(ones({1})).item<float>(), 2);
  nn::ModuleList list(nn::Linear(1, 2), nn::ReLU());
  list->insert(1, nn::Linear(2, 2));
  EXPECT_EQ(list->named_children().keys(), (std::vector<std::string>{"0", "1", "2"}));
  nn::ParameterList parameters(ones({2}), zeros({3}));
  EXPECT_EQ(parameters->named_parameters().keys(), (std::vector<std::string>{"0", "1"}));
}

TEST(Layers, RefuseBadInput) {
  expect_words(test::text_of([] { nn::Dropout d(1.5); }),
               {"dropout probability", "within 0 and 1", "1.5"});
  expect_words(test::text_of([] {
                 nn::BatchNorm1d(3)->forward(ones({1, 3}));
               }),
               {"more than one value per channel"});
  expect_words(test::text_of([] {
                 nn::BatchNorm2d(3)->forward(ones({2, 3}));
               }),
               {"expected 4-D", "got 2-D"});
  expect_words(test::text_of([] { nn::Conv2d(nn::Conv2dOptions(3, 4, 2).groups(2)); }),
               {"groups=2"});
  const auto words = {"'same'", "strided convolutions"};
  expect_words(test::text_of<ValueError>(
                   [] { nn::Conv1d(nn::Conv1dOptions(3, 4, 2).padding(kSame).stride(2)); }),
               words);
  expect_words(test::text_of<ValueError>([] {
                 nn::Conv2d(nn::Conv2dOptions(3, 4, 2).padding(kSame).stride({1, 2}));
               }),
               words);
  expect_words(test::text_of<ValueError>(
                   [] { nn::Conv3d(nn::Conv3dOptions(3, 4, 2).padding(kSame).stride(2)); }),
               words);
  EXPECT_NO_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 2).padding(kSame)));
  EXPECT_NO_THROW(nn::Conv2d(nn::Conv2dOptions(3, 4, 2).padding(kValid).stride(2)));
  expect_words(
      test::text_of<ValueError>([] { nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(3)); }),
      {"p", "3"});
  expect_words(test::text_of<ValueError>([] {
                 nn::MultiMarginLoss(nn::MultiMarginLossOptions().weight(ones({2, 2})));
               }),
               {"weight", "[2, 2]"});
  expect_words(test::text_of<ValueError>([] { nn::GRU(nn::GRUOptions(3, 0)); }),
               {"hidden_size", "0"});
  for (bool training : {true, false}) {
    nn::RReLU odd(nn::RReLUOptions().lower(0.5).upper(0.1)),
        wide(nn::RReLUOptions().upper(INFINITY));
    odd->train(training);
    wide->train(training);
    expect_words(test::text_of<ValueError>([&] { odd->forward(ones({2})); }),
                 {"lower=0.5", "upper=0.1"});
    expect_words(test::text_of<ValueError>([&] { wide->forward(ones({2})); }), {"finite"});
  }
  for (double min_val : {0.42, 0.43, double{NAN}}) {
    expect_words(test::text_of<ValueError>(
                     [&] { nn::Hardtanh(nn::HardtanhOptions().min_val(min_val).max_val(0.42)); }),
                 {"Hardtanh", "max_val must be greater than min_val", "0.42"});
  }
  expect_words(test::text_of([] {
                 nn::Conv2d(nn::Conv2dOptions(1, 1, 1).padding(-1))->forward(ones({1, 1, 2, 2}));
               }),
               {"negative padding"});
  expect_words(test::text_of([] {
                 nn::functional::nll_loss(zeros({2, 3}), zeros({3}, kInt64));
               }),
               {"batch size"});
}

TEST(Layers, DropoutKeepsTheRest) {
  manual_seed(1);
  nn::Dropout d(0.5);
  const Tensor x = ones({1000});
  const Tensor y = d->forward(x);
  EXPECT_TRUE(((y == 0) | (y == 2)).all().item<bool>());
  nn::Dropout all(1.0);
  EXPECT_EQ(all->forward(x).abs().sum().item<float>(), 0);
  d->eval();
  EXPECT_TRUE(equal(d->forward(x), x));
}

TEST(Layers, EmbeddingFromPretrained) {
  const Tensor table = arange(6, kFloat32).reshape({3, 2});
  auto e = nn::Embedding::from_pretrained(table);
  EXPECT_FALSE(e->weight.requires_grad());
  EXPECT_TRUE(equal(e->forward(full({1}, 2, kInt64)), table.narrow(0, 2, 1)));
  nn::Embedding padded(nn::EmbeddingOptions(4, 2).padding_idx(-1));
  EXPECT_EQ(padded->weight.select(0, 3).abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace tenon
