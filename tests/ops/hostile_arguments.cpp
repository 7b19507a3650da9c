// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arguments that no sensible call has: sizes whose sums and products do not fit 64 bits, lists of
// the wrong length, null texts, codes of nothing. tests/fuzz/hostile makes up others.
#include <cmath>

#include "tenon/abi/client.h"
#include "tenon/core/op.h"
#include "tenon/ordered_dict.h"
#include "tenon/parallel.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace {

using namespace tenon;
using test::expect_words;
using test::text_of;

constexpr int64_t kHuge = INT64_MAX, kQuarter = int64_t{1} << 62;

template <class E = ValueError, class F>
void expect_refused(F&& f, std::initializer_list<const char*> words) {
  expect_words(text_of<E>(f), words);
}

TEST(HostileSizes, PaddingThatWrapsIsRefused) {
  const Tensor x = ones({2, 3}), rows = ones({1, 2, 3});
  expect_refused([&] { (void)x.constant_pad_nd({kHuge, kHuge}); }, {"constant_pad_nd", "64 bits"});
  expect_refused(
      [&] {
        (void)replication_pad1d(rows, {kHuge, kHuge});
      },
      {"replication_pad1d", "too large"});
  expect_refused(
      [&] {
        (void)reflection_pad1d(rows, {INT64_MIN, INT64_MIN});
      },
      {"reflection_pad1d", "too large"});
  expect_refused(
      [&] {
        (void)replication_pad1d_backward(rows, rows, {kHuge, kHuge});
      },
      {"replication_pad1d_backward"});
  expect_refused(
      [&] {
        (void)nn::functional::pad(x, nn::functional::PadFuncOptions({kHuge, kHuge}));
      },
      {"pad"});
}

// Twice the far end is before the first element: the gradient was written in front of its memory.
TEST(HostileSizes, TheGradientOfAReflectionThatIsTooLongIsRefused) {
  const Tensor x = ones({4, 2});
  expect_refused(
      [&] {
        (void)reflection_pad1d_backward(ones({4, 4}), x, {3, -1});
      },
      {"less than", "(3, -1)"});
  expect_refused(
      [&] {
        (void)reflection_pad1d_backward(ones({4, 4}), x, {-1, 3});
      },
      {"less than", "(-1, 3)"});
  EXPECT_EQ(reflection_pad1d_backward(ones({4, 3}), x, {1, 0}).sum().item<float>(), 12);
  EXPECT_EQ(replication_pad1d_backward(ones({4, 4}), x, {3, -1}).sum().item<float>(), 16);
}

// A border in front that is longer than the result, the rest of which is cropped at the end.
TEST(HostileSizes, PaddingThatIsCroppedAgain) {
  const Tensor x = tensor({1.0, 2.0, 3.0}).view({1, 1, 3});
  EXPECT_TRUE(replication_pad1d(x, {1000, -1000}).equal(ones({1, 1, 3})));
  EXPECT_TRUE(replication_pad1d(x, {-1000, 1000}).equal(full({1, 1, 3}, 3.0)));
  EXPECT_TRUE(replication_pad2d(x, {5, -6, 0, 0}).equal(ones({1, 1, 2})));
}

TEST(HostileSizes, ViewsOfMoreElementsThanFitAreRefused) {
  const Tensor one = ones({1, 1, 1});
  expect_refused([&] { (void)one.expand({kQuarter, 2, 3}); }, {"expand", "64 bits"});
  expect_refused([&] { (void)one.as_strided({kQuarter, 4}, {0, 0}); }, {"as_strided", "64 bits"});
  EXPECT_EQ(one.expand({int64_t{1} << 40, 2, 3}).numel(), 6 * (int64_t{1} << 40));
  EXPECT_EQ(empty({0, 1}).expand({0, kHuge}).numel(), 0);
}

// Of a view without elements the offset alone wrapped, and what it was resized to lay before the
// storage.
TEST(HostileSizes, ResizingAViewFarOutside) {
  const Tensor none = empty({kQuarter, 4, 0});
  EXPECT_THROW((void)none.select(0, kQuarter - 1), ValueError);
  const Tensor far = empty({int64_t{1} << 61, 0}).select(0, (int64_t{1} << 61) - 1);
  EXPECT_THROW((void)far.resize_({4}), Error);
}

