// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers by one call of cuDNN, compared with the host; unsupported ones fall back to the
// decomposition.
#include "tenon/core/dispatch.h"
#include "tenon/graph.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

enum class Cell { Relu, Tanh, Lstm, Gru };
constexpr Cell kCells[] = {Cell::Relu, Cell::Tanh, Cell::Lstm, Cell::Gru};

struct Case {
  Cell cell;
  int64_t time = 3, batch = 2, features = 3, hidden = 4, layers = 1;
  bool biases = true, bidirectional = false, batch_first = false;
  double dropout = 0;
};

std::string text(const Case& c) {
  return core::join("cell ", static_cast<int>(c.cell), ", layers ", c.layers, ", biases ", c.biases,
                    ", bidirectional ", c.bidirectional, ", batch_first ", c.batch_first, ", time ",
                    c.time);
}

// Values of both signs, without symmetry.
Tensor mixed_values(IntArrayRef sizes, int64_t from) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(from, from + n, kLong)
      .mul(7)
      .remainder(13)
      .sub(6)
      .to(kDouble)
      .mul(0.07)
      .view(sizes);
}

// Input, states and parameters.
struct Arguments {
  Tensor input;
  std::vector<Tensor> states, params;

  Arguments(const Case& c, Device device, ScalarType dtype, bool grad) {
    auto leaf = [&, at = int64_t{0}](IntArrayRef sizes) mutable {
      return mixed_values(sizes, ++at).to(dtype).to(device).requires_grad_(grad);
    };
    const int64_t d = c.bidirectional ? 2 : 1, gates = c.cell == Cell::Lstm  ? 4
                                                       : c.cell == Cell::Gru ? 3
                                                                             : 1;
    input =
        c.batch_first ? leaf({c.batch, c.time, c.features}) : leaf({c.time, c.batch, c.features});
    for (int k = 0; k < (c.cell == Cell::Lstm ? 2 : 1); ++k)
      states.push_back(leaf({c.layers * d, c.batch, c.hidden}));
    for (int64_t k = 0; k < c.layers * d; ++k) {
      params.push_back(leaf({gates * c.hidden, k < d ? c.features : c.hidden * d}));
      params.push_back(leaf({gates * c.hidden, c.hidden}));
      for (int b = 0; c.biases && b < 2; ++b) params.push_back(leaf({gates * c.hidden}));
    }
  }
  std::vector<Tensor> all() const {
    std::vector<Tensor> out{input};
    out.insert(out.end(), states.begin(), states.end());
    out.insert(out.end(), params.begin(), params.end());
    return out;
  }
};

std::vector<Tensor> run(const Case& c, const Arguments& a, bool train = true) {
  if (c.cell == Cell::Lstm) {
    const auto [y, h, s] = lstm(a.input, a.states, a.params, c.biases, c.layers, c.dropout, train,
                                c.bidirectional, c.batch_first);
    return {y, h, s};
  }
  const auto with = [&](auto f) -> std::vector<Tensor> {
    const auto [y, h] = f(a.input, a.states[0], a.params, c.biases, c.layers, c.dropout, train,
                          c.bidirectional, c.batch_first);
    return {y, h};
  };
  using RnnFunction = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, TensorList, bool,
                                                     int64_t, double, bool, bool, bool);
  return with(c.cell == Cell::Gru    ? static_cast<RnnFunction>(gru)
              : c.cell == Cell::Tanh ? static_cast<RnnFunction>(rnn_tanh)
                                     : static_cast<RnnFunction>(rnn_relu));
}

