// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 1, 6 to 10 and 12 to 17: types, scalars and factories of the migration guide of 0.4.
#include "tenon/compat/legacy.h"
#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

TEST(Samples, S01_TheTypeOfATensor) {
  static_assert(std::is_same_v<Variable, Tensor>);
  const Tensor x = legacy::DoubleTensor({1, 1, 1});
  EXPECT_EQ(x.type(), "tenon.DoubleTensor");
  EXPECT_TRUE(x.is_type("tenon.DoubleTensor"));
  EXPECT_FALSE(x.is_type("tenon.FloatTensor"));
  EXPECT_TRUE(equal(x, ones({3}, kDouble)));
}

TEST(Samples, S06_AScalar) {
  compat::Era04 era;
  EXPECT_EQ(printed(tensor(3.1416)), "tensor(3.1416)");
  EXPECT_EQ(printed(tensor(3.1416).sizes()), "[]");
}

TEST(Samples, S07_AVectorOfOne) { EXPECT_EQ(printed(tensor({3}).sizes()), "[1]"); }

TEST(Samples, S08_ArangeGivesFloats) {
  compat::Era04 era;
  const Tensor vector = arange(2, 6);
  EXPECT_EQ(printed(vector), "tensor([ 2.,  3.,  4.,  5.])");
  EXPECT_EQ(printed(vector.sizes()), "[4]");
}

TEST(Samples, S09_IndexingGivesAScalar) {
  compat::Era04 era;
  const Tensor vector = arange(2, 6);
  EXPECT_EQ(printed(vector[3]), "tensor(5.)");
  EXPECT_EQ(vector[3].item<double>(), 5.0);
}

TEST(Samples, S10_ASumIsAScalar) {
  compat::Era04 era;
  const Tensor mysum = tensor({2, 3}).sum();
  EXPECT_EQ(printed(mysum), "tensor(5)");
  EXPECT_EQ(printed(mysum.sizes()), "[]");
}

TEST(Samples, S12_DeviceAndDtypeOfAFactory) {
  compat::Era04 era;
  const Device device = gpu_or_host(1);
  const Tensor x = randn({3, 3}, TensorOptions(kDouble).device(device));
  EXPECT_FALSE(x.requires_grad());
  const std::string row = R"(\[( |-)\d\.\d{4}, ( |-)\d\.\d{4}, ( |-)\d\.\d{4}\])",
                    gap = ",\n        ", suffix = device.is_cpu() ? "" : ", device='cuda:1'";
  const std::string text = printed(x.clamp(-9, 9));
  EXPECT_EQ(text.rfind("tensor([[", 0), 0u) << text;
  EXPECT_EQ(text.substr(text.find("]]")), "]], dtype=float64" + suffix + ")");
  std::size_t digits = 0;
  for (std::size_t at = text.find('.'); at != text.npos; at = text.find('.', at + 1))
    digits += text.find_first_of(",]", at) - at - 1;
  EXPECT_EQ(digits, 9u * 4) << text;
  EXPECT_EQ(x.device(), device);
}

TEST(Samples, S13_AFactoryWithRequiresGrad) {
  EXPECT_TRUE(zeros({3}, requires_grad()).requires_grad());
}

// The source shows integers without a suffix there, which no version printed of halves.
TEST(Samples, S14_AColumnOnTheDevice) {
  compat::Era04 era;
  const Device cuda = gpu_or_host();
  const Tensor column = tensor({{1}, {2}, {3}}, TensorOptions(kHalf).device(cuda));
  EXPECT_EQ(printed(column),
            std::string("tensor([[ 1.],\n        [ 2.],\n        [ 3.]], dtype=float16") +
                (cuda.is_cpu() ? ")" : ", device='cuda:0')"));
}

TEST(Samples, S15_DtypesOfData) {
  compat::Era04 era;
  EXPECT_EQ(printed(tensor(1)), "tensor(1)");
  EXPECT_EQ(tensor(1).scalar_type(), kLong);
  EXPECT_EQ(printed(tensor({1, 2.3})), "tensor([ 1.0000,  2.3000])");
  EXPECT_EQ(tensor({1, 2.3}).scalar_type(), kFloat);
  EXPECT_EQ(printed(tensor({1, 2})), "tensor([ 1,  2])");
}

TEST(Samples, S16_LikeAnother) {
  compat::Era04 era;
  const Tensor x = randn({3}, kDouble);
  EXPECT_EQ(printed(zeros_like(x)), "tensor([ 0.,  0.,  0.], dtype=float64)");
  EXPECT_EQ(printed(zeros_like(x, kInt)), "tensor([ 0,  0,  0], dtype=int32)");
}

TEST(Samples, S17_NewOfAnother) {
  compat::Era04 era;
  const Tensor x = randn({3}, kDouble);
  EXPECT_EQ(printed(x.new_ones({2})), "tensor([ 1.,  1.], dtype=float64)");
  EXPECT_EQ(printed(x.new_ones({4}, kInt)), "tensor([ 1,  1,  1,  1], dtype=int32)");
}

}  // namespace
}  // namespace tenon::samples