TEST(HostileSizes, CompositesThatMultiplyArguments) {
  EXPECT_THROW((void)ones({4}).repeat({kQuarter}), ValueError);
  EXPECT_THROW((void)arange(5).combinations(int64_t{1} << 40, true), Error);
  EXPECT_EQ(arange(3).combinations(5).sizes(), IntArrayRef({0, 5}));
  EXPECT_EQ(arange(4).combinations(2, true).size(0), 10);
}

// Products that are 0 or another sensible number where they wrap.
TEST(HostileSizes, ProductsThatWrapToSomethingSensible) {
  const Tensor none = empty({0, 8});
  expect_refused([&] { (void)none.unflatten(0, {kQuarter, 4}); }, {"unflatten", "64 bits"});
  expect_refused([&] { (void)none.unflatten(1, {kQuarter + 2, 4}); }, {"unflatten", "64 bits"});
  expect_refused([&] { (void)none.transpose(0, 1).reshape({kQuarter, 4}); }, {"reshape"});
  expect_refused([&] { (void)ones({2, 3}).t().reshape({kQuarter + 1, 4, 6}); }, {"reshape"});
  expect_refused(
      [&] {
        (void)pixel_shuffle(empty({0, 0, kHuge}), 3);
      },
      {"pixel_shuffle", "64 bits"});
  expect_refused([&] { (void)ones({2}).diag_embed(INT64_MIN); }, {"diag_embed", "64 bits"});
  expect_refused([&] { (void)tenon::one_hot(full({2}, kHuge, kLong)); }, {"one_hot", "64 bits"});
  const nn::functional::LPPool2dFuncOptions window(2, {kQuarter, 4});
  expect_refused(
      [&] {
        (void)nn::functional::lp_pool2d(ones({1, 1, 4, 4}), window);
      },
      {"lp_pool2d", "64 bits"});
  expect_refused([&] { nn::LSTMCell(1, kQuarter); }, {"RNNCell", "64 bits"});
  expect_refused([&] { nn::Embedding(nn::EmbeddingOptions(INT64_MIN, 2).padding_idx(0)); },
                 {"num_embeddings"});
}

TEST(HostileSizes, MoreLayersThanWeights) {
  const Tensor x = ones({3, 1, 2}), h = ones({1, 1, 4});
  const std::vector<Tensor> weights = {ones({4, 2}), ones({4, 4})};
  expect_refused([&] { (void)rnn_relu(x, h, weights, false, kHuge, 0.0, false, true, false); },
                 {"2"});
  EXPECT_EQ(std::get<0>(rnn_relu(x, h, weights, false, 1, 0.0, false, false, false)).sizes(),
            IntArrayRef({3, 1, 4}));
}

TEST(HostileSizes, WindowsAndProductsThatWrapAreRefused) {
  const Tensor image = empty({0, 1, kHuge});
  EXPECT_THROW((void)conv1d(image, ones({1, 1, 1}), {}, {1}, {2}), ValueError);
  EXPECT_THROW((void)avg_pool2d(empty({0, 1, 1, kHuge}), {1, 4}, {1, 1}, {0, 2}), ValueError);
  EXPECT_THROW((void)native_group_norm(ones({2, 4, 3}), {}, {}, kQuarter, 4, 6, 2, 1e-5),
               ValueError);
  EXPECT_THROW((void)repeat_interleave(tensor({kHuge, kHuge, int64_t{2}})), ValueError);
  EXPECT_THROW((void)ones({2}).repeat_interleave(kHuge), ValueError);
  EXPECT_THROW((void)ones({4}).split_with_sizes({kHuge, kHuge, 6}), ValueError);
}

TEST(HostileLists, ProbabilitiesMustExpandToSelf) {
  const Tensor x = zeros({2, 3});
  expect_refused(
      [&] {
        (void)x.bernoulli_(empty({0, 3}));
      },
      {"bernoulli", "'p'", "[0, 3]", "[2, 3]"});
  expect_refused([&] { (void)x.bernoulli_(full({100000}, 0.5)); }, {"bernoulli", "'p'"});
  EXPECT_TRUE(zeros({2, 3}).bernoulli_(ones({3})).equal(ones({2, 3})));
}

