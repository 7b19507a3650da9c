// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The storage-only dtypes: unsigned integers of more than 8 bits, floats of 8 bits, complex32.
// Tensors of them are made, moved, converted and computed with, in another dtype.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tenon/creation.h"
#include "tenon/dlpack.h"
#include "tenon/npy.h"
#include "tenon/ops.h"
#include "tenon/print.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

namespace tenon {
namespace {

constexpr ScalarType kFloats[] = {kFloat8_e5m2, kFloat8_e4m3fn, kFloat8_e5m2fnuz, kFloat8_e4m3fnuz};
constexpr ScalarType kUnsigned[] = {kUInt16, kUInt32, kUInt64};

TEST(StorageDtypes, EveryPairConverts) {
  std::vector<ScalarType> all(std::begin(core::kBuiltInDtypes), std::end(core::kBuiltInDtypes));
  all.insert(all.end(), std::begin(core::kStorageDtypes), std::end(core::kStorageDtypes));
  for (const ScalarType from : core::kStorageDtypes) {
    for (const ScalarType to : all) {
      // Powers of two: the least of the formats has no others.
      const Tensor x = tensor({1, 2, 4}).to(from);
      ASSERT_EQ(x.element_size(), elementSize(from));
      const Tensor there = x.to(to), back = there.to(from);
      ASSERT_EQ(there.scalar_type(), to);
      const Tensor expected = to == kBool ? ones({3}, kLong) : tensor({1, 2, 4});
      EXPECT_TRUE(equal(there.to(kLong), expected)) << dtype_name(from) << ' ' << dtype_name(to);
      EXPECT_TRUE(equal(back.to(kLong), expected)) << dtype_name(from) << ' ' << dtype_name(to);
    }
  }
}

TEST(StorageDtypes, NumbersOfAllBits) {
  const auto top = std::numeric_limits<uint64_t>::max();
  uint64_t values[] = {0, 1, uint64_t{1} << 63, top};
  const Tensor x = from_blob(values, {4}, TensorOptions(kUInt64));
  EXPECT_EQ(x[3].item<uint64_t>(), top);
  EXPECT_EQ(x.data_ptr<uint64_t>()[2], uint64_t{1} << 63);
  EXPECT_TRUE(equal(x.to(kDouble), tensor({0., 1., 0x1p63, 0x1p64}, TensorOptions(kDouble))));
  EXPECT_TRUE(
      equal((x + 1).to(kLong), tensor({1, 2, 0, 0}) +
                                   tensor({0, 0, 1, 0}) * std::numeric_limits<int64_t>::min() +
                                   tensor({0, 0, 1, 0})));
  const Tensor wide = tensor({65535, 4}).to(kUInt16);
  EXPECT_EQ(wide[0].item<int64_t>(), 65535);
  EXPECT_EQ((wide + 1)[0].item<int64_t>(), 0);  // as unsigned numbers of C++
  EXPECT_EQ((wide > 5).sum().item<int64_t>(), 1);
  EXPECT_EQ(wide.sum().item<int64_t>(), 65539);
  EXPECT_TRUE(equal(bitwise_and(wide, tensor({255, 255}).to(kUInt16)).to(kLong), tensor({255, 4})));
}

TEST(StorageDtypes, OperatorsComputeInAnotherDtype) {
  const Tensor x = tensor({1., 2., 3., 4.}, TensorOptions(kFloat)).reshape({2, 2});
  for (const ScalarType t : kFloats) {
    const Tensor y = x.to(t);
    EXPECT_EQ((y + y).scalar_type(), t);
    EXPECT_TRUE(equal((y + y).to(kFloat), x + x));
    EXPECT_TRUE(equal(y.mm(y).to(kFloat), x.mm(x).to(t).to(kFloat)));
    EXPECT_EQ((y + x).scalar_type(), kFloat);
    EXPECT_TRUE(equal(y.t().contiguous().to(kFloat), x.t()));
    EXPECT_TRUE(equal(cat({y, y.t()}).to(kFloat), cat({x, x.t()})));
    EXPECT_TRUE(equal(y.index_select(0, tensor({1, 0})).to(kFloat), x.flip(0)));
    EXPECT_TRUE(equal(y.unsqueeze(0).expand({3, 2, 2}).clone().to(kFloat),
                      x.unsqueeze(0).expand({3, 2, 2})));
    Tensor z = y.clone();
    z.select(1, 0).fill_(8);
    EXPECT_TRUE(equal(z.to(kFloat), tensor({8., 2., 8., 4.}, TensorOptions(kFloat)).view({2, 2})));
    EXPECT_TRUE(y.is_floating_point());
    EXPECT_TRUE(equal(y.view(kByte).view(t), y));
  }
  for (const ScalarType t : kUnsigned) {
    EXPECT_TRUE(equal(arange(5, TensorOptions(t)).to(kLong), arange(5)));
    EXPECT_TRUE(equal(full({2}, 7, TensorOptions(t)).to(kLong), full({2}, 7, kLong)));
    EXPECT_EQ((x.to(t) / x.to(t)).scalar_type(), kFloat);
    EXPECT_TRUE(equal(x.to(t).floor_divide(2).to(kLong), tensor({0, 1, 1, 2}).view({2, 2})));
  }
}

TEST(StorageDtypes, ScaledProducts) {
  const Tensor a = (rand({3, 4}) * 8).to(kFloat8_e4m3fn), b = (rand({4, 5}) * 8).to(kFloat8_e5m2);
  const Tensor two = tensor(2.f), three = tensor(3.f);
  const Tensor expected = (a.to(kFloat) * 2).mm(b.to(kFloat) * 3);
  EXPECT_TRUE(equal(_scaled_mm(a, b, two, three, {}, {}, kFloat), expected));
  EXPECT_EQ(_scaled_mm(a, b, two, three).scalar_type(), kFloat8_e4m3fn);
  const Tensor rows = rand({3, 1}), columns = rand({1, 5}), bias = rand({5});
  EXPECT_TRUE(allclose(_scaled_mm(a, b, rows, columns, bias, {}, kFloat),
                       a.to(kFloat).mm(b.to(kFloat)) * rows * columns + bias));
  test::expect_words(test::text_of<ValueError>([&] { _scaled_mm(a, b, rows, three); }),
                     {"Invalid scaling configuration", "[3, 1]"});
}

TEST(StorageDtypes, ComplexNumbersOfHalves) {
  const Tensor re = tensor({1., -2.}, TensorOptions(kHalf)), im = tensor({0.5, 4.}, kHalf);
  const Tensor z = tenon::complex(re.to(kFloat), im.to(kFloat)).to(kComplexHalf);
  EXPECT_TRUE(z.is_complex());
  EXPECT_EQ(z.element_size(), 4u);
  EXPECT_TRUE(equal(view_as_real(z), stack({re, im}, 1)));
  EXPECT_TRUE(equal(tenon::real(z), re));
  EXPECT_TRUE(equal((z * z).to(kComplexFloat), z.to(kComplexFloat) * z.to(kComplexFloat)));
  EXPECT_TRUE(equal(re.chalf().to(kComplexFloat), re.to(kComplexFloat)));
  EXPECT_EQ((z + 1).scalar_type(), kComplexHalf);
  EXPECT_EQ((z + ones({2})).scalar_type(), kComplexFloat);
}

// Values of torch 2.15.
TEST(StorageDtypes, HashesAreUint64) {
  const auto bits = [](const Tensor& t) { return t.item<uint64_t>(); };
  EXPECT_EQ(bits(hash_tensor(tensor({1.5, 2., -3.}, kFloat))), 0xbff0000000000000u);
  EXPECT_EQ(bits(hash_tensor(tensor({1, 2, -7}).to(kChar))), 0xfffffffffffffffau);
  EXPECT_EQ(bits(hash_tensor(tensor({true, false, true}))), 0u);
  EXPECT_EQ(bits(hash_tensor(tensor(1.5, kBFloat16))), 0x3ff8000000000000u);
  const Tensor x = arange(12, kFloat).view({3, 4}), rows = hash_tensor(x, {1});
  EXPECT_EQ(rows.scalar_type(), kUInt64);
  EXPECT_TRUE(equal(rows.view(kLong), tensor({4609434218613702656, int64_t{0}, int64_t{0}})));
  EXPECT_EQ(hash_tensor(x, {0, 1}, true).sizes(), IntArrayRef({1, 1}));
  EXPECT_EQ(hash_tensor(zeros({0, 3}), {1}).sizes(), IntArrayRef({0}));
  test::expect_words(test::text_of<IndexError>([] {
                       hash_tensor(zeros({0, 3}), {0});
                     }),
                     {"reduction dim 0", "non-zero size"});
  test::expect_words(test::text_of<ValueError>([&] { hash_tensor(x, {}, false, 1); }),
                     {"Unknown hash_tensor mode: 1"});
}

TEST(StorageDtypes, GradientsPassThroughConversions) {
  const Tensor x = tensor({1., 2.}, TensorOptions(kFloat)).requires_grad_();
  const Tensor y = x.to(kFloat8_e4m3fn);
  (y.to(kFloat) * tensor({3., 5.}, TensorOptions(kFloat))).sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({3., 5.}, TensorOptions(kFloat))));
}

