// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that take whole vectors, lines or blocks at a time, against plain loops or the same op in
// small pieces.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;

namespace {

// The windows that lie inside of a plane, one after the other.
void expect_pooled(const Tensor& x, int64_t kernel, int64_t stride) {
  const auto [values, indices] = max_pool2d_with_indices(x, kernel, stride);
  const int64_t width = x.size(3), wide = values.size(3), high = values.size(2);
  for (int64_t q = 0; q < x.size(0) * x.size(1); ++q) {
    const float* plane = x.data_ptr<float>() + q * x.size(2) * width;
    for (int64_t o = 0; o < high * wide; ++o) {
      int64_t best = o / wide * stride * width + o % wide * stride;
      const int64_t first = best;
      for (int64_t t = 0; t < kernel * kernel; ++t) {
        const int64_t at = first + t / kernel * width + t % kernel;
        if (std::isnan(plane[at]) || plane[at] > plane[best]) best = at;
      }
      EXPECT_EQ(indices.data_ptr<int64_t>()[q * high * wide + o], best);
      const float got = values.data_ptr<float>()[q * high * wide + o];
      EXPECT_TRUE(got == plane[best] || (std::isnan(got) && std::isnan(plane[best])));
    }
  }
}

void expect_depthwise(int64_t height, int64_t width, int64_t pad) {
  const Tensor x = randn({2, 3, height, width}), w = randn({3, 1, 3, 3}), b = randn({3});
  const Tensor got = conv2d(x, w, b, 1, pad, 1, 3);
  const Tensor wide = constant_pad_nd(x, {pad, pad, pad, pad}).to(kFloat64);
  const int64_t high = height + 2 * pad - 2, broad = width + 2 * pad - 2;
  Tensor sum = b.to(kFloat64).view({1, 3, 1, 1}).expand({2, 3, high, broad}).clone();
  for (int64_t t = 0; t < 9; ++t) {
    const Tensor tap = w.select(3, t % 3).select(2, t / 3).to(kFloat64).view({1, 3, 1, 1});
    sum += wide.narrow(2, t / 3, high).narrow(3, t % 3, broad) * tap;
  }
  EXPECT_LT((got.to(kFloat64) - sum).abs().max().item<double>(), 1e-5)
      << height << " x " << width << ", pad " << pad;
}

}  // namespace

TEST(WholeVectors, MaxPoolTakesTheFirstLargestAndTheLastNaN) {
  for (int64_t width : {6, 9, 17, 40, 56, 67}) {
    for (int64_t kernel : {2, 3}) {
      for (int64_t stride : {1, 2, 3}) {
        Tensor x = randint(0, 5, {2, 2, 7, width}).to(kFloat32);
        x.view({-1}).slice(0, 3, std::nullopt, 23).fill_(std::numeric_limits<double>::quiet_NaN());
        expect_pooled(x, kernel, stride);
      }
    }
  }
}

TEST(WholeVectors, DepthwiseConvolutionAddsItsTaps) {
  for (int64_t height : {4, 6, 11}) {
    for (int64_t width : {5, 9, 18, 35, 56}) {
      for (int64_t pad : {0, 1, 2}) expect_depthwise(height, width, pad);
    }
  }
}

// Rows of one operand with one value of the other, on either side.
TEST(WholeVectors, RowsWithOneValue) {
  const Tensor x = randn({3, 40, 7, 7}), s = randn({3, 40, 1, 1});
  const Tensor wide = s.expand_as(x).contiguous();
  EXPECT_TRUE(equal(x * s, x * wide));
  EXPECT_TRUE(equal(s * x, x * wide));
  EXPECT_TRUE(equal(x - s, x - wide));
  EXPECT_TRUE(equal(s - x, wide - x));
  EXPECT_TRUE(equal(pow(s.abs(), x), pow(wide.abs(), x)));
  EXPECT_TRUE(equal(x < s, x < wide));
  EXPECT_TRUE(equal(s < x, wide < x));
  const Tensor n = arange(5880).view({3, 40, 7, 7}), m = arange(120).view({3, 40, 1, 1});
  EXPECT_TRUE(equal(m * n, n * m.expand_as(n).contiguous()));
}

TEST(WholeVectors, CumsumAddsFourNeighborsFirst) {
  const Tensor x = randn({1003}), y = x.cumsum(0);
  const float *in = x.data_ptr<float>(), *out = y.data_ptr<float>();
  double before = 0;
  for (int i = 0; i + 4 <= 1003; i += 4) {
    const double pair = static_cast<double>(in[i]) + in[i + 1],
                 other = static_cast<double>(in[i + 2]) + in[i + 3];
    EXPECT_EQ(out[i], static_cast<float>(before + in[i]));
    EXPECT_EQ(out[i + 1], static_cast<float>(before + pair));
    EXPECT_EQ(out[i + 2], static_cast<float>(before + (pair + in[i + 2])));
    before += pair + other;
    EXPECT_EQ(out[i + 3], static_cast<float>(before));
  }
  for (int i = 1000; i < 1003; ++i) EXPECT_EQ(out[i], static_cast<float>(before += in[i]));
}