TEST(HostileLists, OfAFixedLength) {
  const Tensor row = ones({1, 2, 4}), image = ones({1, 2, 4, 4}), volume = ones({1, 2, 4, 4, 4});
  expect_refused([&] { (void)upsample_nearest1d(row, IntArrayRef()); },
                 {"upsample_nearest1d", "'output_size'", "got 0"});
  expect_refused([&] { (void)upsample_nearest2d(image, {3}); },
                 {"upsample_nearest2d", "needs 2 entries", "got 1"});
  expect_refused(
      [&] {
        (void)_upsample_nearest_exact3d(zeros({0, 3}), {});
      },
      {"_upsample_nearest_exact3d"});
  expect_refused([&] { (void)upsample_trilinear3d(volume, {2, 2}, false); }, {"'output_size'"});
  expect_refused([&] { (void)reflection_pad2d_backward(image, image, {INT64_MIN}); },
                 {"'padding'", "4 entries"});
  expect_refused([&] { (void)reflection_pad1d(row, {1}); },
                 {"reflection_pad1d", "'padding'", "2 entries"});
  expect_refused([&] { (void)replication_pad2d_backward(image, image, {0}); }, {"'padding'"});
  expect_refused([&] { (void)adaptive_avg_pool2d(image, {2}); },
                 {"adaptive_avg_pool2d", "'output_size'"});
  expect_refused(
      [&] {
        (void)conv2d(image, ones({1, 2, 2, 2}), {}, {1, 1, 1});
      },
      {"conv2d", "'stride'"});
  // One integer for all dimensions of a window, and the stride that is its size.
  EXPECT_EQ(max_pool2d(image, {2}).sizes(), IntArrayRef({1, 2, 2, 2}));
  EXPECT_EQ(conv2d(image, ones({1, 2, 2, 2}), {}, {2}).size(2), 2);
  EXPECT_EQ(image.sum({0, 1, 2}).dim(), 1);
}

// No child hangs here, so that a regression shows as a test that times out.
TEST(HostileCounts, AreRefusedWhereTheirResultsDoNotFit) {
  const Tensor x = ones({4}) * 1e10;
  EXPECT_THROW((void)x.tensor_split(int64_t{1} << 40, 0), OutOfMemoryError);
  EXPECT_THROW((void)ones({1}).expand({int64_t{1} << 50}).unbind(0), OutOfMemoryError);
  EXPECT_THROW((void)ones({1}).expand({int64_t{1} << 50}).split(1, 0), OutOfMemoryError);
  EXPECT_THROW((void)empty({0}).chunk(int64_t{1} << 50), OutOfMemoryError);
  EXPECT_THROW((void)x.mvlgamma(int64_t{1} << 50), Error);
  EXPECT_THROW((void)tril_indices(kQuarter, kQuarter), ValueError);
  EXPECT_THROW((void)triu_indices(int64_t{1} << 40, int64_t{1} << 40), Error);
  EXPECT_EQ(tril_indices(int64_t{1} << 40, 0).numel(), 0);
}

Tensor triangle_indices(int64_t row, int64_t column, int64_t offset, bool lower) {
  const Tensor all = ones({row, column});
  return (lower ? all.tril(offset) : all.triu(offset)).nonzero().t();
}

TEST(HostileCounts, TriangleIndices) {
  for (int64_t row : {0, 1, 3, 5}) {
    for (int64_t column : {0, 1, 4, 7}) {
      for (int64_t offset : {-100, -5, -2, -1, 0, 1, 3, 6, 7, 100}) {
        EXPECT_TRUE(
            tril_indices(row, column, offset).equal(triangle_indices(row, column, offset, true)));
        EXPECT_TRUE(
            triu_indices(row, column, offset).equal(triangle_indices(row, column, offset, false)));
      }
    }
  }
  EXPECT_EQ(tril_indices(3, 3, INT64_MAX).size(1), 9);
  EXPECT_EQ(triu_indices(3, 3, INT64_MIN).size(1), 9);
}

