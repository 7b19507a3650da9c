// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules against their definition in double, where no values of another library are stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace {

using Vector = std::vector<double>;

Tensor scaled_leaf(IntArrayRef sizes, double factor = 1) {
  return (randn(sizes, kFloat64) * factor).set_requires_grad(true);
}

Vector values(const Tensor& t) {
  const Tensor flat = t.detach().contiguous();
  return Vector(flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
}

void expect_near(const Vector& given, const Vector& expected, double tolerance) {
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    EXPECT_NEAR(given[i], expected[i], tolerance) << "element " << i;
}

// A loss by its definition: the losses of the elements or rows, whatever the reduction makes of
// them.
Vector reduced(const Vector& losses, const std::string& reduction) {
  double sum = 0;
  for (double l : losses) sum += l;
  if (reduction == "none") return losses;
  return {reduction == "sum" ? sum : sum / static_cast<double>(losses.size())};
}

// The gradient of `f` at `x` by central differences.
Vector slopes(Vector x, const std::function<double(const Vector&)>& f) {
  Vector out;
  for (double& v : x) {
    const double h = 1e-6, at = v;
    v = at + h;
    const double above = f(x);
    v = at - h;
    out.push_back((above - f(x)) / (2 * h));
    v = at;
  }
  return out;
}

double total(const Vector& v) {
  double sum = 0;
  for (double x : v) sum += x;
  return sum;
}

template <class Options>
Options with_reduction(Options o, const std::string& reduction) {
  if (reduction == "none") o.reduction(kNone);
  if (reduction == "sum") o.reduction(kSum);
  return o;
}

TEST(Formulas, ConstantPad2d) {
  manual_seed(4);
  for (const std::vector<int64_t>& pad :
       {std::vector<int64_t>{1, 2, 3, 0}, {0, -1, -2, 1}, {2, 2, 2, 2}}) {
    const int64_t left = pad[0], right = pad[1], top = pad[2], bottom = pad[3], h = 4, w = 5;
    const Tensor x = scaled_leaf({2, 3, h, w});
    const Tensor y =
        nn::ConstantPad2d(nn::ConstantPad2dOptions({left, right, top, bottom}, -1.5))->forward(x);
    ASSERT_EQ(y.sizes(), IntArrayRef({2, 3, h + top + bottom, w + left + right}));
    const Tensor cotangent = randn(y.sizes(), kFloat64);
    (y * cotangent).sum().backward();
    const Vector in = values(x), weights = values(cotangent);
    Vector out(static_cast<std::size_t>(y.numel()), -1.5), gradient(in.size(), 0);
    for (int64_t plane = 0; plane < 6; ++plane) {
      for (int64_t i = 0; i < y.size(2); ++i) {
        for (int64_t j = 0; j < y.size(3); ++j) {
          const int64_t row = i - top, column = j - left;
          if (row < 0 || row >= h || column < 0 || column >= w) continue;
          const auto to = static_cast<std::size_t>((plane * y.size(2) + i) * y.size(3) + j);
          const auto from = static_cast<std::size_t>((plane * h + row) * w + column);
          out[to] = in[from];
          gradient[from] = weights[to];
        }
      }
    }
    expect_near(values(y), out, 0);
    expect_near(values(x.grad()), gradient, 0);
  }
}

// torch's choice of the dimension that a softmax was not given, and the warning.
TEST(Formulas, SoftmaxOfADimensionThatWasNotGiven) {
  namespace F = nn::functional;
  static std::vector<std::string> heard;
  const WarningCallback before =
      set_warning_handler([](const WarningMessage& w) { heard.emplace_back(w.message); });
  const std::vector<std::vector<int64_t>> shapes = {{}, {3}, {2, 3}, {2, 3, 4}, {2, 3, 4, 5}};
  const int64_t chosen[] = {0, 0, 1, 0, 1};
  for (std::size_t n = 0; n < shapes.size(); ++n) {
    heard.clear();
    const Tensor x = randn(shapes[n]);
    const int64_t dim = chosen[n];
    EXPECT_TRUE(equal(F::softmax(x), softmax(x, dim))) << n;
    EXPECT_TRUE(equal(F::softmin(x), softmax(-x, dim))) << n;
    EXPECT_TRUE(equal(F::log_softmax(x), log_softmax(x, dim))) << n;
    EXPECT_TRUE(equal(nn::Softmax()->forward(x), softmax(x, dim))) << n;
    EXPECT_TRUE(equal(nn::Softmin()->forward(x), softmax(-x, dim))) << n;
    EXPECT_TRUE(equal(nn::LogSoftmax()->forward(x), log_softmax(x, dim))) << n;
    ASSERT_EQ(heard.size(), 6u);
    for (const std::string& w : heard) EXPECT_NE(w.find("chosen implicitly"), w.npos) << w;
  }
  heard.clear();
  F::softmax(ones({2, 3}), 0);
  nn::LogSoftmax(nn::LogSoftmaxOptions().dim(1))->forward(ones({2, 3}));
  EXPECT_TRUE(heard.empty());
  set_warning_handler(before);
  std::ostringstream text;
  text << nn::Softmax() << nn::LogSoftmax(1);
  EXPECT_EQ(text.str(), "tenon::nn::Softmax(dim=None)tenon::nn::LogSoftmax(dim=1)");
}

TEST(Formulas, LinearCrossEntropyLoss) {
  nn::LinearCrossEntropyLoss loss(
      nn::LinearCrossEntropyLossOptions(5, 4).out_features({3, 2}).bias(true).reduction(kSum));
  loss->to(kFloat64);
  const Tensor x = scaled_leaf({6, 5}), target = randint(4, {6, 3, 2}, kLong);
  const Tensor logits = x.matmul(loss->linear->weight.t()) + loss->linear->bias;
  const Tensor wanted = logits.view({6, 4, 3, 2}).log_softmax(1).gather(1, target.unsqueeze(1));
  EXPECT_TRUE(allclose(loss(x, target), wanted.sum().neg()));

  nn::LinearCrossEntropyLoss one(nn::LinearCrossEntropyLossOptions(5, 4).ignore_index(2));
  one->to(kFloat64);
  EXPECT_TRUE(allclose(one(x[0], target[0][0][0] * 0), one(x.narrow(0, 0, 1), zeros({1}, kLong))));
  EXPECT_THROW(one(x, x.new_ones({6, 4})), ValueError);  // probabilities have no index
  EXPECT_THROW(one(x.view({6, 1, 5}), target), ValueError);
  EXPECT_THROW(loss(x[0], target[0]), ValueError);
  EXPECT_THROW(
      nn::LinearCrossEntropyLoss(nn::LinearCrossEntropyLossOptions(5, 4).weight(ones({3}))),
      ValueError);
}

TEST(Formulas, SoftMarginLoss) {
  manual_seed(5);
  const Tensor sign = (randint(2, {3, 4}) * 2 - 1).to(kFloat64);
  const Vector y = values(sign);
  const auto losses = [&](const Vector& x) {
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(std::log1p(std::exp(-y[i] * x[i])));
    return out;
  };
  for (const std::string reduction : {"none", "sum", "mean"}) {
    const Tensor x = scaled_leaf({3, 4}, 3);
    const Tensor loss = nn::SoftMarginLoss(with_reduction(nn::SoftMarginLossOptions(), reduction))
                            ->forward(x, sign);
    expect_near(values(loss), reduced(losses(values(x)), reduction), 1e-14);
    loss.sum().backward();
    expect_near(
        values(x.grad()),
        slopes(values(x), [&](const Vector& v) { return total(reduced(losses(v), reduction)); }),
        1e-8);
  }
  // exp overflows where the loss is as large as the argument.
  const Tensor far = tensor({-800.0, 800.0}, kFloat64).set_requires_grad(true);
  const Tensor loss =
      nn::SoftMarginLoss(nn::SoftMarginLossOptions().reduction(kSum))->forward(far, ones_like(far));
  EXPECT_EQ(loss.item<double>(), 800);
  loss.backward();
  expect_near(values(far.grad()), {-1, 0}, 0);
}

// ||a - b + 1e-6||_p of one row.
double distance(const double* a, const double* b, int64_t width, double p) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += std::pow(std::fabs(a[i] - b[i] + 1e-6), p);
  return std::pow(sum, 1 / p);
}

