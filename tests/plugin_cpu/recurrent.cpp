// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of _fused_rnn and its gradient against loops over cells in double, what they decline,
// and their bits on several threads.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tenon/core/dispatch.h"
#include "tenon/core/op.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;

namespace {

enum Mode { kRelu, kTanh, kLstm, kGru };

struct Case {
  Mode mode;
  int64_t time = 5, batch = 2, features = 3, hidden = 4, layers = 1;
  bool biases = true, bidirectional = false, batch_first = false;

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
  int64_t states() const { return mode == kLstm ? 2 : 1; }
  int64_t params_of_cell() const { return biases ? 4 : 2; }
  std::string text() const {
    return core::join("mode ", static_cast<int>(mode), ", time ", time, ", batch ", batch,
                      ", features ", features, ", hidden ", hidden, ", layers ", layers,
                      ", biases ", biases, ", bidirectional ", bidirectional, ", batch_first ",
                      batch_first);
  }
};

// The input, the states, the parameters of each cell.
Inputs arguments(const Case& c, ScalarType dtype = kDouble) {
  manual_seed(1);
  const TensorOptions options = TensorOptions().dtype(dtype);
  const auto leaf = [&](std::vector<int64_t> sizes, double scale) {
    return (randn(sizes, options) * scale).set_requires_grad(true);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(c.hidden));
  Inputs v{leaf(c.batch_first ? std::vector<int64_t>{c.batch, c.time, c.features}
                              : std::vector<int64_t>{c.time, c.batch, c.features},
                1)};
  for (int64_t k = 0; k < c.states(); ++k)
    v.push_back(leaf({c.layers * c.directions(), c.batch, c.hidden}, 1));
  for (int64_t k = 0; k < c.layers * c.directions(); ++k) {
    const int64_t inputs = k < c.directions() ? c.features : c.hidden * c.directions(),
                  rows = c.gates() * c.hidden;
    v.push_back(leaf({rows, inputs}, scale));
    v.push_back(leaf({rows, c.hidden}, scale));
    for (int b = 0; c.biases && b < 2; ++b) v.push_back(leaf({rows}, scale));
  }
  return v;
}

// Output and last states.
Inputs by_layers(const Case& c, const Inputs& v) {
  const Inputs params(v.begin() + 1 + c.states(), v.end());
  if (c.mode == kLstm) {
    const auto [y, h, s] = lstm(v[0], {v[1], v[2]}, params, c.biases, c.layers, 0, true,
                                c.bidirectional, c.batch_first);
    return {y, h, s};
  }
  const auto results = [&](auto pair) { return Inputs{std::get<0>(pair), std::get<1>(pair)}; };
  if (c.mode == kGru)
    return results(
        gru(v[0], v[1], params, c.biases, c.layers, 0, true, c.bidirectional, c.batch_first));
  if (c.mode == kTanh)
    return results(
        rnn_tanh(v[0], v[1], params, c.biases, c.layers, 0, true, c.bidirectional, c.batch_first));
  return results(
      rnn_relu(v[0], v[1], params, c.biases, c.layers, 0, true, c.bidirectional, c.batch_first));
}

// The same, a cell at a time.
Inputs by_cells(const Case& c, const Inputs& v) {
  Tensor x = c.batch_first ? v[0].transpose(0, 1) : v[0];
  Inputs last_h, last_c;
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    Inputs of_directions;
    for (int64_t d = 0; d < c.directions(); ++d) {
      const int64_t k = layer * c.directions() + d;
      const auto p = v.begin() + 1 + c.states() + k * c.params_of_cell();
      const auto bias = [&](int b) {
        return c.biases ? std::optional<Tensor>(p[2 + b]) : std::nullopt;
      };
      Tensor h = v[1].select(0, k), s = c.mode == kLstm ? v[2].select(0, k) : Tensor();
      Inputs steps(static_cast<std::size_t>(c.time));
      for (int64_t i = 0; i < c.time; ++i) {
        const int64_t t = d ? c.time - 1 - i : i;
        const Tensor in = x.select(0, t);
        if (c.mode == kLstm)
          std::tie(h, s) = lstm_cell(in, {h, s}, p[0], p[1], bias(0), bias(1));
        else if (c.mode == kGru)
          h = gru_cell(in, h, p[0], p[1], bias(0), bias(1));
        else if (c.mode == kTanh)
          h = rnn_tanh_cell(in, h, p[0], p[1], bias(0), bias(1));
        else
          h = rnn_relu_cell(in, h, p[0], p[1], bias(0), bias(1));
        steps[static_cast<std::size_t>(t)] = h;
      }
      of_directions.push_back(stack(steps, 0));
      last_h.push_back(h);
      if (s.defined()) last_c.push_back(s);
    }
    x = cat(of_directions, -1);
  }
  Inputs out{c.batch_first ? x.transpose(0, 1) : x, stack(last_h, 0)};
  if (c.mode == kLstm) out.push_back(stack(last_c, 0));
  return out;
}