TEST(HostileCounts, BlockDiagonalOfMany) {
  const std::vector<Tensor> many(3000, full({1, 1}, 2));
  const Tensor r = block_diag(many);
  EXPECT_EQ(r.sizes(), IntArrayRef({3000, 3000}));
  EXPECT_EQ(r.sum().item<double>(), 6000);
  EXPECT_EQ(r.trace().item<double>(), 6000);
}

tn_value text_value(const char* p, uint32_t n) {
  tn_value v{};
  v.tag = TN_TAG_STR;
  v.len = n;
  v.u.str = p;
  return v;
}
tn_value tensor_value(const Tensor& t) {
  tn_value v{};
  v.tag = TN_TAG_TENSOR;
  v.u.tensor = &t.unsafeGetTensorImpl()->view;
  return v;
}
tn_value plain(tn_tag tag, int64_t i = 0) {
  tn_value v{};
  v.tag = tag;
  v.u.i64 = i;
  return v;
}

std::string by_name(const char* op, std::initializer_list<tn_value> in) {
  tn_value out[4] = {};
  const tn_status s =
      tn_call_op(tn_str{op, std::strlen(op)}, in.begin(), static_cast<uint32_t>(in.size()), out, 4);
  for (tn_value& v : out) tn_release_value(&v);
  return s == TN_OK ? "" : tn_last_error();
}

TEST(HostileCalls, NamesOfNothing) {
  const std::string longest(1 << 20, 'a');  // compared with every name, it took minutes
  expect_words(by_name(longest.c_str(), {}), {"no operator", "1048576 bytes"});
  expect_words(by_name("ad", {}), {"closest"});
}

// They have one dimension to `wrap`, and no entry in a list of sizes.
TEST(HostileCalls, TensorsWithoutDimensions) {
  EXPECT_EQ(full({}, 2.5).take_along_dim(zeros({}, TensorOptions(kLong)), -1).item<double>(), 2.5);
}

TEST(HostileCalls, NullPointers) {
  const Tensor x = rand({2, 3});
  const tn_tensor* none[] = {nullptr};
  tn_value list = plain(TN_TAG_TENSOR_LIST);
  list.len = 1;
  list.u.tensors = none;
  expect_words(by_name("einsum", {text_value(nullptr, 5), list}),
               {"einsum", "'equation'", "null text"});
  expect_words(by_name("gelu", {tensor_value(x), text_value(nullptr, 5)}),
               {"gelu", "'approximate'", "null text"});
  expect_words(by_name("bernoulli", {tensor_value(x), plain(TN_TAG_GENERATOR)}),
               {"bernoulli", "'generator'", "null"});
  expect_words(by_name("exponential_", {tensor_value(x), plain(TN_TAG_F64), plain(TN_TAG_OPAQUE)}),
               {"'generator'"});
  expect_words(by_name("cat", {list}), {"cat", "'tensors'", "position 0"});
}

TEST(HostileCalls, CodesOfNothing) {
  const Tensor x = ones({2});
  const tn_value shape = [] {
    static const int64_t two = 2;
    tn_value v{};
    v.tag = TN_TAG_I64_LIST;
    v.len = 1;
    v.u.i64s = &two;
    return v;
  }();
  tn_value dtype = plain(TN_TAG_DTYPE);
  dtype.u.dtype = {200, 7, 3};
  tn_value device = plain(TN_TAG_DEVICE);
  device.u.device = {TN_CPU, 300};
  const tn_value none = plain(TN_TAG_NONE);
  for (int64_t layout : {int64_t{1} << 40, INT64_MIN, int64_t{1} << 32, int64_t{63}}) {
    expect_words(by_name("zeros", {shape, none, plain(TN_TAG_LAYOUT, layout)}),
                 {"zeros", "'layout'"});
    expect_words(by_name("empty.memory_format", {shape, none, plain(TN_TAG_LAYOUT, layout)}),
                 {"empty", "'layout'"});
  }
  expect_words(by_name("zeros", {shape, dtype}), {"zeros", "'dtype'"});
  expect_words(by_name("zeros", {shape, none, none, device}), {"zeros", "'device'", "300"});
  expect_words(by_name("clone", {tensor_value(x), plain(TN_TAG_I64, kQuarter)}),
               {"clone", "'memory_format'"});
  expect_words(by_name("add.Scalar", {tensor_value(x), plain(TN_TAG_COMPLEX, 1)}),
               {"add", "'other'", "complex"});
  EXPECT_THROW((void)empty({2}, TensorOptions(), static_cast<MemoryFormat>(77)), ValueError);
}

