// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// nn::parallel with inputs and results that are structures, on the host as several devices.
#include "tenon/nn/parallel/scatter_gather.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tenon/autograd.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/runtime/log.h"
#include "tests/nn/support.h"
#include "tests/support.h"

namespace tenon {
namespace {

using nn::parallel::data_parallel;
using nn::parallel::gather;
using nn::parallel::parallel_apply;
using nn::parallel::scatter;
using TensorMap = std::map<std::string, Tensor>;

// A map with the sum and the difference of what two layers make of a map.
struct TwoHeadsImpl : nn::Cloneable<TwoHeadsImpl> {
  TwoHeadsImpl() { reset(); }
  void reset() override {
    left = register_module("left", nn::Linear(5, 3));
    right = register_module("right", nn::Linear(4, 3));
  }
  TensorMap forward(const TensorMap& in) {
    const Tensor l = left(in.at("a")), r = right(in.at("b"));
    return {{"sum", l + r}, {"difference", (l - r).tanh()}};
  }
  nn::Linear left{nullptr}, right{nullptr};
};
TENON_MODULE(TwoHeads);

TEST(ScatterGather, AMapOnTwelveDevices) {
  TwoHeads net;
  const TensorMap in = {{"a", rand({25, 5}, requires_grad())}, {"b", rand({25, 4})}};
  const auto gradients = [&](const TensorMap& out) {
    auto inputs = net->parameters();
    inputs.push_back(in.at("a"));
    return autograd::grad({out.at("sum").pow(2).sum() + out.at("difference").sum()}, inputs);
  };
  const TensorMap one = net(in), many = data_parallel(net, in, test::cpus(12));
  ASSERT_EQ(many.size(), 2u);
  for (const auto& [name, t] : one) EXPECT_TRUE(allclose(many.at(name), t)) << name;
  const auto expected = gradients(one), got = gradients(many);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(allclose(got[i], expected[i], 1e-4, 1e-5)) << i;
  const TensorMap alone = data_parallel(net, in, test::cpus(1));
  for (const auto& [name, t] : one) EXPECT_TRUE(allclose(alone.at(name), t)) << name;
}

// A sequence with its state: two arguments, and a result that is nested.
TEST(ScatterGather, ATupleIsTheArgumentsOfForward) {
  nn::LSTM lstm(nn::LSTMOptions(3, 4));
  const auto input = std::make_tuple(
      rand({6, 7, 3}), std::optional(std::make_tuple(rand({1, 7, 4}), rand({1, 7, 4}))));
  const auto one = lstm(std::get<0>(input), std::get<1>(input));
  const auto many = data_parallel(lstm, input, test::cpus(3), std::nullopt, /*dim=*/1);
  EXPECT_TRUE(allclose(std::get<0>(many), std::get<0>(one)));
  EXPECT_TRUE(allclose(std::get<0>(std::get<1>(many)), std::get<0>(std::get<1>(one))));
  EXPECT_TRUE(allclose(std::get<1>(std::get<1>(many)), std::get<1>(std::get<1>(one))));
}

TEST(ScatterGather, ATupleMayBeOneArgument) {
  struct Product : nn::Cloneable<Product> {
    void reset() override {}
    std::pair<Tensor, Tensor> forward(const std::tuple<Tensor, Tensor>& both) {
      const auto& [x, y] = both;
      return {x * y, x.sum()};
    }
  };
  const Tensor x = arange(8, kFloat), y = rand({8});
  const auto [product, sums] =
      data_parallel(std::make_shared<Product>(), std::make_tuple(x, y), test::cpus(4));
  EXPECT_TRUE(product.equal(x * y));
  EXPECT_TRUE(sums.equal(tensor({1.f, 5.f, 9.f, 13.f})));
}

struct Recipe {  // of the program, and copied as it is
  double factor;
  Tensor shift;
};

// Lists and arrays of tensors beside what is copied: options, texts, numbers, undefined tensors.
struct MixerImpl : nn::Cloneable<MixerImpl> {
  void reset() override {}
  OrderedDict<std::string, std::vector<Tensor>> forward(const std::vector<Tensor>& list,
                                                        const std::array<Tensor, 2>& two,
                                                        const Recipe& recipe,
                                                        const std::vector<std::string>& names,
                                                        int64_t copies, const Tensor& none,
                                                        const std::optional<Tensor>& nothing) {
    ++calls;
    EXPECT_FALSE(none.defined() || nothing.has_value());
    OrderedDict<std::string, std::vector<Tensor>> out;
    for (const std::string& name : names)
      out.insert(name, {list[0] * recipe.factor + recipe.shift, two[0] - two[1]});
    EXPECT_EQ(copies, 3);
    return out;
  }
  static inline std::atomic<int> calls{0};
};
TENON_MODULE(Mixer);

TEST(ScatterGather, OtherObjectsAreCopied) {
  const Tensor a = rand({5, 2}), b = rand({5, 2}), c = rand({5, 1}), shift = rand({2});
  const auto out =
      data_parallel(Mixer(),
                    std::make_tuple(std::vector<Tensor>{a}, std::array<Tensor, 2>{b, c},
                                    Recipe{2, shift}, std::vector<std::string>{"x", "y"},
                                    int64_t{3}, Tensor(), std::optional<Tensor>()),
                    test::cpus(8));
  EXPECT_EQ(MixerImpl::calls, 5);  // a row each, and three devices without work
  ASSERT_EQ(out.size(), 2u);
  for (const auto& item : out) {
    EXPECT_TRUE(item.value()[0].equal(a * 2 + shift)) << item.key();
    EXPECT_TRUE(item.value()[1].equal(b - c)) << item.key();
  }
}

TEST(ScatterGather, WithoutTensorsAllDevicesRun) {
  struct Fill : nn::Cloneable<Fill> {
    void reset() override {}
    Tensor forward(double value) { return full({2}, value); }
  };
  const auto fill = std::make_shared<Fill>();
  EXPECT_TRUE(data_parallel(fill, 1.5, test::cpus(3)).equal(full({6}, 1.5)));
  std::vector<std::shared_ptr<Fill>> modules(2, fill);
  EXPECT_TEXT(parallel_apply(modules, std::vector<double>{1, 2}),
              "an input without tensors needs devices");
}

TEST(ScatterGather, PiecesOfNestedMaps) {
  using Nested = std::unordered_map<int, std::vector<TensorMap>>;
  Nested in;
  for (int i = 0; i < 20; ++i) in[i] = {{{"x", full({6, 1}, i)}}, {{"y", full({6, 2}, -i)}}};
  const std::vector<Nested> pieces = scatter(in, test::cpus(4));
  ASSERT_EQ(pieces.size(), 3u);  // of two rows
  for (const Nested& p : pieces) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(p.at(i)[0].at("x").equal(full({2, 1}, i)));
      EXPECT_TRUE(p.at(i)[1].at("y").equal(full({2, 2}, -i)));
    }
  }
  EXPECT_EQ(in.at(3)[0].at("x").size(0), 6);
  const Nested back = gather(pieces, kCPU);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(back.at(i)[0].at("x").equal(in.at(i)[0].at("x")));
}