TEST(WholeVectors, NonzeroFindsEachOfManyBlocks) {
  for (double share : {0.0, 0.01, 0.5, 1.0}) {
    const Tensor x = rand({50003}) < share, at = x.nonzero();
    std::vector<int64_t> wanted;
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (x.data_ptr<bool>()[i]) wanted.push_back(i);
    }
    ASSERT_EQ(at.numel(), static_cast<int64_t>(wanted.size()));
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), at.data_ptr<int64_t>()));
  }
}

TEST(WholeVectors, EmbeddingGradientOfManyRowsAddsInOrder) {
  const int64_t rows = 20000, width = 48;
  const Tensor at = randint(0, rows, {3000}, kLong) % 4000 * 5, grad = randn({3000, width});
  const Tensor got = embedding_dense_backward(grad, at, rows, -1, false);
  EXPECT_TRUE(test::same_bits(got, zeros({rows, width}).index_add(0, at, grad)));
  const Tensor skipped = embedding_dense_backward(grad, at, rows, 5, false);
  EXPECT_EQ(skipped[5].abs().sum().item<float>(), 0.0f);
  EXPECT_TRUE(test::same_bits(skipped.narrow(0, 6, 1000), got.narrow(0, 6, 1000)));
  const Tensor one = full({1, 1}, 0.3).expand({3000, width});
  for (bool by_frequency : {false, true}) {
    EXPECT_TRUE(
        test::same_bits(embedding_dense_backward(one, at, rows, -1, by_frequency),
                        embedding_dense_backward(one.contiguous(), at, rows, -1, by_frequency)));
  }
}

TEST(WholeVectors, IndicesAreCheckedBeforeRowsAreRead) {
  const Tensor table = randn({50, 8});
  for (int64_t wrong : {int64_t{-1}, int64_t{50}, std::numeric_limits<int64_t>::max()}) {
    Tensor at = randint(0, 50, {1000}, kLong);
    at[777] = wrong;
    EXPECT_THROW(embedding(table, at), IndexError);
    EXPECT_THROW(table.index_select(0, at), IndexError);
  }
  Tensor at = arange(49, -1, -1), numbers = arange(50) * 3;
  index_select_out(at, numbers, 0, at);  // what is written is what is read
  EXPECT_TRUE(at.equal((49 - arange(50)) * 3));
}

TEST(WholeVectors, SumOverManyRows) {
  for (int64_t width : {5, 130, 2100}) {
    const Tensor x = randn({1500, width});
    EXPECT_LT((x.sum(0).to(kFloat64) - x.to(kFloat64).sum(0)).abs().max().item<double>(), 1e-3);
    EXPECT_TRUE(x.to(kInt32).sum(0).equal(x.to(kInt32).t().contiguous().sum(1)));
  }
}

TEST(WholeVectors, BatchNormGradientOfAnExpandedNumber) {
  const Tensor x = randn({3, 5, 4, 7}), w = randn({5}), mean = randn({5}), rstd = rand({5}) + 0.5;
  const Tensor one = full({}, 0.7).expand_as(x);
  const auto f = [&](const Tensor& g, const Tensor& input) {
    return native_batch_norm_backward(g, input, w, {}, {}, mean, rstd, true, 1e-5,
                                      {true, true, true});
  };
  const auto got = f(one, x), dense = f(one.contiguous(), x),
             strided = f(one, x.transpose(0, 3).contiguous().transpose(0, 3));
  EXPECT_TRUE(test::same_bits(std::get<0>(got), std::get<0>(dense)));
  EXPECT_TRUE(test::same_bits(std::get<1>(got), std::get<1>(dense)));
  EXPECT_TRUE(test::same_bits(std::get<2>(got), std::get<2>(dense)));
  EXPECT_TRUE(test::same_bits(std::get<0>(strided).contiguous(), std::get<0>(dense)));
}

TEST(WholeVectors, RmsNormOfMoreThanCachesHold) {
  const Tensor x = randn({8200, 1028}), w = randn({1028});
  const Tensor y = rms_norm(x, {1028}, w);
  for (int64_t row : {0, 4099, 8197}) {
    EXPECT_TRUE(test::same_bits(y.narrow(0, row, 3), rms_norm(x.narrow(0, row, 3), {1028}, w)));
  }
}

TEST(WholeVectors, LayerNormOfMoreThanCachesHold) {
  const Tensor x = randn({8200, 1028}), w = randn({1028}), b = randn({1028});
  const Tensor y = layer_norm(x, {1028}, w, b);
  for (int64_t row : {0, 4099, 8197}) {
    EXPECT_TRUE(
        test::same_bits(y.narrow(0, row, 3), layer_norm(x.narrow(0, row, 3), {1028}, w, b)));
  }
}
