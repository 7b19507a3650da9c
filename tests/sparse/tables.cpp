// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Tables with sparse gradients: look-ups, bags, and optimizers whose steps touch the rows that the
// gradient has.
#include <cmath>
#include <map>
#include <sstream>

#include "tenon/gradcheck.h"
#include "tenon/nn.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

namespace F = nn::functional;
using namespace test;

const Tensor kInput = ints({1, 3, 3, 0, 5, 1}, {2, 3});
Tensor table() {
  return (arange(12, TensorOptions(kDouble)).reshape({6, 2}) / 5 - 1).requires_grad_();
}

using Lookup = std::function<Tensor(const Tensor& weight, bool sparse)>;

// Both kinds of gradient, weighted so that no two are equal.
void expect_same_gradient(const Lookup& f, int64_t nnz) {
  Tensor grads[2];
  for (const bool sparse : {false, true}) {
    const Tensor w = table(), out = f(w, sparse);
    (out * (arange(out.numel(), TensorOptions(kDouble)).reshape(out.sizes()) + 1)).sum().backward();
    grads[sparse] = w.grad();
    EXPECT_EQ(w.grad().layout(), sparse ? kSparse : kStrided);
  }
  EXPECT_EQ(grads[1]._nnz(), nnz);
  EXPECT_EQ(grads[1].sizes(), IntArrayRef({6, 2}));
  EXPECT_TRUE(grads[1].to_dense().allclose(grads[0]));
}

TEST(SparseTable, GradientsOfLookups) {
  for (ScalarType t : {kLong, kInt}) {
    expect_same_gradient(
        [&](const Tensor& w, bool s) { return embedding(w, kInput.to(t), -1, false, s); }, 6);
    expect_same_gradient(
        [&](const Tensor& w, bool s) { return embedding(w, kInput.to(t), 3, false, s); }, 4);
  }
  expect_same_gradient(
      [](const Tensor& w, bool s) { return embedding(w, kInput.slice(1, 0, 0), -1, false, s); }, 0);
  expect_same_gradient(
      [](const Tensor& w, bool s) {
        return F::embedding(kInput, w, F::EmbeddingFuncOptions().sparse(s));
      },
      6);
  expect_words(text_of<ValueError>([] {
                 const Tensor w = table();
                 embedding(w, kInput, -1, true, true).sum().backward();
               }),
               {"embedding", "scale_grad_by_freq", "sparse"});
}

TEST(SparseTable, GradientsOfBags) {
  for (const nn::EmbeddingBagMode mode :
       {nn::EmbeddingBagMode(kSum), nn::EmbeddingBagMode(kMean)}) {
    const auto f = [&](std::optional<int64_t> padding) {
      return [=](const Tensor& w, bool s) {
        return F::embedding_bag(
            kInput, w, F::EmbeddingBagFuncOptions().mode(mode).sparse(s).padding_idx(padding));
      };
    };
    expect_same_gradient(f(std::nullopt), 6);
    expect_same_gradient(f(1), 4);
  }
  const Tensor factors = (arange(6, TensorOptions(kDouble)).reshape({2, 3}) - 2);
  expect_same_gradient(
      [&](const Tensor& w, bool s) {
        return F::embedding_bag(
            kInput, w,
            F::EmbeddingBagFuncOptions().mode(kSum).sparse(s).per_sample_weights(factors));
      },
      6);
}

TEST(SparseTable, SecondDerivatives) {
  const auto f = [](const std::vector<Tensor>& in) {
    const Tensor rows = embedding(in[0], kInput, -1, false, true);
    const Tensor bags = F::embedding_bag(kInput, in[0], F::EmbeddingBagFuncOptions().sparse(true));
    return std::vector<Tensor>{rows * rows, bags * bags * bags};
  };
  EXPECT_TRUE(autograd::gradcheck(f, {table()}));
  EXPECT_TRUE(autograd::gradgradcheck(f, {table()}));
}

TEST(SparseTable, GradientsAddUp) {
  const Tensor w = table();
  embedding(w, kInput, -1, false, true).sum().backward();
  embedding(w, kInput, -1, false, true).sum().backward();
  EXPECT_EQ(w.grad().layout(), kSparse);
  expect_equal(w.grad(), [] {
    const Tensor v = table();
    (embedding(v, kInput) * 2).sum().backward();
    return v.grad();
  }());
  (w * 1).sum().backward();
  EXPECT_EQ(w.grad().layout(), kStrided);
  optim::SGD sgd({w}, 0.1);
  sgd.zero_grad(false);
  EXPECT_EQ(w.grad().abs().sum().item<double>(), 0);
}