TEST(ScatterGather, Errors) {
  EXPECT_TEXT(scatter(std::make_pair(rand({6, 2}), rand({4, 2})), test::cpus(2)),
              "the batch's size along dim 0, got 6 and 4");
  EXPECT_TEXT(scatter(TensorMap{{"x", rand({6})}}, test::cpus(0)), "at least one device");
  const Tensor x = rand({2});
  EXPECT_TEXT(gather(std::vector<TensorMap>{}, kCPU), "at least one result");
  EXPECT_TEXT(gather(std::vector<TensorMap>{{{"x", x}}, {{"y", x}}}, kCPU), "the same keys");
  EXPECT_TEXT(gather(std::vector<std::vector<Tensor>>{{x, x}, {x}}, kCPU),
              "the vectors of all replicas must have the same number of elements, got 2 and 1");
  EXPECT_TEXT(gather(std::vector<std::optional<Tensor>>{x, std::nullopt}, kCPU), "optionals");
  EXPECT_TEXT(gather(std::vector<Tensor>{x, Tensor()}, kCPU), "undefined in 1 of 2 replicas");
  EXPECT_FALSE(gather(std::vector<Tensor>(2), kCPU).defined());
}

TEST(ScatterGather, ResultsWithoutDimensionsWarn) {
  static std::string heard;
  const WarningCallback before =
      set_warning_handler([](const WarningMessage& w) { heard.append(w.message).append("\n"); });
  EXPECT_TRUE(gather(std::vector<Tensor>(2, tensor(3.)), kCPU, 0).equal(tensor({3., 3.})));
  EXPECT_TRUE(test::has(heard, "all input tensors were scalars")) << heard;
  heard.clear();
  data_parallel(nn::ReLU(), rand({4}), test::cpus(4));  // all one device, so that nothing is uneven
  set_warning_handler(before);
  EXPECT_EQ(heard, "");
}

TEST(ScatterGather, UnbalancedDevicesAreNamed) {
  std::vector<Device> devices = {Device("cuda:0"), Device("cuda:1"), Device("cuda:2")};
  std::vector<tn_device_props> props(3, tn_device_props{});
  const auto text = [&] { return nn::parallel::detail::imbalance(devices, props); };
  EXPECT_EQ(text(), "") << "nothing is known";
  for (auto& p : props) p.total_bytes = uint64_t{16} << 30, p.compute_units = 100;
  props[2].total_bytes = uint64_t{12} << 30;  // just 75 %
  props[1].compute_units = 75;
  EXPECT_EQ(text(), "");
  props[1].compute_units = 74;
  test::expect_words(text(), {"imbalance", "exclude cuda:1", "75%", "cores of cuda:0"});
  props[2].total_bytes -= 1;
  test::expect_words(text(), {"exclude cuda:2", "cuda:0"});
  props[2].total_bytes = 0;  // is not known
  test::expect_words(text(), {"exclude cuda:1"});
  devices[1] = kCPU;  // of another type
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace tenon
