// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention in several heads and transformers against values of torch 2.15 in double precision.
#include <gtest/gtest.h>

#include <limits>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;

namespace {

Tensor steps(int64_t n) { return arange(n, TensorOptions().dtype(kDouble)); }

// Parameters that need no file: half the sine of 0.7 i + n in the i-th of n elements.
template <class Holder>
void fill(Holder& module) {
  module->to(kDouble);
  NoGradGuard no_grad;
  for (const Tensor& p : module->parameters())
    p.copy_((steps(p.numel()) * 0.7 + p.numel()).sin().mul(0.5).view(p.sizes()));
}

Tensor input() { return (steps(24) * 0.3).cos().view({3, 2, 4}).set_requires_grad(true); }
Tensor weights() { return steps(24).sin().view({3, 2, 4}); }

void expect_values(const Tensor& t, std::vector<double> wanted) {
  ASSERT_EQ(t.numel(), static_cast<int64_t>(wanted.size()));
  const Tensor w = tensor(wanted, TensorOptions().dtype(kDouble)).view(t.sizes());
  EXPECT_TRUE(allclose(t.detach(), w, 1e-8, 1e-9)) << (t.detach() - w).abs().max().item<double>();
}

}  // namespace

TEST(Attention, EncoderLayerAndItsGradients) {
  nn::TransformerEncoderLayer layer(
      nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0.0));
  fill(layer);
  const Tensor x = input();
  const Tensor padding = tensor({0, 0, 1, 0, 0, 0}).view({2, 3}) == 1;
  const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(3).to(kDouble);
  const Tensor y = layer(x, mask, padding);
  expect_values(y, {-0.1800215666, -0.09104435573, -0.2445654941, -0.2467566201, -0.2834114054,
                    0.2659767261,  -0.7259017557,  -0.1734469051, -0.5497034314, 0.3540364924,
                    -0.5472983304, -0.1674946749,  -0.6377502442, 0.3199800942,  -0.4013143669,
                    -0.1745100755, -0.6138740352,  0.2517586065,  -0.2884443598, -0.1944353942,
                    -0.2138292829, 0.1338836015,   -0.4781324626, -0.2245373228});
  (y * weights()).sum().backward();
  expect_values(
      x.grad(),
      {-0.3193978707,  0.2920060069,   1.062469807,  -0.5204418316, -0.03776458775, 0.04884905485,
       -0.01699523476, 0.01202947214,  0.5201958172, 0.04291707062, -0.2255849223,  -0.09420633359,
       -0.2405479623,  -0.04375720253, 0.2646875172, 0.01509844069, -0.015431605,   0.02791534251,
       -0.04286523384, 0.007550556913, 0.3702204748, 0.2650978407,  -0.4540181527,  -0.2591991946});
  expect_values(layer->linear1->bias.grad(),
                {0.3146696866, -0.2829936216, 0.1209110253, -0.1860669025, 0.02372403524, 0});
}

TEST(Attention, DecoderLayerWithGelu) {
  nn::TransformerDecoderLayer layer(
      nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6).dropout(0.0).activation(kGELU));
  fill(layer);
  const Tensor memory = (steps(16) * 0.5).sin().view({2, 2, 4}).set_requires_grad(true);
  const Tensor mask = nn::TransformerImpl::generate_square_subsequent_mask(3).to(kDouble);
  const Tensor y = layer(input(), memory, mask);
  expect_values(y, {-0.6172925472,  0.3532159183,  -0.5029576343, -0.1615288321,  -0.6945077532,
                    -0.08173500393, 0.05412707726, -0.1950259519, -0.4755131555,  0.1709578235,
                    -0.2565718265,  -0.2205321416, -0.1475587152, -0.06075339139, -0.3127633099,
                    -0.2440125768,  -0.4437192081, 0.3396859134,  -0.6447080283,  -0.1674285313,
                    -0.7335540529,  0.2808920022,  -0.3164239944, -0.1643402175});
  (y * weights()).sum().backward();
  expect_values(memory.grad(), {-0.04733296207, -0.04831321487, -0.0265710078, 0.007667959414,
                                0.02978814203, 0.01620804523, -0.0049949485, -0.02384873991,
                                -0.03476469149, -0.0557017315, -0.05044137682, -0.02145765446,
                                -0.0007771310803, -0.009316508356, -0.01347418618, -0.0112947437});
  // A function as the activation: GELU again.
  layer->options.activation([](const Tensor& t) { return gelu(t); });
  EXPECT_TRUE(equal(layer(input(), memory, mask), y));
}

