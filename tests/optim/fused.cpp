// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps over lists of tensors, against the same steps by ops.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

struct Numbers {
  double lr = 0.1, decay = 0, eps = 1e-3;
  bool amsgrad = false, decoupled = false;
};

// One parameter of Adam or AdamW, each of whose values is the result of an op.
struct AdamByOps {
  Tensor p, m, v, max_v;
  int64_t steps = 0;
  explicit AdamByOps(const Tensor& start)
      : p(start.detach().clone()), m(zeros_like(p)), v(zeros_like(p)), max_v(zeros_like(p)) {}
  void step(const Tensor& grad, const Numbers& o) {
    const double n = static_cast<double>(++steps);
    if (o.decoupled && o.decay != 0) p.mul_(1 - o.lr * o.decay);
    const Tensor g = o.decay != 0 && !o.decoupled ? grad.add(p, o.decay) : grad;
    m.mul_(0.9).add_(g, 1 - 0.9);
    v.mul_(0.99).addcmul_(g, g, 1 - 0.99);
    if (o.amsgrad) max_v = maximum(max_v, v);
    const Tensor divisor =
        (o.amsgrad ? max_v : v).sqrt().div_(std::sqrt(1 - std::pow(0.99, n))).add_(o.eps);
    p.addcdiv_(m, divisor, -o.lr / (1 - std::pow(0.9, n)));
  }
};

struct SgdByOps {
  Tensor p, buffer;
  explicit SgdByOps(const Tensor& start) : p(start.detach().clone()) {}
  void step(const Tensor& grad, const optim::SGDOptions& o) {
    Tensor g = o.weight_decay() != 0 ? grad.add(p, o.weight_decay()) : grad;
    if (o.momentum() != 0) {
      buffer = buffer.defined() ? buffer.mul(o.momentum()).add_(g, 1 - o.dampening()) : g.clone();
      g = o.nesterov() ? g.add(buffer, o.momentum()) : buffer;
    }
    p.add_(g, -o.lr());
  }
};

// Sizes with and without whole vectors, and more elements than one thread takes.
std::vector<Tensor> parameters(ScalarType dtype) {
  std::vector<Tensor> out;
  manual_seed(5);
  for (int64_t n : {1, 7, 64, 1000, 40000}) out.push_back(randn({n}, dtype).requires_grad_(true));
  return out;
}

template <class ByOps, class Step>
void expect_same_bits(const std::vector<Tensor>& params, optim::Optimizer& fused,
                      const Step& step) {
  std::vector<ByOps> plain(params.begin(), params.end());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t k = 0; k < params.size(); ++k) {
      const Tensor grad = randn_like(params[k].detach());
      Tensor(params[k]).mutable_grad() = grad;
      step(plain[k], grad);
    }
    fused.step();
    for (std::size_t k = 0; k < params.size(); ++k) {
      EXPECT_TRUE(equal(params[k].detach(), plain[k].p))
          << "tensor " << k << " after step " << round + 1;
    }
  }
}

template <class Optimizer, class Options>
void expect_adam_by_ops(std::initializer_list<Numbers> options) {
  for (ScalarType dtype : {kFloat, kDouble}) {
    for (const Numbers& o : options) {
      const std::vector<Tensor> params = parameters(dtype);
      Optimizer adam(
          params,
          Options(o.lr).betas({0.9, 0.99}).eps(o.eps).weight_decay(o.decay).amsgrad(o.amsgrad));
      expect_same_bits<AdamByOps>(params, adam,
                                  [&](AdamByOps& by, const Tensor& grad) { by.step(grad, o); });
    }
  }
}

TEST(FusedSteps, OfAdamAreThoseOfItsOps) {
  expect_adam_by_ops<optim::Adam, optim::AdamOptions>(
      {Numbers{}, Numbers{0.1, 0.3}, Numbers{0.1, 0.3, 1e-3, true}});
}

TEST(FusedSteps, OfAdamWAreThoseOfItsOps) {
  expect_adam_by_ops<optim::AdamW, optim::AdamWOptions>(
      {Numbers{0.1, 0, 1e-3, false, true}, Numbers{0.1, 0.3, 1e-3, true, true}});
}

TEST(FusedSteps, OfSgdAreThoseOfItsOps) {
  using Options = optim::SGDOptions;
  for (ScalarType dtype : {kFloat, kDouble}) {
    for (const Options& o :
         {Options(0.1), Options(0.1).weight_decay(0.2), Options(0.1).momentum(0.9).dampening(0.5),
          Options(0.1).momentum(0.9).weight_decay(0.2).nesterov(true)}) {
      const std::vector<Tensor> params = parameters(dtype);
      optim::SGD sgd(params, o);
      expect_same_bits<SgdByOps>(params, sgd,
                                 [&](SgdByOps& by, const Tensor& grad) { by.step(grad, o); });
    }
  }
}

