// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/tensor_impl.h"

#include "tenon/core/layout.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <vector>

#include "tenon/runtime/error.h"
#include "tests/runtime/fake_device.h"

using namespace tenon;
using core::Impl;
using core::new_tensor;
using core::Storage;
using core::TensorImpl;
using Sizes = std::vector<int64_t>;

namespace {
Impl make(const Sizes& sizes, ScalarType dtype = kFloat) {
  return new_tensor("test", dtype, core::kHost, static_cast<int>(sizes.size()), sizes.data());
}
Impl over(const Impl& base, const Sizes& sizes, const Sizes& strides, uint64_t bytes = 0) {
  return TensorImpl::make(base->dtype, base->storage, bytes, static_cast<int>(sizes.size()),
                          sizes.data(), strides.data());
}
uint32_t flags(const Sizes& sizes, const Sizes& strides) {
  static Impl base = make({1000});
  return over(base, sizes, strides)->view.flags & (TN_TENSOR_CONTIGUOUS | TN_TENSOR_OVERLAPPING);
}
}  // namespace

TEST(TensorImpl, TheViewDescribesTheTensor) {
  Impl t = make({2, 3, 4}, kDouble);
  EXPECT_EQ(t->numel, 24);
  EXPECT_EQ(t->strides().vec(), (Sizes{12, 4, 1}));
  EXPECT_EQ(t->view.ndim, 3);
  EXPECT_EQ(t->view.data, t->storage->data);
  EXPECT_EQ(t->view.storage, &t->storage->head);
  EXPECT_EQ(t->view.device.type, TN_CPU);
  EXPECT_EQ(t->view.dtype.bits, 64);
  EXPECT_EQ(t->storage->bytes, 192u);
  EXPECT_EQ(TensorImpl::from_view(&t->view), t.get());
  EXPECT_EQ(t->device(), Device(kCPU));
  EXPECT_TRUE(t->contiguous());
}

TEST(TensorImpl, ScalarsAndEmptyTensors) {
  Impl scalar = make({});
  EXPECT_EQ(scalar->numel, 1);
  EXPECT_EQ(scalar->storage->bytes, 4u);
  Impl empty = make({3, 0, 2});
  EXPECT_EQ(empty->numel, 0);
  EXPECT_EQ(empty->strides().vec(), (Sizes{2, 2, 1}));
  EXPECT_TRUE(empty->contiguous());
}

TEST(TensorImpl, FlagsFollowTheStrides) {
  EXPECT_EQ(flags({2, 3}, {3, 1}), TN_TENSOR_CONTIGUOUS);
  EXPECT_EQ(flags({2, 3}, {1, 2}), 0u);
  EXPECT_EQ(flags({1, 3}, {77, 1}), TN_TENSOR_CONTIGUOUS)
      << "the stride of one element does not matter";
  EXPECT_EQ(flags({2, 3}, {6, 2}), 0u);
  EXPECT_EQ(flags({2, 3}, {0, 1}), TN_TENSOR_OVERLAPPING);
  EXPECT_EQ(flags({1, 3}, {0, 1}), TN_TENSOR_CONTIGUOUS);
  EXPECT_EQ(flags({4, 4}, {1, 1}), TN_TENSOR_OVERLAPPING);
  EXPECT_EQ(flags({0, 4}, {0, 0}), TN_TENSOR_CONTIGUOUS);
}

// new_view finds in one pass what refresh_flags finds in several.
TEST(TensorImpl, AViewIsDescribedAsAnyTensor) {
  const Impl base = make({1000});
  const int64_t sizes[] = {0, 1, 2, 3}, strides[] = {0, 1, 2, 3, 6, 77};
  for (int64_t a : sizes) {
    for (int64_t b : sizes) {
      for (int64_t s : strides) {
        for (int64_t t : strides) {
          const Sizes size{a, b}, stride{s, t};
          const Impl v = core::new_view(*base, kFloat, 8, 2, size.data(), stride.data());
          const Impl expected = over(base, size, stride, 8);
          EXPECT_EQ(v->view.flags, expected->view.flags) << a << " " << b << " " << s << " " << t;
          EXPECT_EQ(v->numel, expected->numel);
          EXPECT_EQ(v->strides(), expected->strides());
          EXPECT_EQ(v->storage_offset(), 2);
        }
      }
    }
  }
}

TEST(TensorImpl, ManyDimensionsLiveOnTheHeap) {
  Sizes sizes(core::kMaxDims, 1);
  sizes[3] = 2;
  Impl t = make(sizes);
  EXPECT_EQ(t->sizes().vec(), sizes);
  EXPECT_NE(t->heap_dims, nullptr);
  t->set_geometry(2, sizes.data() + 3, nullptr, 0);
  EXPECT_EQ(t->heap_dims, nullptr);
  EXPECT_EQ(t->sizes().vec(), (Sizes{2, 1}));
  t->set_geometry(core::kMaxDims, sizes.data(), nullptr, 0);
  EXPECT_EQ(t->sizes().vec(), sizes);
  sizes.push_back(1);
  EXPECT_THROW(make(sizes), ValueError);
}

