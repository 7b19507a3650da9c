// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/dlpack.h"

#include <gtest/gtest.h>

#include "tenon/dlpack_abi.h"
#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using test::expect_words;
using test::text_of;

namespace {

// A producer's tensor of four floats, which counts the calls of its deleter.
template <class Managed>
struct Produced {
  Produced() {
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Produced*>(self->manager_ctx)->deleted; };
    managed.dl_tensor = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, sizes, nullptr, 4};
  }
  float data[4] = {1, 2, 3, 4};
  int64_t sizes[1] = {3};
  Managed managed{};
  int deleted = 0;
};

TEST(Dlpack, ATensorGoesOutWithoutACopy) {
  const Tensor x = arange(12, kFloat32).reshape({3, 4}).narrow(1, 1, 2).t();
  DLManagedTensor* m = toDLPack(x);
  const DLTensor& t = m->dl_tensor;
  EXPECT_EQ(static_cast<char*>(t.data) + t.byte_offset, static_cast<char*>(x.data_ptr()));
  EXPECT_EQ(t.device.device_type, kDLCPU);
  EXPECT_EQ(IntArrayRef(t.shape, 2), x.sizes());
  EXPECT_EQ(IntArrayRef(t.strides, 2), x.strides());
  EXPECT_EQ(t.dtype.code, kDLFloat);
  EXPECT_EQ(t.dtype.bits, 32);
  m->deleter(m);
}

TEST(Dlpack, TheMemoryLivesUntilTheDeleter) {
  Tensor x = ones({1000});
  DLManagedTensor* m = toDLPack(x);
  x = Tensor();
  Tensor y = fromDLPack(m);  // its own consumer
  EXPECT_EQ(y.sum().item<float>(), 1000);
}

TEST(Dlpack, DtypesGoThereAndBack) {
  for (const ScalarType t : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat,
                             kDouble, kComplexFloat, kComplexDouble}) {
    const Tensor x = arange(6).remainder(2).to(t).reshape({2, 3});
    const Tensor y = fromDLPackVersioned(toDLPackVersioned(x));
    EXPECT_EQ(y.scalar_type(), t);
    EXPECT_EQ(y.data_ptr(), x.data_ptr());
    EXPECT_TRUE(equal(x, y)) << toString(t);
  }
}

TEST(Dlpack, AProducersTensorComesInWithItsOffset) {
  Produced<DLManagedTensor> p;
  {
    Tensor x = fromDLPack(&p.managed);
    EXPECT_TRUE(equal(x, tensor({2.f, 3.f, 4.f})));
    x.mul_(2);
    const Tensor view = x.narrow(0, 1, 1);
    x = Tensor();
    EXPECT_EQ(p.deleted, 0);
  }
  EXPECT_EQ(p.deleted, 1);
  EXPECT_EQ(p.data[1], 4);
}

TEST(Dlpack, ReadOnlyMemoryIsCopied) {
  Produced<DLManagedTensorVersioned> p;
  p.managed.version = {1, 0};
  p.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  Tensor x = fromDLPackVersioned(&p.managed);
  EXPECT_EQ(p.deleted, 1);
  x.zero_();
  EXPECT_EQ(p.data[1], 2);
}

TEST(Dlpack, FlagsGoOut) {
  const Tensor x = ones({2});
  DLManagedTensorVersioned* m = toDLPackVersioned(x, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(m->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  EXPECT_EQ(m->version.major, 1u);
  EXPECT_EQ(m->dl_tensor.data, x.data_ptr());
  m->deleter(m);
  m = toDLPackVersioned(x, DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_EQ(m->flags, DLPACK_FLAG_BITMASK_IS_COPIED);
  EXPECT_NE(m->dl_tensor.data, x.data_ptr());
  m->deleter(m);
}

// The caller keeps what is refused.
TEST(Dlpack, RefusesWhatItCannotHold) {
  Produced<DLManagedTensorVersioned> p;
  p.managed.version = {2, 0};
  expect_words(text_of<ValueError>([&] { fromDLPackVersioned(&p.managed); }), {"version 2.0"});
  p.managed.version = {1, 0};
  p.managed.dl_tensor.dtype.lanes = 2;
  expect_words(text_of<NotImplementedError>([&] { fromDLPackVersioned(&p.managed); }), {"2 lanes"});
  p.managed.dl_tensor.dtype.lanes = 1;
  p.sizes[0] = -1;
  expect_words(text_of<ValueError>([&] { fromDLPackVersioned(&p.managed); }), {"negative"});
  expect_words(text_of<ValueError>([] { fromDLPack(nullptr); }), {"null"});
  EXPECT_EQ(p.deleted, 0);
}

}  // namespace