// Where tensors count the steps: the same bits, and a file has the count.
TEST(FusedSteps, AreCountedByTensorsToo) {
  for (ScalarType dtype : {kFloat, kHalf}) {
    const std::vector<Tensor> one = parameters(dtype), other = parameters(dtype);
    const auto options = optim::AdamOptions(0.1).weight_decay(0.3);
    optim::Adam by_host(one, options),
        by_tensors(other, optim::AdamOptions(options).capturable(true));
    for (int round = 0; round < 4; ++round) {
      for (std::size_t k = 0; k < one.size(); ++k) {
        if (round == 1 && k == 2) continue;  // this one is a step behind from here on
        Tensor(one[k]).mutable_grad() = randn_like(one[k].detach());
        Tensor(other[k]).mutable_grad() = one[k].grad();
      }
      if (round == 1) Tensor(one[2]).mutable_grad() = Tensor(other[2]).mutable_grad() = Tensor();
      by_host.step();
      by_tensors.step();
      for (std::size_t k = 0; k < one.size(); ++k)
        EXPECT_TRUE(equal(one[k].detach(), other[k].detach())) << round << k;
    }
    const auto steps_of = [&](optim::Adam& adam, const Tensor& p) -> optim::AdamParamState& {
      return static_cast<optim::AdamParamState&>(*adam.state().at(p.unsafeGetTensorImpl()));
    };
    EXPECT_EQ(steps_of(by_tensors, other[2]).state_step().item<int64_t>(), 3);
    serialize::OutputArchive out;
    by_tensors.save(out);
    EXPECT_EQ(steps_of(by_tensors, other[0]).step(), 4);
    EXPECT_EQ(steps_of(by_tensors, other[2]).step(), 3);
  }
}

// By ops, which take what the fused step does not: the numbers come from the count, too.
TEST(FusedSteps, DecomposedAreCountedByTensors) {
  for (ScalarType dtype : {kFloat, kDouble, kBFloat16}) {
    for (bool amsgrad : {false, true}) {
      const auto make = [&] {
        manual_seed(2);
        return std::vector<Tensor>{
            randn({3, 5}).to(dtype).t().requires_grad_(true)};  // its gradient is row-major
      };
      const auto one = make(), other = make();
      const auto options = optim::AdamOptions(0.1).weight_decay(0.2).amsgrad(amsgrad);
      optim::Adam by_host(one, options),
          by_tensors(other, optim::AdamOptions(options).capturable(true));
      for (int64_t step = 1; step < 4; ++step) {
        Tensor(one[0]).mutable_grad() = randn({5, 3}).to(dtype);
        Tensor(other[0]).mutable_grad() = one[0].grad();
        by_host.step();
        by_tensors.step();
        const auto& s = static_cast<optim::AdamParamState&>(
            *by_tensors.state().at(other[0].unsafeGetTensorImpl()));
        EXPECT_EQ(s.state_step().item<int64_t>(), step);
        EXPECT_TRUE(
            allclose(other[0].detach(), one[0].detach(), dtype == kBFloat16 ? 1e-2 : 1e-6, 1e-7))
            << toString(dtype) << step;
      }
    }
  }
}

// 16-bit floats are rounded once per step.
TEST(FusedSteps, OfShortFloatsFollowThoseOfFloats) {
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor start = randn({3000}), grad = randn({3000}).to(dtype);
    Tensor narrow = start.to(dtype).requires_grad_(true);
    Tensor wide = narrow.detach().to(kFloat).requires_grad_(true);
    narrow.mutable_grad() = grad;
    wide.mutable_grad() = grad.to(kFloat);
    optim::Adam(std::vector<Tensor>{narrow}, optim::AdamOptions(0.1)).step();
    optim::Adam(std::vector<Tensor>{wide}, optim::AdamOptions(0.1)).step();
    // The moments are rounded, too, but not before they were used.
    EXPECT_TRUE(equal(narrow.detach(), wide.detach().to(dtype))) << toString(dtype);
  }
}

