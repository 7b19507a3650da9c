// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of pooling by indices that no window has, and replays.
#include "tenon/graph.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaPool = Cuda;

// Planes of `side` squared elements under windows of two by two.
Tensor gradient(const Tensor& grad, int64_t side, const Tensor& indices) {
  const Tensor self = zeros({1, 2, side, side}, grad.options());
  return max_pool2d_with_indices_backward(grad, self, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false,
                                          indices);
}

TEST_F(CudaPool, IndicesMayNameElementsOfOtherWindows) {
  const int64_t side = 50, half = side / 2;  // more elements than a tile of sums
  const Tensor grad = arange(2 * half * half, kFloat).reshape({1, 2, half, half});
  const Tensor anywhere =
      arange(2 * half * half, kLong).mul(7919).remainder(side * side).reshape({1, 2, half, half});
  const Tensor one = full({1, 2, half, half}, 1300, kLong);
  for (const Tensor& indices : {anywhere, one}) {
    EXPECT_TRUE(equal(gradient(grad.to(kCUDA), side, indices.to(kCUDA)).cpu(),
                      gradient(grad, side, indices)));
  }
}

TEST_F(CudaPool, AnIndexOutsideOfThePlaneIsRaisedAndTheDeviceLives) {
  const Tensor grad = ones({1, 2, 1, 1}, kCUDA);
  for (int64_t wrong : {4, -1}) {
    const auto bad = [&] {
      (void)gradient(grad, 2, full({1, 2, 1, 1}, wrong, kLong).to(kCUDA));
      core::synchronize(cuda_id());
    };
    const std::string number = std::to_string(wrong);
    expect_words(text_of<IndexError>(bad), {"max_pool2d_with_indices_backward", number.c_str()});
  }
  EXPECT_TRUE(equal(grad.add(1).cpu(), full({1, 2, 1, 1}, 2, kFloat)));
}

// The count of matches starts from zero in every replay.
TEST_F(CudaPool, AReplayPoolsNewValues) {
  const Tensor x = zeros({1, 2, 6, 6}, kCUDA);
  Tensor dx;
  const auto step = [&](const Tensor& v) {
    auto [y, indices] = max_pool2d_with_indices(v, {2, 2});
    return max_pool2d_with_indices_backward(y, v, {2, 2}, {2, 2}, {0, 0}, {1, 1}, false, indices);
  };
  Graph g;
  g.capture_begin();
  dx = step(x);
  g.capture_end();
  for (int seed = 1; seed < 4; ++seed) {
    const Tensor v = arange(72, kFloat).mul(seed * 5).remainder(37).reshape({1, 2, 6, 6});
    x.copy_(v);
    g.replay();
    EXPECT_TRUE(equal(dx.cpu(), step(v))) << seed;
  }
}

}  // namespace
}  // namespace tenon::test