// The gradients' kernels looked up a table by the code.
TEST(HostileCalls, CodesOfGradients) {
  const Tensor image = ones({1, 2, 3, 4}), grid = ones({1, 3, 2, 2}), grad = ones({1, 2, 3, 2});
  for (int64_t code : {int64_t{-1}, int64_t{3}, kQuarter}) {
    expect_refused(
        [&] {
          (void)grid_sampler_2d_backward(grad, image, grid, code, 0, false, {true, true});
        },
        {"grid_sampler_2d_backward", "interpolation_mode"});
    expect_refused(
        [&] {
          (void)grid_sampler_2d_backward(grad, image, grid, 0, code, false, {true, true});
        },
        {"grid_sampler_2d_backward", "padding_mode"});
  }
  const Tensor classes = ones({2, 3}), target = zeros({2}, TensorOptions(kLong)),
               one = ones(IntArrayRef());
  expect_refused([&] { (void)nll_loss_backward(one, classes, target, {}, 7, -100, one); },
                 {"nll_loss", "reduction"});
}

TEST(HostileCalls, WhatWasAcceptedWithoutAWord) {
  const Tensor x = ones({2, 3});
  expect_refused([&] { (void)x.repeat_interleave(2, 0, 7); },
                 {"repeat_interleave", "'output_size'", "7", "4"});
  expect_refused([&] { (void)x.uniform_(2, 1); }, {"uniform", "'from' 2", "'to' 1"});
  expect_refused([&] { (void)x.uniform_(NAN, 1); }, {"uniform", "'from'"});
  expect_refused([&] { (void)x.uniform_(-3e38, 3e38); }, {"uniform"});
  EXPECT_TRUE(x.equal(ones({2, 3})));
  float data[4] = {};
  expect_refused([&] { (void)from_blob(data, {4}, {-1}); }, {"from_blob", "negative"});
  expect_refused([&] { (void)from_blob(nullptr, {4}); }, {"from_blob", "null"});
  expect_refused([&] { (void)Generator().current_seed(); },
                 {"Generator.current_seed", "undefined"});
  expect_refused<IndexError>([&] { (void)OrderedDict<std::string, int>().front(); },
                             {"OrderedDict", "empty"});
}

TEST(HostileCalls, ParallelForOverEverything) {
  uint64_t n = 0;
  int threads = get_num_threads();
  set_num_threads(1);
  parallel_for(INT64_MIN, INT64_MAX, 1, [&](int64_t from, int64_t to) {
    n += static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  });
  const auto count = [](int64_t from, int64_t to, uint64_t sum) {
    return sum + static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  };
  const uint64_t reduced =
      parallel_reduce(INT64_MIN, INT64_MAX, 1, uint64_t{0}, count, std::plus<uint64_t>());
  set_num_threads(threads);
  EXPECT_EQ(n, UINT64_MAX);
  EXPECT_EQ(reduced, UINT64_MAX);
}

TEST(HostileCalls, ErrorsNameTheOperatorThatWasCalled) {
  const Tensor x = ones({2, 3});
  expect_refused<IndexError>([&] { (void)x.swapdims(0, 7); },
                             {"swapdims: in transpose", "dimension out of range"});
  EXPECT_EQ(text_of([&] { (void)randn({-1}); }).rfind("randn: in ", 0), 0u);
  EXPECT_EQ(text_of([&] { (void)x.hsplit(7); }).rfind("hsplit", 0), 0u);
  EXPECT_EQ(text_of([&] { (void)x.transpose(0, 7); }).rfind("transpose.int: dimension", 0), 0u);
}

