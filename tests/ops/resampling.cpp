// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling, borders and grids: gradients to the second order, the bits of several threads, and
// error texts.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;
namespace F = tenon::nn::functional;

namespace {

using Size = std::vector<int64_t>;
using Factors = std::vector<double>;

}  // namespace

TEST(Upsample, Gradients) {
  for (bool corners : {false, true}) {
    check_gradients([=](const Inputs& v) { return Inputs{upsample_linear1d(v[0], {5}, corners)}; },
                    {leaf({1, 2, 3})});
    check_gradients(
        [=](const Inputs& v) {
          return Inputs{upsample_bilinear2d(v[0], {4, 2}, corners)};
        },
        {leaf({1, 2, 3, 3})});
    check_gradients(
        [=](const Inputs& v) {
          return Inputs{upsample_bicubic2d(v[0], {4, 2}, corners)};
        },
        {leaf({1, 1, 3, 4})});
    check_gradients(
        [=](const Inputs& v) {
          return Inputs{upsample_trilinear3d(v[0], {3, 2, 2}, corners)};
        },
        {leaf({1, 1, 2, 3, 2})});
    check_gradients(
        [=](const Inputs& v) {
          return Inputs{_upsample_bilinear2d_aa(v[0], {2, 3}, corners)};
        },
        {leaf({1, 1, 5, 3})});
    check_gradients(
        [=](const Inputs& v) {
          return Inputs{_upsample_bicubic2d_aa(v[0], {2, 3}, corners)};
        },
        {leaf({1, 1, 5, 3})});
  }
  check_gradients([](const Inputs& v) { return Inputs{upsample_nearest1d(v[0], {5})}; },
                  {leaf({1, 2, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{upsample_nearest2d(v[0], {5, 2})};
      },
      {leaf({1, 2, 3, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{upsample_nearest3d(v[0], {1, 3, 3})};
      },
      {leaf({1, 1, 2, 2, 2})});
  check_gradients([](const Inputs& v) { return Inputs{_upsample_nearest_exact1d(v[0], {2})}; },
                  {leaf({1, 2, 5})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{_upsample_nearest_exact2d(v[0], {5, 2})};
      },
      {leaf({1, 2, 3, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{_upsample_nearest_exact3d(v[0], {1, 3, 3})};
      },
      {leaf({1, 1, 2, 2, 2})});
}

TEST(Upsample, ScalesReplaceTheQuotientOfTheSizes) {
  const Tensor x = tensor({0., 1., 2., 3.}).reshape({1, 1, 4});
  EXPECT_TRUE(equal(upsample_nearest1d(x, IntArrayRef({3}), 0.75),
                    tensor({0., 1., 2.}).reshape({1, 1, 3})));
  EXPECT_TRUE(
      equal(upsample_nearest1d(x, IntArrayRef({3}), 0.5), tensor({0., 2., 3.}).reshape({1, 1, 3})));
  EXPECT_TRUE(equal(upsample_linear1d(x, IntArrayRef({2}), false, 0.5),
                    tensor({0.5, 2.5}).reshape({1, 1, 2})));
}

TEST(Upsample, BitsDoNotDependOnThreads) {
  const Tensor x = randn({2, 5, 67, 71}), grad = randn({2, 5, 131, 40}),
               places = randn({2, 131, 40, 2});
  const auto all = [&] {
    Inputs out;
    for (const Tensor& t : {x, x.to(kBFloat16)}) {
      const Tensor g = grad.to(t.scalar_type());
      out.push_back(upsample_bicubic2d(t, {131, 40}, false));
      out.push_back(upsample_bicubic2d_backward(g, {131, 40}, x.sizes(), false));
      out.push_back(reflection_pad2d(t, {3, 5, 2, 60}));
      out.push_back(reflection_pad2d_backward(out.back(), t, {3, 5, 2, 60}));
      const Tensor grid = places.to(t.scalar_type());
      out.push_back(grid_sampler_2d(t, grid, 0, 1, false));
      const auto [gi, gg] = grid_sampler_2d_backward(g, t, grid, 0, 1, false, {true, true});
      out.push_back(gi);
      out.push_back(gg);
    }
    out.push_back(histc(x, 50));
    return out;
  };
  test::expect_same_bits_on(2, all);
}

TEST(Upsample, InterpolateTexts) {
  const Tensor x = ones({1, 1, 2, 2});
  EXPECT_TEXT(F::interpolate(x), "should be defined");
  EXPECT_TEXT(
      F::interpolate(x, F::InterpolateFuncOptions().size(Size{2, 2}).scale_factor(Factors{2, 2})),
      "should be defined");
  EXPECT_TEXT(F::interpolate(x, F::InterpolateFuncOptions().size(Size{2}).mode(kLinear)),
              "needs 3-D input, got 4-D");
  EXPECT_TEXT(F::interpolate(x, F::InterpolateFuncOptions().size(Size{2, 2}).align_corners(true)),
              "align_corners");
  EXPECT_TEXT(upsample_bilinear2d(x, std::nullopt, false, std::nullopt), "exactly one");
  EXPECT_TEXT(upsample_trilinear3d(x, {1, 1, 1}, false), "needs 5-D input, got 4-D");
  EXPECT_THROW(upsample_nearest2d(x, {0, 2}), ValueError);
  EXPECT_THROW(upsample_nearest2d(ones({1, 1, 0, 2}), {1, 2}), ValueError);
}

TEST(Upsample, ModuleDoesWhatTheFunctionDoes) {
  nn::Upsample twice(
      nn::UpsampleOptions().scale_factor(Factors{2, 2}).mode(kBilinear).align_corners(false));
  const Tensor x = randn({1, 2, 3, 4});
  EXPECT_TRUE(equal(twice(x), upsample_bilinear2d(x, {6, 8}, false, 2.0, 2.0)));
  EXPECT_EQ(upsample_nearest2d(ones({0, 2, 3, 3}), {4, 4}).sizes(), IntArrayRef({0, 2, 4, 4}));
}

TEST(Borders, Gradients) {
  check_gradients(
      [](const Inputs& v) {
        return Inputs{reflection_pad1d(v[0], {2, -1})};
      },
      {leaf({2, 4})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{reflection_pad2d(v[0], {1, 0, -1, 2})};
      },
      {leaf({1, 3, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{reflection_pad3d(v[0], {1, 0, 0, 1, 1, 0})};
      },
      {leaf({1, 2, 2, 2})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{replication_pad1d(v[0], {2, -1})};
      },
      {leaf({2, 4})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{replication_pad2d(v[0], {3, 0, -1, 2})};
      },
      {leaf({1, 2, 3})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{replication_pad3d(v[0], {1, 0, 0, 1, 1, 0})};
      },
      {leaf({1, 1, 2, 2, 2})});
}

TEST(Borders, CircularPadsAndCrops) {
  const Tensor x = tensor({0., 1., 2., 3.}).reshape({1, 4});
  EXPECT_TRUE(
      equal(pad(x, {2, 1}, "circular"), tensor({2., 3., 0., 1., 2., 3., 0.}).reshape({1, 7})));
  EXPECT_TRUE(equal(pad(x, {-1, 2}, "circular"), tensor({1., 2., 3., 1., 2.}).reshape({1, 5})));
  EXPECT_TEXT(reflection_pad1d(x, {4, 0}), "Padding size should be less than");
}

TEST(Grid, Gradients) {
  manual_seed(5);  // slopes jump at pixels, and no difference may step over one
  for (int64_t mode = 0; mode < 3; ++mode) {
    for (int64_t border = 0; border < 3; ++border) {
      for (bool corners : {false, true}) {
        SCOPED_TRACE(mode * 100 + border * 10 + corners);
        const Tensor grid =
            (rand({1, 2, 2, 2}, TensorOptions().dtype(kDouble)) * 3 - 1.5).set_requires_grad(true);
        check_gradients(
            [=](const Inputs& v) {
              return Inputs{grid_sampler(v[0], v[1], mode, border, corners)};
            },
            {leaf({1, 2, 3, 3}), grid});
        const Tensor deep = (rand({1, 1, 2, 1, 3}, TensorOptions().dtype(kDouble)) * 3 - 1.5)
                                .set_requires_grad(true);
        check_gradients(
            [=](const Inputs& v) {
              return Inputs{grid_sampler(v[0], v[1], mode, border, corners)};
            },
            {leaf({1, 1, 2, 3, 2}), deep});
      }
    }
  }
}

TEST(Grid, IdentityGivesTheImageBack) {
  const Tensor theta = tensor({1., 0., 0., 0., 1., 0.}).reshape({1, 2, 3}), x = randn({1, 3, 5, 7});
  for (bool corners : {false, true}) {
    const Tensor grid = F::affine_grid(theta.to(kFloat), {1, 3, 5, 7}, corners);
    const Tensor y = F::grid_sample(x, grid, F::GridSampleFuncOptions().align_corners(corners));
    EXPECT_LT((y - x).abs().max().item<double>(), 1e-5);
  }
}

TEST(Grid, WhatIsNowhereIsZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               far = std::numeric_limits<double>::infinity();
  const Tensor grid = tensor({nan, 0., far, 0., -1e300, 0.}).reshape({1, 1, 3, 2}).to(kDouble);
  const Tensor x = ones({1, 1, 2, 2}, TensorOptions().dtype(kDouble));
  for (int64_t mode = 0; mode < 3; ++mode) {
    EXPECT_TRUE(equal(grid_sampler(x, grid, mode, 0, false),
                      zeros({1, 1, 1, 3}, TensorOptions().dtype(kDouble))));
  }
  EXPECT_TEXT(grid_sampler(x, ones({1, 2, 2, 3}, TensorOptions().dtype(kDouble)), 0, 0, false),
              "size 2 in last");
  EXPECT_TEXT(grid_sampler(x, ones({1, 2, 2, 2}), 0, 0, false), "same dtype");
}

TEST(Pixels, ShufflesUndoEachOther) {
  const Tensor x = randn({2, 8, 3, 5});
  EXPECT_TRUE(equal(pixel_unshuffle(pixel_shuffle(x, 2), 2), x));
  EXPECT_TRUE(equal(channel_shuffle(channel_shuffle(x, 2), 4), x));
  EXPECT_TEXT(pixel_shuffle(x, 3), "divisible by the square of upscale_factor");
  EXPECT_TEXT(pixel_unshuffle(x, 2), "divisible by downscale_factor");
}