TEST(Attention, OtherSizesOfKeysWithAppendedOnes) {
  nn::MultiheadAttention attention(
      nn::MultiheadAttentionOptions(4, 2).kdim(3).vdim(5).add_bias_kv(true).add_zero_attn(true));
  fill(attention);
  const Tensor k = (steps(18) * 0.2).cos().view({3, 2, 3}),
               v = (steps(30) * 0.2).sin().view({3, 2, 5});
  const auto [y, w] = attention(input(), k, v);
  expect_values(y.select(0, 0), {-0.2741520138, -0.4990353065, -0.4923770807, 0.1077338323,
                                 -0.260372506, -0.5102151074, -0.4850888721, 0.1051794073});
  EXPECT_EQ(w.sizes(), IntArrayRef({2, 3, 5}));
  expect_values(w.select(0, 0).select(0, 0),
                {0.252820599, 0.189161649, 0.1212744082, 0.2209274179, 0.2158159259});
  // Without the weights the result is the same.
  const auto [fused, none] = attention(input(), k, v, Tensor(), /*need_weights=*/false);
  EXPECT_FALSE(none.defined());
  EXPECT_TRUE(allclose(fused, y, 1e-9, 1e-12));
  const auto keys = attention->named_parameters().keys();
  EXPECT_EQ(keys, (std::vector<std::string>{"q_proj_weight", "k_proj_weight", "v_proj_weight",
                                            "in_proj_bias", "bias_k", "bias_v", "out_proj.weight",
                                            "out_proj.bias"}));
}

TEST(Attention, MasksOfEachHeadAndRowsWithoutKeys) {
  nn::MultiheadAttention attention(4, 2);
  fill(attention);
  const Tensor x = input().detach();
  const Tensor bools = arange(36).view({4, 3, 3}).remainder(5) == 1;
  const Tensor numbers =
      zeros({4, 3, 3}, kDouble).masked_fill(bools, -std::numeric_limits<double>::infinity());
  const auto by_bool = attention(x, x, x, Tensor(), true, bools);
  const auto by_number = attention(x, x, x, Tensor(), true, numbers);
  EXPECT_TRUE(equal(std::get<0>(by_bool), std::get<0>(by_number)));
  const auto fused = attention(x, x, x, Tensor(), false, bools);
  EXPECT_TRUE(allclose(std::get<0>(fused), std::get<0>(by_bool), 1e-9, 1e-12));
  // Where no key is left, the mean of no value is NaN with and without weights.
  const Tensor nothing = tensor({1, 1, 1, 0, 0, 0}).view({2, 3}) == 1;
  for (const bool need_weights : {true, false}) {
    const Tensor y = std::get<0>(attention(x, x, x, nothing, need_weights));
    EXPECT_TRUE(y.select(1, 0).isnan().all().item<bool>());
    EXPECT_FALSE(y.select(1, 1).isnan().any().item<bool>());
  }
}

TEST(Attention, Gradients) {
  nn::MultiheadAttention attention(4, 2);
  fill(attention);
  check_gradients(
      [&](const Inputs& in) {
        return Inputs{std::get<0>(attention(in[0], in[1], in[1], Tensor(), false))};
      },
      {leaf({2, 1, 4}), leaf({3, 1, 4})});
}

