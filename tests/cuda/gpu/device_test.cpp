// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What only a GPU can show: that the real runtime behaves as the fake one.
#include "tenon/runtime/allocator.h"
#include "tests/cuda/gpu/gpu.h"
#include "tests/cuda/training.h"
#include "tests/support.h"

namespace tenon::test {
namespace {

using Gpu = OnGpu;

TEST_F(Gpu, BytesGoThereAndComeBack) {
  for (int64_t n : {1, 1000, 1 << 22}) {
    const Tensor x = arange(n, kInt);
    EXPECT_TRUE(equal(x.to(kCUDA).cpu(), x)) << n;
    EXPECT_TRUE(equal(x.view({1, n}).to(kCUDA).t().cpu(), x.view({n, 1})));
  }
}

TEST_F(Gpu, PatternsAreFilled) {
  for (uint32_t width : {1u, 2u, 4u, 8u}) {
    const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const Tensor there = empty({8000}, TensorOptions(kByte).device(kCUDA));
    ASSERT_EQ(
        api->fill(api->context, 0, there.data_ptr(), 0, pattern, width, 8000 / width, nullptr),
        TN_OK);
    const Tensor back = there.cpu();
    for (uint32_t i = 0; i < 8000; ++i)
      ASSERT_EQ(back.data_ptr<uint8_t>()[i], pattern[i % width]) << width;
  }
}

TEST_F(Gpu, ProductsAgreeWithTheHost) {
  manual_seed(1);
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor a = randn({65, 130}).to(dtype), b = randn({130, 47}).to(dtype),
                 c = randn({47}).to(dtype);
    const Tensor y = addmm(c.to(kCUDA), a.to(kCUDA), b.t().contiguous().to(kCUDA).t()).cpu();
    const double tolerance = dtype == kDouble ? 1e-12 : dtype == kFloat ? 1e-4 : 0.5;
    EXPECT_TRUE(allclose(y.to(kDouble), addmm(c.to(kDouble), a.to(kDouble), b.to(kDouble)), 1e-2,
                         tolerance))
        << toString(dtype);
  }
}

// cuDNN's, forward and backward.
TEST_F(Gpu, ConvolutionsAgreeWithTheHost) {
  manual_seed(2);
  const Tensor x = randn({3, 8, 9, 10}), w = randn({12, 4, 3, 3}), grad = randn({3, 12, 5, 10});
  const auto run = [&](Device device) {
    Tensor a = x.to(device).requires_grad_(), b = w.to(device).requires_grad_();
    const Tensor y = conv2d(a, b, {}, {2, 1}, {1, 1}, 1, 2);
    y.backward(grad.to(device));
    return std::vector<Tensor>{y.detach().cpu(), a.grad().cpu(), b.grad().cpu()};
  };
  const auto there = run(kCUDA), here = run(kCPU);
  for (std::size_t k = 0; k < here.size(); ++k)
    EXPECT_TRUE(allclose(there[k], here[k], 1e-3, 1e-3)) << k;
}

TEST_F(Gpu, RecurrentLayersAgreeWithTheHost) {
  const Tensor x = randn({7, 3, 10}), grad = randn({7, 3, 12});
  const auto run = [&](Device device) {
    manual_seed(3);
    nn::LSTM lstm(nn::LSTMOptions(10, 6).num_layers(2).bidirectional(true));
    lstm->to(device);
    Tensor a = x.to(device).requires_grad_();
    const Tensor y = std::get<0>(lstm->forward(a));
    y.backward(grad.to(device));
    std::vector<Tensor> out = {y.detach().cpu(), a.grad().cpu()};
    for (const Tensor& p : lstm->parameters()) out.push_back(p.grad().cpu());
    return out;
  };
  const auto there = run(kCUDA), here = run(kCPU);
  for (std::size_t k = 0; k < here.size(); ++k)
    EXPECT_TRUE(allclose(there[k], here[k], 1e-3, 1e-4)) << k;
}

TEST_F(Gpu, TheFirstOfManyAreThoseOfASort) {
  manual_seed(4);
  for (const Tensor& x :
       {randn({3, 5000}), randint(50, {200000}, kLong), randn({2, 100000}).to(kHalf)}) {
    const auto [values, indices] = x.to(kCUDA).topk(300);
    const auto [all, order] = x.sort(true, -1, true);
    EXPECT_TRUE(equal(values.cpu(), all.slice(-1, 0, 300)));
    EXPECT_TRUE(equal(indices.cpu(), order.slice(-1, 0, 300)));
  }
}

TEST_F(Gpu, EventsOrderStreamsAndMeasureTime) {
  tn_stream *one = nullptr, *two = nullptr;
  tn_event *begin = nullptr, *end = nullptr;
  ASSERT_EQ(api->stream_create(api->context, 0, 0, &one), TN_OK);
  ASSERT_EQ(api->stream_create(api->context, 0, -1, &two), TN_OK);
  ASSERT_EQ(api->event_create(api->context, 0, 0, &begin), TN_OK);
  ASSERT_EQ(api->event_create(api->context, 0, 0, &end), TN_OK);
  {
    const Tensor a = empty({1 << 26}, TensorOptions(kByte).device(kCUDA)), b = empty_like(a);
    for (unsigned char value = 1; value < 20; ++value) {
      ASSERT_EQ(api->event_record(api->context, 0, begin, one), TN_OK);
      ASSERT_EQ(api->fill(api->context, 0, a.data_ptr(), 0, &value, 1, 1 << 26, one), TN_OK);
      ASSERT_EQ(api->event_record(api->context, 0, end, one), TN_OK);
      ASSERT_EQ(api->event_wait(api->context, 0, end, two), TN_OK);
      const tn_device d{TN_CUDA, 0};
      ASSERT_EQ(api->copy(api->context, d, b.data_ptr(), 0, d, a.data_ptr(), 0, 1 << 26, two),
                TN_OK);
      ASSERT_EQ(api->sync(api->context, 0, two), TN_OK);
      double ms = 0;
      ASSERT_EQ(api->event_elapsed(api->context, 0, begin, end, &ms), TN_OK);
      EXPECT_GT(ms, 0);
      EXPECT_EQ(b.slice(0, (1 << 26) - 1).cpu().item<int>(), value);
    }
  }
  core::cache_trim({slot, 0});
  api->event_destroy(api->context, 0, begin);
  api->event_destroy(api->context, 0, end);
  api->stream_destroy(api->context, 0, one);
  api->stream_destroy(api->context, 0, two);
}

TEST_F(Gpu, AStepOfTrainingIsReplayed) { replay_a_step_of_training(); }
TEST_F(Gpu, AStepOfAdamIsReplayed) { replay_a_step_of_training(of_relu, by_adam); }

TEST_F(Gpu, AnIndexOutOfRangeIsRaisedAndTheDeviceLives) {
  const Tensor table = arange(10, kFloat).to(kCUDA);
  const auto bad = [&] {
    (void)index_select(table, 0, tensor({3, 11}).to(kLong).to(kCUDA));
    core::synchronize({slot, 0});
  };
  expect_words(text_of<IndexError>(bad), {"index_select", "11"});
  EXPECT_TRUE(equal(table.add(1).cpu(), arange(1, 11, kFloat)));
}

TEST_F(Gpu, OutOfMemoryHasNumbersAndTheDeviceLives) {
  expect_words(text_of<OutOfMemoryError>([&] { (void)empty({int64_t{1} << 44}, kCUDA); }),
               {"out of memory on cuda:0", "wanted", "free"});
  EXPECT_TRUE(equal(ones({4}, kCUDA).add(1).cpu(), full({4}, 2.)));
}

}  // namespace
}  // namespace tenon::test
