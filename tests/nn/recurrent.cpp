// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recurrent layers against loops over their cells, their gradients, copies, dropout and texts.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;

namespace {

// The cell takes the weights of layer 0.
template <class Cell, class Layers>
void share(Cell& cell, Layers& layers) {
  NoGradGuard no_grad;
  const auto from = layers->named_parameters();
  for (const auto& p : cell->named_parameters()) p.value().copy_(from[p.key() + "_l0"]);
}

}  // namespace

TEST(Recurrent, LayersDoWhatTheirCellsDo) {
  nn::LSTM layer(3, 4);
  nn::LSTMCell cell(3, 4);
  share(cell, layer);
  const Tensor x = randn({5, 2, 3});
  Tensor h = zeros({2, 4}), c = zeros({2, 4});
  Inputs steps;
  for (int64_t t = 0; t < 5; ++t) {
    std::tie(h, c) = cell(x.select(0, t), std::make_tuple(h, c));
    steps.push_back(h);
  }
  const auto [y, last] = layer(x);
  EXPECT_TRUE(allclose(y, stack(steps, 0), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(std::get<1>(last).select(0, 0), c, 1e-5, 1e-6));

  nn::GRU gru(nn::GRUOptions(3, 4).bidirectional(true).batch_first(true));
  nn::GRUCell gate(3, 4);
  share(gate, gru);
  const auto [forth, ends] = gru(x.transpose(0, 1));
  EXPECT_EQ(forth.sizes(), IntArrayRef({2, 5, 8}));
  Tensor state;
  for (int64_t t = 0; t < 5; ++t) state = gate(x.select(0, t), state);
  EXPECT_TRUE(allclose(ends.select(0, 0), state, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(forth.select(1, 4).narrow(1, 0, 4), state, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(forth.select(1, 0).narrow(1, 4, 4), ends.select(0, 1), 1e-5, 1e-6));
}

TEST(Recurrent, WithoutABatch) {
  nn::RNN rnn(nn::RNNOptions(3, 4).num_layers(2));
  const Tensor x = randn({5, 3});
  const auto [y, h] = rnn(x);
  const auto [batch_y, batch_h] = rnn(x.unsqueeze(1));
  EXPECT_TRUE(equal(y, batch_y.squeeze(1)));
  EXPECT_TRUE(equal(h, batch_h.squeeze(1)));
  nn::RNNCell cell(3, 4);
  EXPECT_EQ(cell(randn({3})).sizes(), IntArrayRef({4}));
}

TEST(Recurrent, Gradients) {
  check_gradients(
      [](const Inputs& v) {
        const auto [y, h, c] = lstm(v[0], {v[1], v[2]}, {v[3], v[4], v[5], v[3], v[4], v[5]}, false,
                                    1, 0, true, true, false);
        return Inputs{y, h, c};
      },
      {leaf({2, 1, 2}), leaf({2, 1, 1}), leaf({2, 1, 2}), leaf({8, 2}), leaf({8, 1}),
       leaf({1, 2})});
  check_gradients(
      [](const Inputs& v) {
        const auto [y, h] =
            gru(v[0], v[1], {v[2], v[3], v[4], v[4]}, true, 1, 0, true, false, true);
        return Inputs{y, h};
      },
      {leaf({1, 2, 2}), leaf({1, 1, 2}), leaf({6, 2}), leaf({6, 2}), leaf({6})});
}

TEST(Recurrent, DropsOutBetweenLayersWhileTraining) {
  nn::LSTM layers(nn::LSTMOptions(3, 4).num_layers(2).dropout(1));
  const Tensor a = randn({5, 2, 3}), b = randn({5, 2, 3});
  EXPECT_TRUE(equal(std::get<0>(layers(a)), std::get<0>(layers(b))));
  layers->eval();
  EXPECT_FALSE(equal(std::get<0>(layers(a)), std::get<0>(layers(b))));
}

TEST(Recurrent, ACopyHasWeightsOfItsOwn) {
  nn::GRU gru(3, 4);
  const auto copy = std::dynamic_pointer_cast<nn::GRUImpl>(gru->clone());
  const Tensor x = randn({5, 2, 3}), before = std::get<0>(gru(x));
  EXPECT_TRUE(equal(std::get<0>(copy->forward(x)), before));
  {
    NoGradGuard no_grad;
    for (Tensor& p : gru->parameters()) p.zero_();
  }
  EXPECT_TRUE(equal(std::get<0>(copy->forward(x)), before));
  EXPECT_TRUE(equal(std::get<0>(gru(x)), zeros({5, 2, 4})));
  gru->to(kDouble);
  EXPECT_EQ(std::get<0>(gru(x.to(kDouble))).scalar_type(), kDouble);
}

TEST(Recurrent, Texts) {
  nn::LSTM lstm(nn::LSTMOptions(3, 4).bias(false).proj_size(2));
  std::ostringstream text;
  text << lstm << nn::RNNCell(nn::RNNCellOptions(3, 4).nonlinearity(kReLU));
  EXPECT_EQ(text.str(),
            "tenon::nn::LSTM(input_size=3, hidden_size=4, num_layers=1, bias=false, "
            "batch_first=false, dropout=0, "
            "bidirectional=false, proj_size=2)tenon::nn::RNNCell(3, 4, nonlinearity=kReLU)");
  nn::GRU gru(3, 4);
  EXPECT_TEXT(gru(ones({2, 2, 5})), "Expected 3, got 5");
  EXPECT_TEXT(gru(ones({2, 2, 3}), ones({1, 3, 4})),
              "Expected hidden size [1, 2, 4], got [1, 3, 4]");
  EXPECT_TEXT(nn::RNNCell(3, 4)(ones({2, 5})), "inconsistent input_size");
  EXPECT_THROW(nn::LSTM(nn::LSTMOptions(3, 4).proj_size(4)), ValueError);
}