TEST(Attention, TransformersAndTheirCopies) {
  nn::Transformer model(nn::TransformerOptions()
                            .d_model(4)
                            .nhead(2)
                            .num_encoder_layers(2)
                            .num_decoder_layers(1)
                            .dim_feedforward(6)
                            .dropout(0.0));
  model->to(kDouble);
  const Tensor src = input().detach(), tgt = src.narrow(0, 0, 2);
  const Tensor y = model(src, tgt);
  EXPECT_EQ(y.sizes(), IntArrayRef({2, 2, 4}));
  EXPECT_TRUE(model->named_parameters().contains("encoder.layers.1.self_attn.in_proj_weight"));
  EXPECT_TRUE(model->named_parameters().contains("decoder.norm.weight"));

  const auto copy = std::dynamic_pointer_cast<nn::TransformerImpl>(model->clone());
  EXPECT_TRUE(equal(copy->forward(src, tgt), y));
  // A model around an encoder that was given: its copy has an encoder of its own.
  nn::Transformer around(nn::TransformerOptions(4, 2, 2, 1)
                             .dim_feedforward(6)
                             .dropout(0.0)
                             .custom_encoder(model->encoder));
  around->to(kDouble);
  const Tensor before = around(src, tgt);
  const auto other = std::dynamic_pointer_cast<nn::TransformerImpl>(around->clone());
  EXPECT_TRUE(equal(around(src, tgt), before));
  EXPECT_TRUE(equal(other->forward(src, tgt), before));
  {
    NoGradGuard no_grad;
    for (const Tensor& p : other->parameters()) p.add_(1);
  }
  EXPECT_TRUE(equal(around(src, tgt), before));

  EXPECT_TEXT(model(src.select(0, 0), tgt), "should have 3 dimensions");
  EXPECT_TEXT(model(src, tgt.narrow(1, 0, 1)), "should have equal batch size");
  EXPECT_TEXT(model(src.narrow(2, 0, 2), tgt), "same feature size as d_model");
  EXPECT_TEXT(nn::MultiheadAttention(5, 2), "embed_dim must be divisible by num_heads");
}

TEST(Attention, BatchesFirstOrNone) {
  auto options =
      nn::TransformerOptions(4, 2, 1, 1).dim_feedforward(6).dropout(0.0).norm_first(true);
  nn::Transformer model(options), batch_first(options.batch_first(true)),
      without_bias(options.bias(false));
  fill(model);
  fill(batch_first);
  const Tensor src = input().detach(), tgt = src.narrow(0, 0, 2), y = model(src, tgt);
  const Tensor z = batch_first(src.transpose(0, 1), tgt.transpose(0, 1));
  EXPECT_TRUE(allclose(z.transpose(0, 1), y));
  EXPECT_TRUE(allclose(model(src.select(1, 1), tgt.select(1, 1)), y.select(1, 1)));
  EXPECT_TEXT(batch_first(src, src.narrow(0, 0, 2)), "equal batch size (at dim 0)");
  for (const auto& p : without_bias->named_parameters())
    EXPECT_EQ(p.key().find("bias"), std::string::npos) << p.key();

  nn::MultiheadAttention attention(nn::MultiheadAttentionOptions(4, 2).batch_first(true));
  fill(attention);
  const Tensor x = src.transpose(0, 1), leaves_out = tensor({0, 1, 0, 0, 0, 1}).view({2, 3}) == 1;
  const auto [out, weights] = attention(x, x, x, leaves_out);
  const auto [one, its_weights] = attention(x[1], x[1], x[1], leaves_out[1]);
  EXPECT_TRUE(allclose(one, out[1]));
  EXPECT_TRUE(allclose(its_weights, weights[1]));
  EXPECT_EQ(its_weights.sizes(), IntArrayRef({3, 3}));
  EXPECT_TEXT(attention(x[1], x[1], x[1], leaves_out), "key_padding_mask of 1 dimension");
}