// Each result with weights of its own, so that gradients of all of them arrive.
Tensor loss_of(const Inputs& results, std::size_t from = 0) {
  Tensor sum;
  for (std::size_t k = from; k < results.size(); ++k) {
    const Tensor weights = arange(results[k].numel(), kDouble)
                               .mul(0.7 + static_cast<double>(k))
                               .sin()
                               .to(kFloat)  // the same for both dtypes
                               .to(results[k].scalar_type());
    const Tensor part = (results[k] * weights.view(results[k].sizes())).sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

// Values, then the gradients of all arguments.
using Layers = Inputs (*)(const Case&, const Inputs&);
Inputs outcome(const Case& c, const Inputs& v, Layers f, std::size_t from = 0) {
  Inputs out = f(c, v);
  const auto grads = autograd::grad({loss_of(out, from)}, v, {}, std::nullopt, false, true);
  for (std::size_t k = 0; k < v.size(); ++k)
    out.push_back(grads[k].defined() ? grads[k] : zeros_like(v[k]));
  for (Tensor& t : out) t = t.detach().contiguous();
  return out;
}

Inputs in_double(const Inputs& v) {
  Inputs out;
  for (const Tensor& t : v) out.push_back(t.detach().to(kDouble).set_requires_grad(true));
  return out;
}

void expect_close(const Inputs& a, const Inputs& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].sizes(), b[k].sizes()) << what << ", result " << k;
    const double scale = std::max(1.0, b[k].abs().max().item<double>());
    EXPECT_LE((a[k].to(kDouble) - b[k]).abs().max().item<double>(), tolerance * scale)
        << what << ", result " << k;
  }
}

// How often each operator's kernel ran.
template <class F>
std::map<std::string, int> kernels_of(F&& work) {
  std::map<std::string, int> seen;
  core::set_kernel_observer(
      [](void* to, const core::Op& op, core::DeviceSlot, int64_t, int64_t) {
        ++(*static_cast<std::map<std::string, int>*>(to))[op.name];
      },
      &seen);
  work();
  core::set_kernel_observer(nullptr, nullptr);
  return seen;
}

void expect_as_cells(const Case& c, ScalarType dtype, double tolerance) {
  const Inputs v = arguments(c, dtype);
  Inputs fused;
  auto seen = kernels_of([&] { fused = outcome(c, v, by_layers); });
  EXPECT_EQ(seen["_fused_rnn"], 1) << c.text();
  EXPECT_EQ(seen["_fused_rnn_backward"], 1) << c.text();
  expect_close(fused, outcome(c, in_double(v), by_cells), tolerance, c.text());
}

constexpr Mode kModes[] = {kRelu, kTanh, kLstm, kGru};

TEST(FusedRnn, IsTheLoopOverCells) {
  for (Mode mode : kModes) {
    for (int bits = 0; bits < 16; ++bits) {
      for (int64_t layers : {1, 2, 3}) {
        Case c{mode};
        c.layers = layers;
        c.biases = bits & 1, c.bidirectional = bits & 2, c.batch_first = bits & 4;
        if (bits & 8) c.time = 2;  // too short for packed weights
        expect_as_cells(c, kDouble, 1e-13);
        expect_as_cells(c, kFloat, 3e-6);
      }
    }
  }
}

TEST(FusedRnn, OfEveryLength) {
  for (Mode mode : kModes) {
    for (int64_t time : {1, 3, 4, 9}) {
      for (int64_t batch : {1, 7, 100}) {
        for (int64_t hidden : {1, 16, 37, 70}) {
          Case c{mode, time, batch, 5, hidden, 2};
          c.bidirectional = batch == 7;
          expect_as_cells(c, kFloat, 2e-5);
        }
      }
    }
    expect_as_cells({mode, 6, 50, 20, 300, 2}, kFloat, 2e-5);
    expect_as_cells({mode, 6, 50, 20, 300, 2}, kDouble, 1e-12);
  }
}

TEST(FusedRnn, LargeGatesSaturate) {
  for (Mode mode : {kTanh, kLstm, kGru}) {
    const Case c{mode};
    Inputs v = arguments(c, kFloat);
    const Tensor x = v[0].detach();
    for (double scale : {100.0, -100.0}) {
      v[0] = (x * scale).set_requires_grad(true);
      expect_close(outcome(c, v, by_layers), outcome(c, in_double(v), by_cells), 3e-4, c.text());
    }
    v[0] = full({c.time, c.batch, c.features}, NAN).set_requires_grad(true);
    EXPECT_TRUE(by_layers(c, v)[0].isnan().all().item<bool>()) << c.text();
  }
}

