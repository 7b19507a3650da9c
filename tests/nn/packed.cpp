// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Packed sequences, and recurrent layers over them against the same layers over each sequence.
#include <gtest/gtest.h>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;
namespace rnn = nn::utils::rnn;

namespace {

// Of lengths 2, 4 and 3: packed, they are in another order.
std::vector<Tensor> sequences() { return {randn({2, 3}), randn({4, 3}), randn({3, 3})}; }

}  // namespace

TEST(Packed, SequencesThereAndBack) {
  const auto packed = rnn::pack_sequence({tensor({4, 5}), tensor({6}), tensor({1, 2, 3})},
                                         /*enforce_sorted=*/false);
  EXPECT_TRUE(equal(packed.data(), tensor({1, 4, 6, 2, 5, 3})));
  EXPECT_TRUE(equal(packed.batch_sizes(), tensor({3, 2, 1})));
  EXPECT_TRUE(equal(packed.sorted_indices(), tensor({2, 0, 1})));
  EXPECT_TRUE(equal(packed.unsorted_indices(), tensor({1, 2, 0})));
  const auto [padded, lengths] = rnn::pad_packed_sequence(packed, true, -1, 4);
  EXPECT_TRUE(equal(padded, tensor({4, 5, -1, -1, 6, -1, -1, -1, 1, 2, 3, -1}).view({3, 4})));
  EXPECT_TRUE(equal(lengths, tensor({2, 1, 3})));
  EXPECT_TRUE(packed.to(kCPU).data().is_same(packed.data()));
  EXPECT_EQ(packed.to(kFloat).data().scalar_type(), kFloat);

  EXPECT_TEXT(rnn::pack_sequence({tensor({1}), tensor({2, 3})}), "You can pass `enforce_sorted");
  EXPECT_TEXT(rnn::pad_packed_sequence(packed, true, 0, 2), "Expected total_length to be at least");
  EXPECT_TEXT(rnn::pack_padded_sequence(zeros({0, 0}), zeros({0}, kLong)), "empty tensor");
}

TEST(Packed, LayersDoWhatTheyDoWithEachSequence) {
  nn::LSTM lstm(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true));
  nn::GRU gru(3, 4);
  nn::RNN net(nn::RNNOptions(3, 4).nonlinearity(kReLU));
  const auto parts = sequences();
  const auto packed = rnn::pack_sequence(parts, /*enforce_sorted=*/false);
  const Tensor h0 = randn({4, 3, 4}), c0 = randn({4, 3, 4}), g0 = randn({1, 3, 4});
  const auto [ly, states] = lstm->forward_with_packed_input(packed, std::make_tuple(h0, c0));
  const auto [gy, gh] = gru->forward_with_packed_input(packed, g0);
  const auto [ny, nh] = net->forward_with_packed_input(packed);
  const Tensor l = std::get<0>(rnn::pad_packed_sequence(ly)),
               g = std::get<0>(rnn::pad_packed_sequence(gy)),
               n = std::get<0>(rnn::pad_packed_sequence(ny));
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor x = parts[static_cast<std::size_t>(i)].unsqueeze(1);
    const auto own = [&](const Tensor& s) { return s.narrow(1, i, 1); };
    const auto close = [&](const Tensor& all, const Tensor& one) {
      return allclose(own(all).narrow(0, 0, x.size(0)), one, 1e-5, 1e-6);
    };
    const auto [y, last] = lstm(x, std::make_tuple(own(h0), own(c0)));
    EXPECT_TRUE(close(l, y));
    EXPECT_TRUE(allclose(own(std::get<0>(states)), std::get<0>(last), 1e-5, 1e-6));
    EXPECT_TRUE(allclose(own(std::get<1>(states)), std::get<1>(last), 1e-5, 1e-6));
    const auto [z, h] = gru(x, own(g0));
    EXPECT_TRUE(close(g, z));
    EXPECT_TRUE(allclose(own(gh), h, 1e-5, 1e-6));
    const auto [u, k] = net(x);
    EXPECT_TRUE(close(n, u));
    EXPECT_TRUE(allclose(own(nh), k, 1e-5, 1e-6));
  }
  EXPECT_TEXT(gru->forward_with_packed_input(packed, randn({1, 2, 4})), "Expected hidden size");
}

TEST(Packed, Gradients) {
  nn::LSTM lstm(2, 3);
  lstm->to(kDouble);
  check_gradients(
      [&](const Inputs& in) {
        const auto packed = rnn::pack_padded_sequence(in[0], tensor({1, 3}), false, false);
        const auto [y, states] = lstm->forward_with_packed_input(packed);
        return Inputs{y.data(), std::get<1>(states)};
      },
      {leaf({3, 2, 2})});
}