template <class Optimizer>
Tensor trained(Optimizer&& make, bool sparse, int steps = 5) {
  const Tensor w = table();
  auto optimizer = make(w);
  const Tensor batches[] = {kInput, ints({0, 0, 2}, {3}), ints({5, 3}, {2})};
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    const Tensor rows = embedding(w, batches[i % 3], -1, false, sparse);
    (rows * rows * (i + 1)).sum().backward();
    optimizer.step();
  }
  return w.detach();
}

TEST(SparseStep, OfSGDIsThatOfTheStridedGradient) {
  for (const optim::SGDOptions& o : {optim::SGDOptions(0.05), optim::SGDOptions(0.05).momentum(0.9),
                                     optim::SGDOptions(0.05).momentum(0.5).dampening(0.3),
                                     optim::SGDOptions(0.05).momentum(0.9).nesterov(true)}) {
    const auto make = [&](const Tensor& w) { return optim::SGD({w}, o); };
    EXPECT_TRUE(trained(make, true).allclose(trained(make, false))) << o.momentum();
  }
}

TEST(SparseStep, OfAdagradIsThatOfTheStridedGradient) {
  for (const optim::AdagradOptions& o :
       {optim::AdagradOptions(0.1),
        optim::AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.2).eps(1e-3)}) {
    const auto make = [&](const Tensor& w) { return optim::Adagrad({w}, o); };
    EXPECT_TRUE(trained(make, true).allclose(trained(make, false)));
  }
}

// After five steps; what libtorch 2.15 makes of them.
TEST(SparseStep, AgreesWithLibtorch) {
  const auto expect = [](const Tensor& got, const std::vector<double>& known) {
    EXPECT_TRUE(got.reshape({-1}).allclose(tensor(known, TensorOptions(kDouble)), 1e-8, 1e-9))
        << got;
  };
  expect(trained([](const Tensor& w) { return optim::SGD({w}, 0.05); }, true),
         {0, 0, -0.096, -0.064, -0.08, 0, 0.0224, 0.0448, 0.6, 0.8, 0.378, 0.4536});
  expect(trained(
             [](const Tensor& w) { return optim::SGD({w}, optim::SGDOptions(0.05).momentum(0.9)); },
             true),
         {0.34425, 0.2754, 0.309108, 0.206072, -0.01664, 0, -0.147304, -0.294608, 0.6, 0.8, -0.4374,
          -0.52488});
  const auto adagrad = optim::AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.2);
  expect(trained([&](const Tensor& w) { return optim::Adagrad({w}, adagrad); }, true),
         {-0.7046231994, -0.507839392, -0.4280975013, -0.2309049522, -0.06377000229, 0,
          0.01214947678, 0.1772190354, 0.6, 0.8, 0.7666605366, 0.9652147101});
}

// Where every row has a gradient in every step it is Adam.
TEST(SparseStep, OfSparseAdamIsAdamsWhereAllRowsAreTouched) {
  const Tensor a = table(), b = table(), all = ints({5, 4, 3, 2, 1, 0, 0}, {7});
  optim::SparseAdam sparse({a}, optim::SparseAdamOptions(0.05).betas({0.8, 0.95}).eps(1e-6));
  optim::Adam dense({b}, optim::AdamOptions(0.05).betas({0.8, 0.95}).eps(1e-6));
  for (int i = 0; i < 4; ++i) {
    sparse.zero_grad();
    dense.zero_grad();
    for (const bool s : {false, true}) {
      const Tensor rows = embedding(s ? a : b, all, -1, false, s);
      (rows * rows * (i + 1) + rows).sum().backward();
    }
    sparse.step();
    dense.step();
    EXPECT_TRUE(a.detach().allclose(b.detach(), 1e-5, 1e-6)) << i;
  }
}

// Rows without a gradient, and their means, stay: the first and the third step computed by hand.
TEST(SparseStep, OfSparseAdamLeavesOtherRows) {
  const Tensor w = table(), start = w.detach().clone();
  optim::SparseAdam adam({w}, 0.1);
  const auto step = [&](int64_t row, double slope) {
    adam.zero_grad();
    (embedding(w, ints({row}, {1}), -1, false, true) * slope).sum().backward();
    adam.step();
  };
  step(2, 3);
  EXPECT_TRUE(w.detach().select(0, 2).allclose(start.select(0, 2) - 0.1));
  step(4, 1);
  EXPECT_TRUE(w.detach().select(0, 2).allclose(start.select(0, 2) - 0.1))
      << "its mean does not move it";
  const double mean = 0.9 * 0.3 + 0.1 * -2, square = 0.999 * 0.009 + 0.001 * 4;
  const double by = 0.1 * std::sqrt(1 - std::pow(0.999, 3)) / (1 - std::pow(0.9, 3)) * mean /
                    (std::sqrt(square) + 1e-8);
  step(2, -2);
  EXPECT_TRUE(w.detach().select(0, 2).allclose(start.select(0, 2) - 0.1 - by));
  for (int64_t i : {0, 1, 3, 5}) EXPECT_TRUE(w.detach().select(0, i).equal(start.select(0, i)));
}