TEST(TensorImpl, GeometryMayBeSetFromItself) {
  Impl t = make({2, 3, 4});
  t->set_geometry(2, t->view.sizes + 1, t->view.strides + 1, 16);
  EXPECT_EQ(t->sizes().vec(), (Sizes{3, 4}));
  EXPECT_EQ(t->strides().vec(), (Sizes{4, 1}));
  EXPECT_EQ(t->storage_offset(), 4);
  EXPECT_EQ(t->numel, 12);
}

TEST(TensorImpl, AliasesShareDataAndVersion) {
  Impl t = make({2, 3});
  Impl shared = t->alias(false), own = t->alias(true);
  EXPECT_EQ(shared->storage, t->storage);
  uint64_t writes = t->storage->head.writes;
  shared->bump_version();
  EXPECT_EQ(t->version(), 1u);
  EXPECT_EQ(own->version(), 0u);
  own->bump_version();
  EXPECT_EQ(t->version(), 1u);
  EXPECT_EQ(t->storage->head.writes, writes + 2) << "plugins see every write";
  EXPECT_EQ(own->alias(false)->version(), 1u);
}

TEST(TensorImpl, ResizeKeepsTheBytesThatWereThere) {
  Impl t = make({2, 2});
  reinterpret_cast<float*>(t->host_data())[3] = 5;
  t->bump_version();
  int64_t small[] = {3}, large[] = {1000, 2};
  void* before = t->view.data;
  core::resize(*t, 1, small);
  EXPECT_EQ(t->view.data, before);
  EXPECT_EQ(t->sizes().vec(), (Sizes{3}));
  core::resize(*t, 2, large);
  EXPECT_EQ(t->sizes().vec(), (Sizes{1000, 2}));
  EXPECT_TRUE(t->contiguous());
  EXPECT_EQ(t->storage->bytes, 8000u);
  EXPECT_EQ(reinterpret_cast<float*>(t->host_data())[3], 5);
  EXPECT_EQ(t->version(), 1u);
  Impl tail = over(make({4}), {2}, {1}, 8);
  core::resize(*tail, 1, large);
  EXPECT_EQ(tail->storage_offset(), 2);
  EXPECT_EQ(tail->storage->bytes, 4008u);
}

TEST(TensorImpl, ImpossibleSizesAreRefused) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THROW(make({-1}), ValueError);
  EXPECT_THROW(make({huge, 8}), ValueError);
  EXPECT_THROW(make({huge}), ValueError);
  EXPECT_EQ(make({huge, 0, huge})->numel, 0);
  try {
    make({2, -5});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_STREQ(e.what(), "test: size -5 of dimension 1 is negative");
  }
  int64_t sizes[] = {2, 2}, strides[] = {huge, huge};
  EXPECT_THROW(new_tensor("test", kFloat, core::kHost, 2, sizes, strides), ValueError);
  EXPECT_THROW(make({2}, ScalarType::Undefined), TypeError);
}

TEST(TensorImpl, OffsetsCountFromTheStorageOnAnOpaqueDevice) {
  test::FakeDevice fake("fake_opaque", TN_DEVICE_OPAQUE);
  int64_t n = 8;
  Impl first = new_tensor("test", kFloat, fake.id(-1), 1, &n);
  Impl second = new_tensor("test", kFloat, fake.id(-1), 1, &n);
  EXPECT_EQ(second->storage_offset(), 0);
  EXPECT_EQ(second->view.byte_offset, second->storage->base);
  EXPECT_TRUE(second->view.flags & TN_TENSOR_OPAQUE);
  Impl slice = over(second, {4}, {1}, 16);
  EXPECT_EQ(slice->storage_offset(), 4);
  EXPECT_EQ(slice->view.byte_offset, second->storage->base + 16);
  EXPECT_EQ(slice->alias(false)->storage_offset(), 4);
  EXPECT_EQ(slice->device().str(), "fake_opaque:0");
}

TEST(TensorImpl, ALayoutOfItsOwnHoldsItsComponents) {
  Impl indices = make({2, 5}, kLong), values = make({5});
  int64_t sizes[] = {10, 10};
  Impl t = TensorImpl::make_composite(1, kFloat, core::kHost, 2, sizes, 2);
  t->set_component(0, indices);
  t->set_component(1, values);
  EXPECT_EQ(TensorImpl::from_any_view(static_cast<tn_tensor*>(t->view.data) + 1), values.get());
  EXPECT_EQ(t->view.layout, core::abi_layout(1));
  EXPECT_EQ(t->view.strides, nullptr);
  EXPECT_EQ(static_cast<tn_tensor*>(t->view.data)[1].data, values->view.data);
  EXPECT_EQ(values->use_count(), 2u) << "values and the tensor";
  Impl same = t->alias(false);
  t.reset();
  EXPECT_EQ(values->use_count(), 2u);
  same->bump_version();
  EXPECT_EQ(same->version(), 1u);
  same.reset();
  EXPECT_EQ(values->use_count(), 1u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(TensorImpl, MakingAndDroppingOneTakesNothingFromTheHeap) {
  make({4, 8});
  struct mallinfo2 before = mallinfo2();
  for (int i = 0; i < 1000; ++i) make({4, 8});
  struct mallinfo2 after = mallinfo2();
  EXPECT_EQ(before.uordblks, after.uordblks);
  EXPECT_EQ(before.fordblks, after.fordblks);
}
#endif