// The sum of all results, each element with its own weight.
Tensor loss_of(const std::vector<Tensor>& results, int64_t first = 0) {
  Tensor sum;
  for (std::size_t k = static_cast<std::size_t>(first); k < results.size(); ++k) {
    const Tensor& r = results[k];
    const Tensor part =
        (r *
         mixed_values(r.sizes(), 5 + static_cast<int64_t>(k)).to(r.scalar_type()).to(r.device()))
            .sum();
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

struct Outcome {
  std::vector<Tensor> values, grads;
};
Outcome outcome(const Case& c, Device device, ScalarType dtype) {
  const Arguments a(c, device, dtype, true);
  const auto results = run(c, a);
  loss_of(results).backward();
  Outcome out;
  for (const Tensor& t : results) out.values.push_back(t.detach().cpu());
  for (const Tensor& t : a.all()) out.grads.push_back(t.grad().cpu());
  return out;
}

void expect_same(const Outcome& there, const Outcome& here, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(there.values.size(), here.values.size());
  for (std::size_t k = 0; k < here.values.size(); ++k) {
    EXPECT_EQ(there.values[k].sizes(), here.values[k].sizes()) << what << ": result " << k;
    EXPECT_TRUE(allclose(there.values[k], here.values[k], tolerance, tolerance))
        << what << ": result " << k;
  }
  for (std::size_t k = 0; k < here.grads.size(); ++k) {
    EXPECT_TRUE(allclose(there.grads[k], here.grads[k], tolerance, tolerance))
        << what << ": gradient " << k;
  }
}

int64_t forwards() { return tenon_fake_calls("cudnnRNNForward"); }
int64_t backwards() { return tenon_fake_calls("cudnnRNNBackwardData"); }

class CudaRnn : public Cuda {
 protected:
  void TearDown() override {
    tenon_fake_refuse_rnn(0);
    core::set_deterministic(false);
    restart();
    (void)zeros({1}, kCUDA);
    Cuda::TearDown();
  }
};

TEST_F(CudaRnn, ValuesAndGradientsAreTheHosts) {
  for (Cell cell : kCells) {
    for (int bits = 0; bits < 16; ++bits) {
      Case c{cell};
      c.layers = 1 + (bits & 1);
      c.biases = bits & 2;
      c.bidirectional = bits & 4;
      c.batch_first = bits & 8;
      c.time = 3 - (bits & 1);
      const int64_t before = forwards(), gradients = backwards();
      const Outcome there = outcome(c, kCUDA, kDouble);
      EXPECT_EQ(forwards(), before + 1) << text(c);
      EXPECT_EQ(backwards(), gradients + 1) << text(c);
      expect_same(there, outcome(c, kCPU, kDouble), 1e-12, text(c));
    }
  }
}

TEST_F(CudaRnn, InEveryDtype) {
  for (Cell cell : kCells) {
    Case c{cell};
    c.layers = 2;
    for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
      const int64_t before = forwards();
      const Outcome there = outcome(c, kCUDA, dtype);
      EXPECT_EQ(forwards(), before + 1) << text(c);
      expect_same(there, outcome(c, kCPU, dtype), dtype == kFloat ? 1e-5 : 3e-2,
                  core::join(text(c), ", ", toString(dtype)));
    }
  }
}

TEST_F(CudaRnn, GradientsOfSomeAndThroughTheStatesAlone) {
  for (Cell cell : kCells) {
    const Case c{cell};
    const auto grads = [&](Device device) {
      Arguments a(c, device, kDouble, false);
      a.params[1].requires_grad_();
      loss_of(run(c, a), 1).backward();
      EXPECT_FALSE(a.input.grad().defined());
      Arguments only_input(c, device, kDouble, false);
      only_input.input.requires_grad_();
      loss_of(run(c, only_input)).backward();
      return std::vector<Tensor>{a.params[1].grad().cpu(), only_input.input.grad().cpu()};
    };
    const auto here = grads(kCPU), there = grads(kCUDA);
    for (std::size_t k = 0; k < here.size(); ++k)
      EXPECT_TRUE(allclose(there[k], here[k], 1e-12, 1e-12)) << text(c) << k;
  }
}

// cuDNN overwrites the reserve.
TEST_F(CudaRnn, TheGraphMayBeWalkedTwice) {
  const Case c{Cell::Lstm};
  const Arguments a(c, kCUDA, kDouble, true);
  const Tensor loss = loss_of(run(c, a));
  const auto first = autograd::grad({loss}, a.all(), {}, true),
             second = autograd::grad({loss}, a.all());
  EXPECT_EQ(backwards(), 2);
  for (std::size_t k = 0; k < first.size(); ++k)
    EXPECT_TRUE(equal(first[k].cpu(), second[k].cpu())) << k;
}

TEST_F(CudaRnn, SecondGradientsUseTheDecomposition) {
  for (Cell cell : kCells) {
    const Case c{cell};
    const auto twice = [&](Device device) {
      const Arguments a(c, device, kDouble, true);
      const auto first = autograd::grad({loss_of(run(c, a))}, a.all(), {}, std::nullopt, true);
      loss_of(first).backward();
      std::vector<Tensor> out;
      for (const Tensor& t : a.all()) out.push_back(t.grad().defined() ? t.grad().cpu() : Tensor());
      return out;
    };
    const int64_t before = forwards();
    const auto here = twice(kCPU), there = twice(kCUDA);
    EXPECT_EQ(forwards(), before + 1) << text(c);
    for (std::size_t k = 0; k < here.size(); ++k) {
      ASSERT_EQ(there[k].defined(), here[k].defined()) << text(c) << ", argument " << k;
      EXPECT_TRUE(!here[k].defined() || allclose(there[k], here[k], 1e-10, 1e-10))
          << text(c) << ", argument " << k;
    }
  }
}

TEST_F(CudaRnn, WithoutGradientNothingIsReserved) {
  const Case c{Cell::Gru};
  const Arguments a(c, kCUDA, kFloat, false);
  Tensor flat;
  std::vector<Tensor> parts;
  for (const Tensor& p : a.params) parts.push_back(p.reshape({-1}));
  flat = cat(parts);
  const auto kept = [&](bool train) {
    return std::get<3>(_fused_rnn(a.input, flat, a.states[0], std::nullopt, 3, true, false, train))
        .numel();
  };
  EXPECT_EQ(kept(false), 0);
  EXPECT_GT(kept(true), 0);
}

TEST_F(CudaRnn, TheDecompositionIsTheFallback) {
  const auto same = [](const Case& c, const char* why) {
    const int64_t before = forwards();
    const Outcome there = outcome(c, kCUDA, kDouble);
    EXPECT_EQ(forwards(), before) << why;
    expect_same(there, outcome(c, kCPU, kDouble), 1e-12, why);
  };
  Case c{Cell::Lstm};
  core::set_deterministic(true);
  same(c, "deterministic");
  core::set_deterministic(false);
  tenon_fake_refuse_rnn(1);
  same(c, "refused");
  tenon_fake_refuse_rnn(0);
  c.layers = 2;
  c.dropout = 0.5;
  const int64_t before = forwards();
  (void)run(c, Arguments(c, kCUDA, kFloat, false), true);
  EXPECT_EQ(forwards(), before) << "dropout draws the library's numbers";
  (void)run(c, Arguments(c, kCUDA, kFloat, false), false);
  EXPECT_EQ(forwards(), before + 1) << "there is no dropout outside of training";
}

TEST_F(CudaRnn, WhatDoesNotFitIsNamedAsOnTheHost) {
  Case c{Cell::Lstm};
  const auto error = [&](Device device) {
    Arguments a(c, device, kFloat, false);
    a.params[1] = a.params[1].narrow(0, 0, 8);
    return text_of<Error>([&] { (void)run(c, a); });
  };
  EXPECT_NE(error(kCUDA), "");
  EXPECT_EQ(error(kCUDA), error(kCPU));
}

TEST_F(CudaRnn, APlanIsMadeOnce) {
  const Case c{Cell::Gru};
  const Arguments a(c, kCUDA, kFloat, true);
  (void)run(c, a);
  const int64_t handles = tenon_fake_alive(TENON_FAKE_HANDLES), asked = tenon_fake_calls("cudnn");
  (void)run(c, a);
  EXPECT_EQ(tenon_fake_calls("cudnn"), asked);
  EXPECT_EQ(tenon_fake_alive(TENON_FAKE_HANDLES), handles);
}

TEST_F(CudaRnn, AGraphReplaysIt) {
  for (Cell cell : kCells) {
    const Case c{cell};
    const Arguments a(c, kCUDA, kDouble, true);
    const auto step = [&] {
      const auto results = run(c, a);
      return autograd::grad({results[0].square().sum() + results[1].sum()},
                            a.all());  // nothing of the host's
    };
    const auto eager = step();
    const int64_t before = forwards();
    Graph g;
    g.capture_begin();
    const auto captured = step();
    g.capture_end();
    EXPECT_EQ(forwards(), before + 1) << text(c);
    {
      NoGradGuard none;
      const Tensor same = a.input.clone();
      a.input.zero_();
      g.replay();
      EXPECT_FALSE(equal(captured[3].cpu(), eager[3].cpu())) << text(c);
      a.input.copy_(same);
    }
    g.replay();
    for (std::size_t k = 0; k < eager.size(); ++k) {
      EXPECT_TRUE(equal(captured[k].cpu(), eager[k].cpu())) << text(c) << ", argument " << k;
    }
  }
}

// While a plan is made, and while it runs forward and backward.
TEST_F(CudaRnn, EachCallFailsOnce) {
  Case c{Cell::Lstm};
  c.hidden = 2;
  c.bidirectional = true;
  (void)outcome(c, kCUDA, kDouble);  // makes the handle
  int n = 1, raised = 0;
  for (;; ++n) {
    c.time = n + 3;  // another each time, so that no plan is cached yet
    const Arguments a(c, kCUDA, kDouble, true);
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    const std::string text = text_of<std::exception>([&] { loss_of(run(c, a)).backward(); });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    raised += !text.empty();
    EXPECT_TRUE(text.empty() || has(text, "failed")) << text;
    const Outcome again = outcome(c, kCUDA, kDouble);  // with a complete plan
    if (n % 16 == 0)
      expect_same(again, outcome(c, kCPU, kDouble), 1e-12, core::join(n, ": ", text));
    if (!hit) break;
    ASSERT_LT(n, 500);
  }
  printf("%d calls failed, %d of them raised an error\n", n - 1, raised);
  EXPECT_GE(raised, 40);
}

// A failed plan releases its descriptors.
TEST_F(CudaRnn, AFailedPlanLeaksNothing) {
  const Case c{Cell::Gru};
  (void)outcome(c, kCUDA, kDouble);
  Case other = c;
  int n = 1, failed = 0;
  for (;; ++n) {
    other.time = n + 3;
    const Arguments a(other, kCUDA, kDouble, false);
    const int64_t handles = tenon_fake_alive(TENON_FAKE_HANDLES), injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    const std::string text = text_of<std::exception>([&] { (void)run(other, a); });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    constexpr int64_t kOfAPlan = 7;
    const int64_t more = tenon_fake_alive(TENON_FAKE_HANDLES) - handles;
    EXPECT_TRUE(more == 0 || more == kOfAPlan) << n << ": " << more << " stay; " << text;
    failed += !text.empty() && more == 0;
    if (!hit) break;
    ASSERT_LT(n, 500);
  }
  EXPECT_GE(failed, 14) << "each call that makes a plan";
}

}  // namespace
}  // namespace tenon::test
