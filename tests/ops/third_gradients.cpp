// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of the third order: the gradient of an operator is a function as any other, and the
// second order of that function is the third of the operator.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

namespace tenon {
namespace {

using test::check_gradients;
using test::Inputs;
using Unary = std::function<Tensor(const Tensor&)>;

struct Case {
  const char* name;
  std::vector<std::vector<int64_t>> sizes;  // of the inputs
  std::function<Tensor(const Inputs&)> f;
};

// Between 0.4 and 1.4, where all operators of the table are smooth; no two are equal.
Tensor positive(IntArrayRef sizes) { return (rand(sizes, kDouble) + 0.4).requires_grad_(); }

Inputs inputs_of(const Case& c) {
  Inputs in;
  for (const auto& sizes : c.sizes) in.push_back(positive(sizes));
  return in;
}

// Of the inputs and of the gradient of the output, which is the last. Differences call it with
// leaves that need no gradient, and in a mode without gradients.
Inputs first_gradients(const Case& c, const Inputs& all) {
  AutoGradMode on(true);
  Inputs in(all.begin(), all.end() - 1);
  for (Tensor& t : in)
    if (!t.requires_grad()) t = t.detach().requires_grad_();
  return autograd::grad({c.f(in)}, in, {all.back()}, true, true);
}

const std::vector<int64_t> k4 = {4}, k23 = {2, 3};

const std::vector<Case> kPointwise = {
    {"exp", {k4}, [](const Inputs& t) { return exp(t[0]); }},
    {"log", {k4}, [](const Inputs& t) { return log(t[0]); }},
    {"log1p", {k4}, [](const Inputs& t) { return log1p(t[0]); }},
    {"sin", {k4}, [](const Inputs& t) { return sin(t[0]); }},
    {"cos", {k4}, [](const Inputs& t) { return cos(t[0]); }},
    {"tan", {k4}, [](const Inputs& t) { return tan(t[0]); }},
    {"atan", {k4}, [](const Inputs& t) { return atan(t[0]); }},
    {"sinh", {k4}, [](const Inputs& t) { return sinh(t[0]); }},
    {"tanh", {k4}, [](const Inputs& t) { return tanh(t[0]); }},
    {"sigmoid", {k4}, [](const Inputs& t) { return sigmoid(t[0]); }},
    {"sqrt", {k4}, [](const Inputs& t) { return sqrt(t[0]); }},
    {"rsqrt", {k4}, [](const Inputs& t) { return rsqrt(t[0]); }},
    {"reciprocal", {k4}, [](const Inputs& t) { return reciprocal(t[0]); }},
    {"erf", {k4}, [](const Inputs& t) { return erf(t[0]); }},
    {"lgamma", {k4}, [](const Inputs& t) { return lgamma(t[0] + 1); }},
    {"pow of a scalar", {k4}, [](const Inputs& t) { return pow(t[0], 3.7); }},
    {"pow", {k4, k4}, [](const Inputs& t) { return pow(t[0], t[1]); }},
    {"mul", {k4, k4}, [](const Inputs& t) { return t[0] * t[1]; }},
    {"mul that broadcasts", {k23, {3}}, [](const Inputs& t) { return t[0] * t[1]; }},
    {"div", {k4, k4}, [](const Inputs& t) { return t[0] / t[1]; }},
    {"atan2", {k4, k4}, [](const Inputs& t) { return atan2(t[0], t[1]); }},
    {"hypot", {k4, k4}, [](const Inputs& t) { return hypot(t[0], t[1]); }},
};

const std::vector<Case> kActivations = {
    {"softplus", {k4}, [](const Inputs& t) { return softplus(t[0]); }},
    {"softplus of a steep slope", {k4}, [](const Inputs& t) { return softplus(t[0], 2.5); }},
    {"elu", {k4}, [](const Inputs& t) { return elu(-t[0], 1.3); }},
    {"celu", {k4}, [](const Inputs& t) { return celu(-t[0], 1.3); }},
    {"selu", {k4}, [](const Inputs& t) { return selu(-t[0]); }},
    {"gelu", {k4}, [](const Inputs& t) { return gelu(t[0] - 1); }},
    {"gelu by tanh", {k4}, [](const Inputs& t) { return gelu(t[0] - 1, "tanh"); }},
    {"silu", {k4}, [](const Inputs& t) { return silu(t[0] - 1); }},
    {"mish", {k4}, [](const Inputs& t) { return mish(t[0] - 1); }},
    {"log_sigmoid", {k4}, [](const Inputs& t) { return log_sigmoid(t[0] - 1); }},
    {"glu", {{2, 4}}, [](const Inputs& t) { return glu(t[0]); }},
    {"softmax", {k23}, [](const Inputs& t) { return softmax(t[0], 1); }},
    {"log_softmax", {k23}, [](const Inputs& t) { return log_softmax(t[0], 0); }},
};

const std::vector<Case> kReductions = {
    {"logsumexp", {k23}, [](const Inputs& t) { return logsumexp(t[0], {1}); }},
    {"prod", {k4}, [](const Inputs& t) { return prod(t[0]); }},
    {"prod of rows", {k23}, [](const Inputs& t) { return prod(t[0], 1); }},
    {"cumsum", {k23}, [](const Inputs& t) { return cumsum(t[0].pow(3), 1); }},
    {"cumprod", {k4}, [](const Inputs& t) { return cumprod(t[0], 0); }},
    {"logcumsumexp", {k4}, [](const Inputs& t) { return logcumsumexp(t[0], 0); }},
    {"norm", {k4}, [](const Inputs& t) { return t[0].norm(); }},
    {"norm of the third power", {k23}, [](const Inputs& t) { return norm(t[0], 3, {1}); }},
    {"var", {k23}, [](const Inputs& t) { return var(t[0] * t[0], true); }},
    {"std", {k23}, [](const Inputs& t) { return t[0].std(); }},
};

const std::vector<Case> kProducts = {
    {"matmul", {k23, {3, 2}}, [](const Inputs& t) { return matmul(t[0], t[1]); }},
    {"bmm", {{2, 1, 2}, {2, 2, 2}}, [](const Inputs& t) { return bmm(t[0], t[1]); }},
    {"addmm",
     {{2, 2}, {2, 2}, {2, 2}},
     [](const Inputs& t) { return addmm(t[0], t[1], t[2], 0.7, 1.3); }},
    {"bilinear",
     {{2, 2}, {2, 2}, {1, 2, 2}, {1}},
     [](const Inputs& t) { return bilinear(t[0], t[1], t[2], t[3]); }},
    {"conv1d",
     {{1, 2, 4}, {1, 2, 2}, {1}},
     [](const Inputs& t) { return conv1d(t[0], t[1], t[2]); }},
    {"conv2d",
     {{1, 1, 3, 3}, {2, 1, 2, 2}, {2}},
     [](const Inputs& t) { return conv2d(t[0], t[1], t[2], 2, 1); }},
    {"conv_transpose2d",
     {{1, 1, 2, 2}, {1, 1, 2, 2}, {1}},
     [](const Inputs& t) { return conv_transpose2d(t[0], t[1], t[2]); }},
    {"inverse", {{2, 2}}, [](const Inputs& t) { return inverse(t[0] + 2 * eye(2, kDouble)); }},
    {"det", {{2, 2}}, [](const Inputs& t) { return det(t[0] + 2 * eye(2, kDouble)); }},
    {"cosine_similarity",
     {k23, k23},
     [](const Inputs& t) { return cosine_similarity(t[0], t[1]); }},
};

Tensor classes() { return tensor({2, 0}); }

const std::vector<Case> kNormsAndLosses = {
    {"layer_norm",
     {k23, {3}, {3}},
     [](const Inputs& t) { return layer_norm(t[0], {3}, t[1], t[2]); }},
    {"batch_norm of a batch",
     {{3, 2}, {2}, {2}},
     [](const Inputs& t) { return batch_norm(t[0], t[1], t[2], {}, {}, true, 0.1, 1e-5, true); }},
    {"group_norm",
     {{1, 4, 2}, {4}, {4}},
     [](const Inputs& t) { return group_norm(t[0], 2, t[1], t[2]); }},
    {"instance_norm",
     {{1, 2, 3}},
     [](const Inputs& t) { return instance_norm(t[0], {}, {}, {}, {}, true, 0.1, 1e-5, true); }},
    {"cross_entropy", {k23}, [](const Inputs& t) { return cross_entropy_loss(t[0], classes()); }},
    {"mse_loss", {k4, k4}, [](const Inputs& t) { return mse_loss(t[0], t[1]); }},
    {"smooth_l1_loss", {k4, k4}, [](const Inputs& t) { return smooth_l1_loss(t[0], t[1], 1, 2); }},
    {"binary_cross_entropy",
     {k4},
     [](const Inputs& t) {
       return binary_cross_entropy(t[0] / 2, tensor({0., 1., 1., 0.}, kDouble));
     }},
    {"binary_cross_entropy_with_logits",
     {k4},
     [](const Inputs& t) {
       return binary_cross_entropy_with_logits(t[0], tensor({0., 1., 1., 0.}, kDouble));
     }},
    {"kl_div", {k4, k4}, [](const Inputs& t) { return kl_div(t[0], t[1], 2); }},
};

void check(const std::vector<Case>& cases) {
  manual_seed(21);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Inputs in = inputs_of(c);
    in.push_back(positive(c.f(in).sizes()));
    try {
      check_gradients([&](const Inputs& all) { return first_gradients(c, all); }, in);
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

TEST(ThirdGradients, OfPointwiseOperators) { check(kPointwise); }
TEST(ThirdGradients, OfActivations) { check(kActivations); }
TEST(ThirdGradients, OfReductions) { check(kReductions); }
TEST(ThirdGradients, OfProducts) { check(kProducts); }
TEST(ThirdGradients, OfNormsAndLosses) { check(kNormsAndLosses); }

// What differences cannot show: the last digits.
TEST(ThirdGradients, AreTheClosedForms) {
  const struct {
    const char* name;
    Unary f, third;
  } cases[] = {
      {"exp", [](const Tensor& x) { return exp(x); }, [](const Tensor& x) { return exp(x); }},
      {"log", [](const Tensor& x) { return log(x); }, [](const Tensor& x) { return 2 / x.pow(3); }},
      {"sin", [](const Tensor& x) { return sin(x); }, [](const Tensor& x) { return -cos(x); }},
      {"cos", [](const Tensor& x) { return cos(x); }, [](const Tensor& x) { return sin(x); }},
      {"sqrt", [](const Tensor& x) { return sqrt(x); },
       [](const Tensor& x) { return 0.375 * x.pow(-2.5); }},
      {"reciprocal", [](const Tensor& x) { return reciprocal(x); },
       [](const Tensor& x) { return -6 / x.pow(4); }},
      {"pow", [](const Tensor& x) { return pow(x, 5); },
       [](const Tensor& x) { return 60 * x * x; }},
      {"tanh", [](const Tensor& x) { return tanh(x); },
       [](const Tensor& x) {
         const Tensor y = tanh(x), slope = 1 - y * y;
         return slope * (6 * y * y - 2);
       }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); },
       [](const Tensor& x) {
         const Tensor y = sigmoid(x), slope = y * (1 - y);
         return slope * (1 - 6 * slope);
       }},
      {"erf", [](const Tensor& x) { return erf(x); },
       [](const Tensor& x) {
         return (4 * x * x - 2) * exp(-x * x) * (2 / std::sqrt(std::acos(-1.0)));
       }},
  };
  for (const auto& c : cases) {
    const Tensor x = linspace(0.3, 1.7, 8, kDouble).requires_grad_();
    Tensor y = c.f(x);
    for (int order = 1; order <= 3; ++order) y = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
    EXPECT_TRUE(allclose(y, c.third(x.detach()), 1e-11, 1e-11)) << c.name << y;
  }
}

}  // namespace
}  // namespace tenon