TEST(Formulas, TripletMarginLoss) {
  manual_seed(6);
  const int64_t rows = 5, width = 3;
  for (const double p : {1.0, 2.0, 3.0}) {
    for (const bool swap : {false, true}) {
      for (const std::string reduction : {"none", "sum", "mean"}) {
        const double margin = 0.7;
        // Anchor, positive and negative rows one after the other.
        const auto losses = [&](const Vector& all) {
          Vector out;
          for (int64_t r = 0; r < rows; ++r) {
            const double *a = all.data() + r * width, *b = a + rows * width, *c = b + rows * width;
            double apart = distance(a, c, width, p);
            if (swap) apart = std::min(apart, distance(b, c, width, p));
            out.push_back(std::max(0.0, distance(a, b, width, p) - apart + margin));
          }
          return out;
        };
        const Tensor x = scaled_leaf({3, rows, width});
        const auto options = with_reduction(
            nn::TripletMarginLossOptions().margin(margin).p(p).swap(swap), reduction);
        const Tensor loss = nn::TripletMarginLoss(options)->forward(x[0], x[1], x[2]);
        expect_near(values(loss), reduced(losses(values(x)), reduction), 1e-12);
        loss.sum().backward();
        const auto f = [&](const Vector& v) { return total(reduced(losses(v), reduction)); };
        expect_near(values(x.grad()), slopes(values(x), f), 1e-7);
      }
    }
  }
}

}  // namespace
}  // namespace tenon
