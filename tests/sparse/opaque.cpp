// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of sparse tensors on a device whose memory has no addresses equal those of the host.
#include "tests/runtime/fake_device.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using test::expect_equal;
using test::ints;

class SparseOpaque : public testing::Test {
 protected:
  test::FakeDevice fake_{"opaque_sparse", TN_DEVICE_OPAQUE};
};

Tensor leaf_on(Device device) {
  const Tensor values = tensor({1., 2., 3., 4.}).to(kDouble);
  return sparse_coo_tensor(ints({2, 1, 0, 1, 0, 2, 3, 2}, {2, 4}), values, {3, 4})
      .to(device)
      .requires_grad_();
}

// The gradient after two uses of the leaf, which is summed at equal places, and after a second
// call, which adds to it.
Tensor gradient_on(Device device) {
  const Tensor leaf = leaf_on(device),
               dense = arange(0, 12, TensorOptions(kDouble)).reshape({3, 4}).to(device);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = leaf * 2;
    ((x + x * 3).to_dense() * dense).sum().backward();
  }
  return leaf.grad();
}

}  // namespace

TEST_F(SparseOpaque, GradientsAreThoseOfTheHost) {
  const Tensor there = gradient_on(Device("opaque_sparse")), here = gradient_on(kCPU);
  EXPECT_EQ(there.layout(), kSparse);
  EXPECT_EQ(there.device().type(), Device("opaque_sparse").type());
  expect_equal(there, here);
}

TEST_F(SparseOpaque, ProductsToo) {
  const auto gradient = [](Device device) {
    const Tensor leaf = leaf_on(device),
                 dense = arange(0, 8, TensorOptions(kDouble)).reshape({4, 2}).to(device);
    mm(leaf, dense).sum().backward();
    return leaf.grad();
  };
  expect_equal(gradient(Device("opaque_sparse")), gradient(kCPU));
}

}  // namespace tenon
