// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// weight_norm, spectral_norm and parametrizations, against what they mean.
#include "tenon/nn/utils/parametrize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/autograd.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

namespace parametrize = nn::utils::parametrize;
namespace parametrizations = nn::utils::parametrizations;
using nn::utils::remove_spectral_norm;
using nn::utils::remove_weight_norm;
using nn::utils::spectral_norm;
using nn::utils::weight_norm;
using Keys = std::vector<std::string>;

Tensor normalized(const Tensor& g, const Tensor& v) {
  return g * v / v.pow(2).sum(IntArrayRef({1}), true).sqrt();
}
double largest_singular_value(const Tensor& matrix) {
  return linalg_svdvals(matrix.detach().to(kDouble)).max().item<double>();
}

TEST(WeightNorm, TrainsLengthsAndDirections) {
  auto fc = weight_norm(nn::Linear(4, 3));
  EXPECT_EQ(fc->named_parameters().keys(), (Keys{"bias", "weight_g", "weight_v"}));
  EXPECT_EQ(fc->named_parameters()["weight_g"].sizes(), IntArrayRef({3, 1}));
  // The same by hand.
  Tensor g = fc->named_parameters()["weight_g"].detach().clone().requires_grad_();
  Tensor v = fc->named_parameters()["weight_v"].detach().clone().requires_grad_();
  Tensor b = fc->bias.detach().clone().requires_grad_();
  optim::SGD ours(fc->parameters(), 0.3), manual({b, g, v}, 0.3);
  for (int i = 0; i < 5; ++i) {
    const Tensor x = rand({8, 4}), y = rand({8, 3});
    ours.zero_grad();
    manual.zero_grad();
    const Tensor loss = mse_loss(fc->forward(x), y);
    loss.backward();
    const Tensor expected = mse_loss(x.mm(normalized(g, v).t()) + b, y);
    expected.backward();
    EXPECT_TRUE(allclose(loss, expected));
    ours.step();
    manual.step();
  }
  EXPECT_TRUE(allclose(fc->named_parameters()["weight_v"], v, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(fc->weight, normalized(g, v), 1e-5, 1e-6));
}

TEST(WeightNorm, OneLengthForAll) {
  auto fc = weight_norm(nn::Linear(4, 3), "weight", std::nullopt);
  EXPECT_EQ(fc->named_parameters()["weight_g"].numel(), 1);
  EXPECT_TRUE(allclose(fc->weight.norm(), fc->named_parameters()["weight_g"].squeeze()));
}

TEST(WeightNorm, SeveralPassesAndGraphsOfOneValue) {
  auto fc = weight_norm(nn::Linear(2, 2));
  const Tensor x = rand({3, 2});
  const Tensor a = fc(x).sum(), b = fc->forward(x).pow(2).sum();
  {
    NoGradGuard no_grad;
    fc->forward(x);  // leaves the value that a and b are recorded with
  }
  a.backward();
  const Tensor first = fc->named_parameters()["weight_v"].grad().clone();
  b.backward();  // through the same weight
  EXPECT_FALSE(fc->named_parameters()["weight_v"].grad().equal(first));
  // Second derivatives go through the weight, too.
  const Tensor v = fc->named_parameters()["weight_v"];
  const Tensor once = autograd::grad({fc(x).pow(2).sum()}, {v}, {}, true, true)[0];
  EXPECT_TRUE(autograd::grad({once.sum()}, {v})[0].isfinite().all().item<bool>());
}

TEST(WeightNorm, FollowsLoadingAndConversion) {
  auto fc = weight_norm(nn::Linear(2, 2)), other = weight_norm(nn::Linear(2, 2));
  const Tensor x = rand({3, 2});
  other->load_state_dict(fc->state_dict());
  EXPECT_TRUE(allclose(other(x), fc(x)));
  std::stringstream file;
  save(fc, file);
  auto third = weight_norm(nn::Linear(2, 2));
  load(third, file);
  EXPECT_TRUE(allclose(third(x), fc(x)));
  fc->to(kDouble);
  EXPECT_EQ(fc->weight.scalar_type(), kDouble);
  EXPECT_TRUE(allclose(fc(x.to(kDouble)).to(kFloat), other(x)));
}

TEST(WeightNorm, ModulesOfAPointerAndInContainers) {
  auto fc = weight_norm(std::make_shared<nn::LinearImpl>(2, 2));
  nn::Sequential net(fc, nn::ReLU());
  {
    NoGradGuard no_grad;
    fc->named_parameters()["weight_g"].mul_(2);
  }
  const Tensor x = rand({3, 2});
  const Tensor y = net->forward(x);
  const auto p = fc->named_parameters();
  EXPECT_TRUE(allclose(y, relu(x.mm(normalized(p["weight_g"], p["weight_v"]).t()) + fc->bias)));
}

TEST(WeightNorm, RemoveKeepsTheValue) {
  auto fc = weight_norm(nn::Linear(3, 2));
  {
    NoGradGuard no_grad;
    fc->named_parameters()["weight_g"].fill_(2);
  }
  remove_weight_norm(fc);
  EXPECT_EQ(fc->named_parameters().keys(), (Keys{"bias", "weight"}));
  EXPECT_TRUE(fc->weight.is_leaf() && fc->weight.requires_grad());
  EXPECT_TRUE(allclose(fc->weight.norm(2, {1}, false), full({2}, 2.0)));
  fc(rand({1, 3})).sum().backward();
  EXPECT_TRUE(fc->weight.grad().defined());
}

TEST(WeightNorm, Errors) {
  nn::Linear fc(2, 2);
  EXPECT_TEXT(remove_weight_norm(fc), "no weight_norm named 'weight' on tenon::nn::LinearImpl");
  EXPECT_TEXT(weight_norm(fc, "wait"), "has no parameter 'wait'");
  weight_norm(fc);
  EXPECT_TEXT(weight_norm(fc), "has weight_norm already");
  EXPECT_TEXT(remove_spectral_norm(fc), "no spectral_norm named 'weight'");
}

TEST(WeightNorm, ACloneIsIndependent) {
  auto fc = weight_norm(nn::Linear(3, 2));
  nn::Linear copy(std::dynamic_pointer_cast<nn::LinearImpl>(fc->clone()));
  EXPECT_EQ(copy->named_parameters().keys(), fc->named_parameters().keys());
  const Tensor x = rand({4, 3});
  EXPECT_TRUE(copy(x).equal(fc(x)));
  {
    NoGradGuard no_grad;
    copy->named_parameters()["weight_g"].mul_(3);
  }
  EXPECT_FALSE(copy->weight.equal(fc->weight));
  remove_weight_norm(copy);
  EXPECT_EQ(fc->named_parameters().keys(), (Keys{"bias", "weight_g", "weight_v"}));
}

TEST(SpectralNorm, ConvergesToTheLargestSingularValue) {
  auto fc = spectral_norm(nn::Linear(5, 4));
  EXPECT_EQ(fc->named_parameters().keys(), (Keys{"bias", "weight_orig"}));
  EXPECT_EQ(fc->named_buffers().keys(), (Keys{"weight_u", "weight_v"}));
  const Tensor orig = fc->named_parameters()["weight_orig"];
  for (int i = 0; i < 300; ++i) {
    NoGradGuard no_grad;
    orig.mul_(1);  // a new value each step, as in training
    fc(rand({1, 5}));
  }
  EXPECT_NEAR(largest_singular_value(fc->weight), 1, 1e-3);
  // The gradient is that of W / (u^T W v) with fixed u and v.
  const Tensor u = fc->named_buffers()["weight_u"].clone(),
               v = fc->named_buffers()["weight_v"].clone();
  fc->eval();
  fc->weight.pow(2).sum().backward();
  const Tensor w = orig.detach().clone().requires_grad_();
  (w / dot(u, mv(w, v))).pow(2).sum().backward();
  EXPECT_TRUE(allclose(orig.grad(), w.grad(), 1e-4, 1e-5));
}

TEST(SpectralNorm, EvaluationLeavesTheVectors) {
  auto conv = spectral_norm(nn::ConvTranspose2d(2, 3, 2));
  EXPECT_EQ(conv->named_buffers()["weight_u"].sizes(), IntArrayRef({3}));  // outputs: dimension 1
  EXPECT_EQ(conv->named_buffers()["weight_v"].sizes(), IntArrayRef({8}));
  conv->eval();
  const Tensor u = conv->named_buffers()["weight_u"].clone();
  conv(rand({1, 2, 4, 4}));
  EXPECT_TRUE(conv->named_buffers()["weight_u"].equal(u));
  conv->train();
  conv(rand({1, 2, 4, 4}));
  EXPECT_FALSE(conv->named_buffers()["weight_u"].equal(u));
  remove_spectral_norm(conv);
  EXPECT_TRUE(conv->buffers().empty());
  EXPECT_EQ(conv->named_parameters().keys(), (Keys{"bias", "weight"}));
  EXPECT_TEXT(spectral_norm(conv, "weight", 0), "positive, got 0");
}

struct Symmetric : parametrize::Parametrization {
  Tensor forward(const Tensor& x) override { return x.triu() + x.triu(1).t(); }
  Tensor right_inverse(const Tensor& x) override { return x.triu(); }
};
struct Scaled : parametrize::Parametrization {
  explicit Scaled(double f) : factor(f) {}
  Tensor forward(const Tensor& x) override { return x * factor; }
  double factor;
};
struct Cut : parametrize::Parametrization {
  Tensor forward(const Tensor& x) override { return x.narrow(0, 0, 1); }
};

TEST(Parametrize, RegisterUseRemove) {
  nn::Linear fc(3, 3);
  EXPECT_FALSE(parametrize::is_parametrized(*fc));
  parametrize::register_parametrization(*fc, "weight", std::make_shared<Symmetric>());
  EXPECT_TRUE(parametrize::is_parametrized(*fc) && parametrize::is_parametrized(*fc, "weight"));
  EXPECT_FALSE(parametrize::is_parametrized(*fc, "bias"));
  EXPECT_EQ(fc->named_parameters().keys(), (Keys{"bias", "parametrizations.weight.original"}));
  EXPECT_TRUE(fc->weight.equal(fc->weight.t()));
  parametrize::register_parametrization(*fc, "weight", std::make_shared<Scaled>(2));
  const auto list = parametrize::parametrizations_of(*fc, "weight");
  EXPECT_EQ(list->size(), 2u);
  const Tensor original = list->originals()[0];
  EXPECT_TRUE(allclose(fc->weight, (original.triu() + original.triu(1).t()) * 2));
  fc(rand({2, 3})).pow(2).sum().backward();
  EXPECT_TRUE(original.grad().defined());
  EXPECT_TRUE(original.grad().tril(-1).equal(zeros({3, 3})));  // the lower half is not used
  const Tensor now = fc->weight.detach().clone();
  parametrize::remove_parametrizations(*fc, "weight");
  EXPECT_FALSE(parametrize::is_parametrized(*fc));
  EXPECT_TRUE(fc->weight.equal(now) && fc->weight.is_leaf());
  EXPECT_TRUE(fc->children().empty());
}

TEST(Parametrize, AssignAndGoBack) {
  nn::Linear fc(3, 3);
  parametrize::register_parametrization(*fc, "weight", std::make_shared<Symmetric>());
  const Tensor half = rand({3, 3}), wanted = half + half.t();
  parametrize::parametrizations_of(*fc, "weight")->right_inverse(wanted);
  EXPECT_TRUE(allclose(fc->weight, wanted));
  parametrize::remove_parametrizations(*fc, "weight", /*leave_parametrized=*/false);
  EXPECT_TRUE(allclose(fc->weight, wanted.triu()));
}

TEST(Parametrize, Errors) {
  nn::Linear fc(3, 3);
  const Keys before = fc->named_parameters().keys();
  EXPECT_TEXT(parametrize::register_parametrization(*fc, "weight", std::make_shared<Cut>()),
              "changes its shape from [3, 3] to [1, 3]");
  EXPECT_EQ(fc->named_parameters().keys(), before);
  EXPECT_TEXT(parametrize::register_parametrization(*fc, "wait", std::make_shared<Cut>()),
              "has no parameter 'wait'");
  EXPECT_TEXT(parametrize::remove_parametrizations(*fc, "weight"), "has no parametrization");
  parametrize::register_parametrization(*fc, "weight", std::make_shared<Scaled>(2));
  EXPECT_TEXT(parametrize::parametrizations_of(*fc, "weight")->right_inverse(ones({3, 3})),
              "has none");
  EXPECT_TEXT(weight_norm(fc), "has a parametrization already");
  parametrize::register_parametrization(*fc, "bias", std::make_shared<Cut>(), /*unsafe=*/true);
  EXPECT_EQ(fc->bias.sizes(), IntArrayRef({1}));
}

TEST(Parametrize, OrthogonalMaps) {
  for (const char* map : {"matrix_exp", "cayley", "householder"}) {
    for (bool trivial : {true, false}) {
      for (auto [rows, columns] : {std::pair(4, 4), std::pair(6, 3), std::pair(3, 5)}) {
        auto fc = parametrizations::orthogonal(nn::Linear(columns, rows), "weight", map, trivial);
        optim::SGD sgd(fc->parameters(), 0.5);
        for (int i = 0; i < 3; ++i) {
          sgd.zero_grad();
          fc(rand({5, columns})).pow(2).sum().backward();
          sgd.step();
        }
        const Tensor w = fc->weight.detach();
        const Tensor product = rows >= columns ? w.t().mm(w) : w.mm(w.t());
        EXPECT_TRUE(allclose(product, eye(std::min(rows, columns)), 1e-4, 1e-4))
            << map << " " << trivial << " " << rows << "x" << columns;
      }
    }
  }
  EXPECT_TEXT(parametrizations::orthogonal(nn::Linear(2, 2), "bias"), "got 1 dimensions");
  EXPECT_TEXT(parametrizations::orthogonal(nn::Linear(2, 2), "weight", "polar"), "got 'polar'");
}

TEST(Parametrize, OrthogonalTakesAnOrthogonalValue) {
  auto fc = parametrizations::orthogonal(nn::Linear(4, 4));
  const Tensor q = nn::init::orthogonal_(empty({4, 4}));
  parametrize::parametrizations_of(*fc, "weight")->right_inverse(q);
  EXPECT_TRUE(allclose(fc->weight, q, 1e-4, 1e-5));
  nn::Linear copy(std::dynamic_pointer_cast<nn::LinearImpl>(fc->clone()));
  EXPECT_TRUE(allclose(copy->weight, q, 1e-4, 1e-5));
  EXPECT_EQ(copy->state_dict().keys(), fc->state_dict().keys());
}

TEST(Parametrize, NormsAsParametrizations) {
  nn::Linear plain(4, 3);
  const Tensor w = plain->weight.detach().clone();
  parametrizations::weight_norm(plain);
  EXPECT_EQ(plain->named_parameters().keys(), (Keys{"bias", "parametrizations.weight.original0",
                                                    "parametrizations.weight.original1"}));
  EXPECT_TRUE(allclose(plain->weight, w));
  auto fc = parametrizations::spectral_norm(nn::Linear(4, 3));
  fc->eval();
  EXPECT_NEAR(largest_singular_value(fc->weight), 1, 0.1);  // 15 iterations
  nn::Linear copy(std::dynamic_pointer_cast<nn::LinearImpl>(fc->clone()));
  EXPECT_TRUE(copy->weight.equal(fc->weight));
}

}  // namespace
}  // namespace tenon