TEST(HostileCalls, TheLowestIntegerIsAveragedByMinusOne) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  const Tensor grad = full({1, 1, 1, 1}, lowest, kLong);
  const Tensor whole = avg_pool2d_backward(grad, zeros({1, 1, 1, 1}, kLong), {1, 1}, {1, 1}, {0, 0},
                                           false, true, -1);
  EXPECT_EQ(whole.item<int64_t>(), lowest) << "wraps, as in a division of tensors";
  EXPECT_EQ(avg_pool2d(grad, {1, 1}, {1, 1}, {0, 0}, false, true, -1).item<int64_t>(), lowest);
  expect_refused<ValueError>(
      [&] {
        (void)avg_pool2d_backward(grad, zeros({1, 1, 1, 1}, kLong), {1, 1}, {1, 1}, {0, 0}, false,
                                  true, 0);
      },
      {"avg_pool2d_backward", "divisor_override must not be zero"});
}

TEST(HostileCalls, ARefusedInstanceNormWritesNeitherStatistic) {
  const Tensor mean = zeros({3}), var = zeros({1}).expand({3});
  expect_refused<ValueError>(
      [&] {
        (void)instance_norm(randn({2, 3, 4}), {}, {}, mean, var, true, 0.5, 1e-5, false);
      },
      {"instance_norm", "share memory"});
  // Of an empty batch no statistics are made that could have the wrong shape.
  Tensor two = ones({2}), none = empty({0});
  expect_refused(
      [&] {
        (void)instance_norm(empty({0, 2, 4}), {}, {}, two, none, true, 0.5, 1e-5, false);
      },
      {"instance_norm", "one element per channel, 2"});
  EXPECT_TRUE(two.equal(ones({2})));
  EXPECT_TRUE(equal(mean, zeros({3})));
}

TEST(HostileCalls, AttentionOfGroupsWithoutHeads) {
  const Tensor query = ones({1, 2, 3, 4}), none = ones({1, 0, 3, 4});
  expect_refused<ValueError>(
      [&] { (void)scaled_dot_product_attention(query, none, none, {}, 0, false, {}, true); },
      {"scaled_dot_product_attention", "heads of query (2)"});
  expect_refused<ValueError>(
      [&] {
        (void)scaled_dot_product_attention(query, ones({3, 4}), ones({3, 4}), {}, 0, false, {},
                                           true);
      },
      {"scaled_dot_product_attention", "heads of query (2)"});
}

TEST(HostileCalls, IndexErrorsNameTheDimensionThatIsIndexed) {
  using tenon::indexing::Slice;
  const Tensor x = arange(100).view({2, 5, 10});
  const char* first = "index 5 is out of bounds for dimension 1 with size 5";
  expect_refused<IndexError>([&] { (void)x.index({0, 5}); }, {first});
  expect_refused<IndexError>([&] { (void)x.index({Slice(), 5}); }, {first});
  expect_refused<IndexError>([&] { (void)x.index({indexing::None, Slice(), 5}); }, {first});
  expect_refused<IndexError>(
      [&] {
        (void)x.index({4, 5});
      },
      {"index 4", "dimension 0 with size 2"});
  expect_refused<IndexError>(
      [&] {
        (void)x.index({indexing::Ellipsis, -11});
      },
      {"index -11", "dimension 2 with size 10"});
  expect_refused<IndexError>(
      [&] {
        (void)x.index({tensor(int64_t{1}), tensor(int64_t{5})});
      },
      {first});
  expect_refused<IndexError>(
      [&] {
        (void)x.index({0, tensor({int64_t{1}, int64_t{5}})});
      },
      {first});
  expect_refused<IndexError>([&] { x.clone().index_put_({0, tensor({int64_t{5}})}, 1); }, {first});
}

TEST(HostileSizes, OfPinnedMemoryAreCheckedToo) {
  const TensorOptions pinned = TensorOptions(kFloat).pinned_memory(true);
  expect_refused(
      [&] {
        (void)empty_strided({1000, -kHuge}, {1, 0}, pinned);
      },
      {"empty_strided", "negative"});
  expect_refused(
      [&] {
        (void)empty_strided({1000, -1}, {1, 0}, pinned);
      },
      {"empty_strided", "negative"});
}

}  // namespace