// One group of everything: what differs from its neighbors takes the step that it would take alone.
TEST(FusedSteps, OfUnlikeTensorsInOneGroup) {
  const auto make = [] {
    manual_seed(8);
    std::vector<Tensor> out = {randn({5, 4, 3, 2}).contiguous(MemoryFormat::ChannelsLast),
                               randn({6}, kDouble),
                               randn({4, 9}).t(),
                               randn({5, 4, 3, 2}).contiguous(MemoryFormat::ChannelsLast),
                               randn({0, 3}),
                               randn({8, 8}).slice(1, 0, 8, 2),
                               randn({11})};
    for (Tensor& t : out) {
      Tensor grad = randn_like(t);
      t = t.detach().requires_grad_(true);
      t.mutable_grad() = grad;
    }
    out[3].mutable_grad() = out[3].grad().contiguous();
    return out;
  };
  const std::vector<Tensor> together = make(), alone = make();
  optim::Adam all(together, optim::AdamOptions(0.1));
  std::vector<std::unique_ptr<optim::Adam>> each;
  each.reserve(alone.size());
  for (const Tensor& t : alone)
    each.push_back(std::make_unique<optim::Adam>(std::vector<Tensor>{t}, optim::AdamOptions(0.1)));
  for (int round = 0; round < 3; ++round) {
    all.step();
    for (auto& one : each) one->step();
  }
  for (std::size_t k = 0; k < together.size(); ++k) {
    EXPECT_TRUE(equal(together[k].detach(), alone[k].detach())) << k;
    EXPECT_EQ(together[k].strides(), alone[k].strides());
  }
}

TEST(FusedSteps, WhatIsWrittenIsCounted) {
  const Tensor p = ones({3}), g = ones({3}), before = p.clone();
  const auto version = p._version(), untouched = g._version();
  _fused_sgd_({p}, {g}, {}, 0, 0, 0.5, 0, false, false, false);
  EXPECT_TRUE(equal(p, full({3}, 0.5)));
  EXPECT_GT(p._version(), version);
  EXPECT_EQ(g._version(), untouched);
}

TEST(FusedSteps, RefuseWhatDoesNotBelongTogether) {
  const Tensor a = ones({3}), b = ones({4});
  const auto sgd = [](TensorList self, TensorList grads, TensorList buffers, double momentum) {
    return text_of(
        [&] { _fused_sgd_(self, grads, buffers, 0, momentum, 0.5, 0, false, false, false); });
  };
  expect_words(sgd({}, {}, {}, 0), {"_fused_sgd_", "non-empty", "self"});
  expect_words(sgd({a}, {}, {}, 0), {"'grads'", "has 0 tensors", "expected 1"});
  expect_words(sgd({a}, {b}, {}, 0), {"'grads'", "position 0", "[4]", "[3]"});
  expect_words(sgd({a, a.clone()}, {a, ones({3}, kDouble)}, {}, 0),
               {"'grads'", "position 1", "float64", "float32"});
  expect_words(sgd({a}, {a}, {}, 0.9), {"'momentum_buffer_list'", "expected 1"});
  expect_words(sgd({a}, {a}, {a}, 0), {"'momentum_buffer_list'", "expected 0", "does not use it"});
  expect_words(sgd({ones({1}).expand({3})}, {a}, {}, 0), {"'self'", "share memory"});
  expect_words(sgd({ones({3}).requires_grad_(true)}, {a}, {}, 0),
               {"'self'", "requires grad", "NoGradGuard"});
  expect_words(text_of([&] {
                 _adam_step_({a}, {a}, {a}, {a}, {}, {}, {0}, 0.1, 0.9, 0.99, 0, 1e-8, false,
                             false);
               }),
               {"'steps'", "the first step is 1"});
  expect_words(
      text_of([&] {
        _adam_step_({a}, {a}, {a}, {a}, {}, {}, {1, 2}, 0.1, 0.9, 0.99, 0, 1e-8, false, false);
      }),
      {"'steps'", "2 numbers", "expected 1"});
  const auto counted = [&](TensorList counts, IntArrayRef steps) {
    return text_of([&] {
      _adam_step_({a}, {a}, {a}, {a}, {}, counts, steps, 0.1, 0.9, 0.99, 0, 1e-8, false, false);
    });
  };
  const Tensor count = zeros({}, kLong);
  expect_words(counted({count}, {1}), {"'steps'", "1 numbers", "expected none beside state_steps"});
  expect_words(counted({count, count}, {}), {"'state_steps'", "2 tensors", "expected none or 1"});
  expect_words(counted({ones({})}, {}), {"'state_steps'", "position 0", "float32", "int64"});
  expect_words(counted({zeros({2}, kLong)}, {}), {"'state_steps'", "2 elements"});
}

// Kernels take contiguous memory: core hands them copies of other tensors, and the results are
// copied back.
TEST(FusedSteps, OfTensorsWithGaps) {
  const Tensor whole = ones({4, 6}), p = whole.slice(1, 0, 6, 2);
  _fused_sgd_({p}, {full({4, 3}, 2.0)}, {}, 0, 0, 0.5, 0, false, false, false);
  EXPECT_TRUE(equal(p, zeros({4, 3})));
  EXPECT_TRUE(equal(whole.slice(1, 1, 6, 2), ones({4, 3})));
}

}  // namespace
}  // namespace tenon