// 20 steps with rows that come and go, one of them twice in a gradient: values of torch 2.15.
TEST(SparseStep, OfSparseAdamFollowsTorchs) {
  const Tensor w = linspace(-1, 1, 12, TensorOptions(kDouble)).reshape({6, 2}).requires_grad_();
  optim::SparseAdam adam({w}, optim::SparseAdamOptions(0.05).betas({0.8, 0.95}).eps(1e-6));
  const std::map<int, std::vector<double>> expected = {
      {1,
       {-0.9500001229555046, -0.7681819302257226, -0.5863638702840278, -0.40454573796875914,
        -0.2727272727272727, -0.09090909090909088, 0.09090909090909088, 0.2727272727272727,
        0.45454545454545453, 0.6363636363636364, 0.8181818181818181, 1.0}},
      {5,
       {-0.9500001229555046, -0.7681819302257226, -0.5443955496740821, -0.4100502366142108,
        -0.3073365098825637, -0.12551832616027045, 0.026325186815021526, 0.2473210012558297,
        0.4861829849855246, 0.6680011554232161, 0.8527908072905876, 1.0346091105558604}},
      {20,
       {-0.8116642922999221, -0.626977503404863, -0.3975464648792045, -0.33258360554544564,
        -0.3949787149779332, -0.2148076036192219, -0.11817611940051025, 0.24021315017868716,
        0.5780206381202943, 0.7602921022063966, 0.8002196417316569, 0.9481417160240151}}};
  for (int step = 0; step < 20; ++step) {
    const Tensor rows = ints({step % 6, (2 * step + 1) % 6, step % 6}, {3});
    const Tensor values = (w.detach().index_select(0, rows) * 2 + step).sin();
    Tensor(w).mutable_grad() = sparse_coo_tensor(rows.unsqueeze(0), values, {6, 2});
    adam.step();
    const auto want = expected.find(step + 1);
    if (want == expected.end()) continue;
    EXPECT_TRUE(w.detach().allclose(tensor(want->second, kDouble).reshape({6, 2}), 1e-9, 1e-12))
        << "after step " << step + 1 << ": " << w.detach();
  }
}

TEST(SparseStep, Refusals) {
  const auto with_gradient = [](bool sparse) {
    const Tensor w = table();
    embedding(w, kInput, -1, false, sparse).sum().backward();
    return w;
  };
  const Tensor w = with_gradient(true);
  const auto refused = [&](optim::Optimizer&& o) { return text_of<ValueError>([&] { o.step(); }); };
  expect_words(refused(optim::SGD({w}, optim::SGDOptions(0.1).weight_decay(0.1))),
               {"SGD", "weight_decay", "6, 2"});
  expect_words(refused(optim::Adagrad({w}, optim::AdagradOptions(0.1).weight_decay(0.1))),
               {"Adagrad", "weight_decay", "sparse gradients"});
  expect_words(refused(optim::Adam({w})), {"Adam does not support sparse gradients", "SparseAdam"});
  expect_words(refused(optim::AdamW({w})),
               {"AdamW does not support sparse gradients", "SparseAdam"});
  expect_words(refused(optim::RMSprop({w})),
               {"RMSprop does not support sparse gradients", "SparseAdam"});
  expect_words(refused(optim::SparseAdam({with_gradient(false)})),
               {"SparseAdam", "strided gradients", "use Adam"});
  expect_words(text_of<ValueError>([&] { optim::SparseAdam({w}, 0.); }), {"invalid lr: 0"});
  expect_words(text_of<ValueError>([&] {
                 optim::SparseAdam({w}, optim::SparseAdamOptions().betas({1, 0.9}));
               }),
               {"invalid betas[0]"});
}

// A sparse parameter takes steps of its own layout.
TEST(SparseStep, OfSGDMovesSparseParameters) {
  const Tensor p =
      sparse_coo_tensor(ints({0, 1, 1, 2}, {2, 2}), tensor({1., -2.}).to(kDouble), {2, 3})
          .coalesce();
  p.requires_grad_();
  optim::SGD sgd({p}, optim::SGDOptions(0.25).momentum(0.5));
  for (int i = 0; i < 2; ++i) {
    sgd.zero_grad();
    (p * p).sum().backward();
    sgd.step();
  }
  EXPECT_EQ(p.layout(), kSparse);
  EXPECT_LE(p.detach().coalesce()._nnz(), 2);
  // x - 0.25 * 2x = x / 2; then x / 2 - 0.25 * (0.5 * 2x + x) = 0.
  EXPECT_TRUE(p.detach().to_dense().allclose(zeros({2, 3}, TensorOptions(kDouble))));
}