TEST(StorageDtypes, Print) {
  EXPECT_EQ(to_text(tensor({1., 2.5}, TensorOptions(kFloat)).to(kFloat8_e5m2)),
            "tensor([1.0000, 2.5000], dtype=float8_e5m2)");
  EXPECT_EQ(to_text(tensor({1, 65535}).to(kUInt16)), "tensor([    1, 65535], dtype=uint16)");
  EXPECT_EQ(to_text(tensor({1, 3}, TensorOptions(kFloat8_e4m3fn))),
            "tensor([1., 3.], dtype=float8_e4m3fn)");
}

TEST(StorageDtypes, GoThroughDlpack) {
  for (const ScalarType t : core::kStorageDtypes) {
    const Tensor x = tensor({1, 2, 4}).to(t), y = fromDLPack(toDLPack(x));
    EXPECT_EQ(y.scalar_type(), t);
    EXPECT_TRUE(equal(x.to(kComplexFloat), y.to(kComplexFloat)));
    EXPECT_EQ(y.data_ptr(), x.data_ptr());
  }
}

TEST(StorageDtypes, RefuseWhatNoDtypeHolds) {
  test::expect_words(test::text_of<TypeError>([] {
                       (void)(ones({2}, TensorOptions(kUInt64)) + ones({2}, TensorOptions(kLong)));
                     }),
                     {"no dtype holds both uint64 and int64"});
  test::expect_words(test::text_of<TypeError>(
                         [] { (void)ones({2}, TensorOptions(kFloat8_e5m2)).data_ptr<float>(); }),
                     {"data_ptr", "float32", "float8_e5m2"});
}

}  // namespace
}  // namespace tenon