TEST(FusedRnn, GradientsOfSomeResultsAndArguments) {
  for (Mode mode : kModes) {
    const Case c{mode, 5, 3, 4, 6, 2, true, true};
    const Inputs v = arguments(c);
    for (std::size_t from : {1, 2}) {
      if (from == 2 && mode != kLstm) continue;
      expect_close(outcome(c, v, by_layers, from), outcome(c, v, by_cells, from), 1e-13, c.text());
    }
    for (std::size_t k = 0; k < v.size(); ++k) {
      const auto of_one = [&](Layers f) {
        Inputs alone;
        for (const Tensor& t : v) alone.push_back(t.detach());
        alone[k].set_requires_grad(true);
        return autograd::grad({loss_of(f(c, alone))}, {alone[k]})[0];
      };
      EXPECT_TRUE(allclose(of_one(by_layers), of_one(by_cells), 1e-12, 1e-12))
          << c.text() << ", argument " << k;
    }
  }
}

TEST(FusedRnn, GradientsOfBothOrders) {
  for (Mode mode : {kTanh, kLstm, kGru}) {
    const Case c{mode, 4, 1, 2, 2, 1, true, true};
    check_gradients([&](const Inputs& v) { return by_layers(c, v); }, arguments(c));
  }
}

// The first walk must not spoil what was kept for the second.
TEST(FusedRnn, TheGraphMayBeWalkedTwice) {
  for (Mode mode : kModes) {
    const Case c{mode, 5, 2, 3, 4, 2};
    const Inputs v = arguments(c);
    const Tensor loss = loss_of(by_layers(c, v));
    const auto first = autograd::grad({loss}, v, {}, true), second = autograd::grad({loss}, v);
    for (std::size_t k = 0; k < v.size(); ++k)
      EXPECT_TRUE(equal(first[k], second[k])) << c.text() << ", argument " << k;
  }
}

TEST(FusedRnn, BitsDoNotDependOnThreads) {
  for (Mode mode : kModes) {
    for (int64_t batch : {1, 32, 130}) {
      const Case c{mode, 6, batch, 64, 256, 2, true, true};
      const Inputs v = arguments(c, kFloat);
      for (int threads : {2, 3})
        test::expect_same_bits_on(
            threads, [&] { return outcome(c, v, by_layers); }, c.text());
    }
  }
}

TEST(FusedRnn, IsAsGoodWithoutGradientsOrInDeterministicMode) {
  for (Mode mode : kModes) {
    for (int64_t layers : {1, 3}) {
      const Case c{mode, 90, 3, 4, 20, layers, true, true};
      const Inputs v = arguments(c, kFloat), recorded = by_layers(c, v);
      const NoGradGuard none;
      core::set_deterministic(true);
      Inputs plain;
      auto seen = kernels_of([&] { plain = by_layers(c, v); });
      core::set_deterministic(false);
      EXPECT_EQ(seen["_fused_rnn"], 1);
      for (std::size_t k = 0; k < plain.size(); ++k)
        EXPECT_TRUE(equal(plain[k], recorded[k])) << c.text() << ", result " << k;
    }
  }
}

// Packing large weights does not pay for few rows.
TEST(FusedRnn, FewRowsWithoutGradientsGoStepByStep) {
  const Case c{kLstm, 5, 3, 4, 100, 1, true, false};
  const Inputs v = arguments(c, kFloat), recorded = by_layers(c, v);
  const NoGradGuard none;
  Inputs plain;
  auto seen = kernels_of([&] { plain = by_layers(c, v); });
  EXPECT_EQ(seen["_fused_rnn"], 0);
  expect_close(plain, recorded, 1e-5, "step by step");
}

// A reserve that a kernel did not fill, and no sequences: the decomposition serves.
TEST(FusedRnn, WhatTheKernelsDecline) {
  const Case c{kLstm};
  const Inputs v = arguments(c);
  Inputs flat;
  for (std::size_t k = 3; k < v.size(); ++k) flat.push_back(v[k].detach().reshape({-1}));
  const Tensor weight = cat(flat), input = v[0].detach(), h = v[1].detach(), s = v[2].detach();
  const NoGradGuard none;
  const auto results = [&](const Tensor& reserve, const Tensor& y) {
    const auto [x, w, h0, c0] =
        _fused_rnn_backward(ones_like(y), {}, {}, input, weight, h, s, y, reserve, kLstm, true,
                            false, {true, true, true, true});
    return Inputs{x, w, h0, c0};
  };
  const auto [y, hy, cy, reserve] = _fused_rnn(input, weight, h, s, kLstm, true, false, true);
  EXPECT_EQ(std::get<3>(_fused_rnn(input, weight, h, s, kLstm, true, false, false)).numel(), 0);
  EXPECT_GT(reserve.numel(), 0);
  expect_close(results(reserve, y), results(empty({0}, kByte), y), 1e-13, "another reserve");

  Case nobody{kGru};
  nobody.batch = 0;
  EXPECT_EQ(by_layers(nobody, arguments(nobody))[0].sizes(), IntArrayRef({5, 0, 4}));
}

}  // namespace