// A device whose memory the host cannot read: only operators are used.
TEST(SparseStep, OnADevice) {
  const Device there("ref");
  const auto run = [&](Device device, auto make) {
    const Tensor w = table().detach().to(device).requires_grad_();
    auto optimizer = make(w);
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      const Tensor bags = F::embedding_bag(kInput.to(device), w,
                                           F::EmbeddingBagFuncOptions().mode(kSum).sparse(true));
      const Tensor rows = embedding(w, ints({i, 4}, {2}).to(device), 4, false, true);
      ((bags * bags).sum() + (rows * rows).sum()).backward();
      EXPECT_EQ(w.grad().layout(), kSparse);
      EXPECT_EQ(w.grad().device().type(), device.type());
      optimizer.step();
    }
    return w.detach().cpu();
  };
  const auto expect_same = [&](auto make) {
    EXPECT_TRUE(run(there, make).allclose(run(kCPU, make)));
  };
  expect_same(
      [](const Tensor& w) { return optim::SGD({w}, optim::SGDOptions(0.05).momentum(0.9)); });
  expect_same([](const Tensor& w) { return optim::Adagrad({w}, 0.1); });
  expect_same([](const Tensor& w) { return optim::SparseAdam({w}, 0.1); });
}

TEST(SparseStep, GradientsAreClipped) {
  const Tensor w = table();
  embedding(w, kInput, -1, false, true).sum().backward();
  const Tensor before = w.grad().to_dense();
  const double norm = nn::utils::clip_grad_norm_(std::vector<Tensor>{w}, 0.5);
  EXPECT_NEAR(norm, before.norm().item<double>(), 1e-9);
  EXPECT_EQ(w.grad().layout(), kSparse);
  EXPECT_NEAR(w.grad().to_dense().norm().item<double>(), 0.5, 1e-5);
}

template <class Optimizer, class Options>
void expect_state_is_kept(const Options& o) {
  const Tensor a = table(), b = table();
  Optimizer first({a}, o), second({b}, o);
  const auto step = [](const Tensor& w, Optimizer& by) {
    by.zero_grad();
    const Tensor rows = embedding(w, kInput, -1, false, true);
    (rows * rows).sum().backward();
    by.step();
  };
  step(a, first);
  step(a, first);
  std::stringstream file;
  save(first, file);
  {
    NoGradGuard no_grad;
    b.copy_(a);
  }
  load(second, file);
  step(a, first);
  step(b, second);
  EXPECT_TRUE(a.detach().equal(b.detach()));
}

TEST(SparseStep, StatesAreSaved) {
  expect_state_is_kept<optim::SparseAdam>(optim::SparseAdamOptions(0.1));
  expect_state_is_kept<optim::Adagrad>(optim::AdagradOptions(0.1));
  expect_state_is_kept<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9));  // whose state is sparse
}

// Whatever grows with the table of 244 MiB would be seen: steps make what 100 rows need.
TEST(SparseStep, MemoryDoesNotGrowWithTheTable) {
  const int64_t rows = 1000000, width = 64;
  const Tensor w = zeros({rows, width}).requires_grad_();
  manual_seed(5);
  const Tensor at = randint(rows, {100}, TensorOptions(kLong));
  const auto step = [&](optim::Optimizer& o) {
    o.zero_grad();
    (embedding(w, at, -1, false, true) + 1).pow(2).sum().backward();
    o.step();
  };
  const uint64_t allowed = uint64_t{2} << 20;
  optim::SGD sgd({w}, 0.1), momentum({w}, optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_LT(test::more_at_peak([&] { step(sgd); }), allowed);
  EXPECT_LT(test::more_at_peak([&] {
              step(momentum);
              step(momentum);
            }),
            allowed);
  optim::Adagrad adagrad({w}, 0.1);
  step(adagrad);  // makes the state, which is as large as the table
  EXPECT_LT(test::more_at_peak([&] { step(adagrad); }), allowed);
  optim::SparseAdam adam({w}, 0.1);
  step(adam);
  EXPECT_LT(test::more_at_peak([&] { step(adam); }), allowed);
  EXPECT_EQ(w.detach().ne(0).any(1).sum().item<int64_t>(), std::get<0>(_unique2(at)).numel());
}

}  // namespace
}  // namespace tenon
