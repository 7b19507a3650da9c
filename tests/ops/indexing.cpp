// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reading and writing by index: shapes, duplicates, masks, bounds before writes, gradients.
#include "tenon/indexing.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

namespace tenon {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;

TEST(Indexing, NeighborsStayAndStrangersMoveToTheFront) {
  Tensor x = arange(120).view({2, 3, 4, 5});
  Tensor i = tensor({0, 1}), j = tensor({2, 3});
  EXPECT_EQ(x.index({Slice(), i, j}).sizes(), IntArrayRef({2, 2, 5}));
  EXPECT_EQ(x.index({i, Slice(), j}).sizes(), IntArrayRef({2, 3, 5}));
  EXPECT_EQ(x.index({Ellipsis, i}).sizes(), IntArrayRef({2, 3, 4, 2}));
  EXPECT_EQ(x.index({i.view({2, 1}), tensor({0, 2})}).sizes(), IntArrayRef({2, 2, 4, 5}));
  EXPECT_EQ(x.index({None, 1, Slice(0, 2)}).sizes(), IntArrayRef({1, 2, 4, 5}));
  EXPECT_EQ(x.index({i, Slice(), j}).select(0, 1).select(0, 2).select(0, 4).item<int64_t>(),
            1 * 60 + 2 * 20 + 3 * 5 + 4);
}

// torch 2.15: x[m] of a mask without dimensions is all of x in a new dimension, or nothing of it.
TEST(Indexing, AMaskWithoutDimensionsIsAllOrNothing) {
  const Tensor x = arange(6, kFloat).view({2, 3});
  for (ScalarType type : {kBool, kUInt8}) {
    const Tensor yes = ones({}, type), no = zeros({}, type);
    EXPECT_EQ(x.index({yes}).sizes(), IntArrayRef({1, 2, 3}));
    EXPECT_EQ(x.index({no}).sizes(), IntArrayRef({0, 2, 3}));
    EXPECT_EQ(x.index({1, yes, 2}).sizes(), IntArrayRef({1}));
    EXPECT_EQ(x.index({tensor({true, false}), no}).sizes(), IntArrayRef({0, 3}));
    for (bool scalar : {true, false}) {
      Tensor y = x.clone();
      const auto write = [&](const Tensor& m, double v) {
        scalar ? y.index_put_({m}, Scalar(v)) : y.index_put_({m}, full({}, v));
      };
      write(no, 9);
      EXPECT_TRUE(equal(y, x));
      write(yes, 9);
      EXPECT_TRUE(equal(y, full({2, 3}, 9.0)));
    }
    Tensor point = full({}, 3.0);
    point.index_put_({no}, 5);
    EXPECT_EQ(point.item<double>(), 3);
    point.index_put_({yes}, 5);
    EXPECT_EQ(point.item<double>(), 5);
    EXPECT_EQ(point.index({no}).sizes(), IntArrayRef({0}));
    // The operator itself has no dimension to put it in.
    const std::vector<std::optional<Tensor>> list = {no};
    test::expect_words(test::text_of<IndexError>([&] {
                         x.index_put(ArrayRef<std::optional<Tensor>>(list), full({}, 1.0));
                       }),
                       {"index_put", "indices", "without dimensions"});
    EXPECT_EQ(x.index(ArrayRef<std::optional<Tensor>>(list)).sizes(), IntArrayRef({0, 2, 3}));
  }
}

TEST(Indexing, AnEmptyListIsRefused) {
  Tensor x = ones({2});
  const ArrayRef<indexing::TensorIndex> none;
  const ArrayRef<std::optional<Tensor>> no_tensors;
  test::expect_words(test::text_of<IndexError>([&] { x.index(none); }),
                     {"index: ", "empty index list"});
  test::expect_words(test::text_of<IndexError>([&] { x.index_put_(none, 3); }),
                     {"index_put_: ", "empty index list"});
  test::expect_words(test::text_of<IndexError>([&] { x.index_put_(none, ones({2})); }),
                     {"empty index list"});
  test::expect_words(test::text_of<IndexError>([&] { x.index(no_tensors); }),
                     {"index", "empty list"});
  test::expect_words(test::text_of<IndexError>([&] { x.index_put_(no_tensors, ones({2})); }),
                     {"empty list"});
  EXPECT_TRUE(equal(x, ones({2})));
}

TEST(Indexing, MasksCoverTheirDimensions) {
  Tensor x = arange(12).view({3, 4});
  Tensor mask = x.remainder(5).eq(0);
  EXPECT_TRUE(equal(x.index({mask}), tensor({0, 5, 10})));
  EXPECT_TRUE(equal(x.masked_select(mask), tensor({0, 5, 10})));
  Tensor rows = tensor({true, false, true});
  EXPECT_TRUE(equal(x.index({rows, 1}), tensor({1, 9})));
  Tensor cube = arange(24).view({2, 3, 4});
  EXPECT_TRUE(
      equal(cube.index({cube.select(2, 0).gt(10), tensor({1, 2, 3})}), tensor({13, 18, 23})));
  test::expect_words(test::text_of<IndexError>([&] {
                       x.index({tensor({true, false})});
                     }),
                     {"mask shape [2] does not match [3, 4] at position 0"});
}

TEST(Indexing, IndexFillTakesPositionsFromTheEnd) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(equal(x.index_fill(1, tensor({-1, 0}), 5), tensor({{5., 0., 5.}, {5., 0., 5.}})));
  EXPECT_TRUE(
      equal(x.index_fill(-1, tensor({-3}), tensor(2.)), tensor({{2., 0., 0.}, {2., 0., 0.}})));
  EXPECT_EQ(zeros({}).index_fill(0, tensor({-1}), 5).item<float>(), 5);
  Tensor y = zeros({3});
  EXPECT_THROW(y.index_fill_(0, tensor({0, -4}), 1), IndexError);
  EXPECT_TRUE(equal(y, zeros({3})));
  EXPECT_THROW(x.index_copy(1, tensor({-1}), ones({2, 1})), IndexError);  // which torch refuses
}

TEST(Indexing, NothingIsWrittenWhenAnIndexIsOut) {
  Tensor x = zeros({4}), bad = tensor({0, 1, 9});
  EXPECT_THROW(x.index_put_({bad}, ones({3})), IndexError);
  EXPECT_THROW(x.index_add_(0, bad, ones({3})), IndexError);
  EXPECT_THROW(x.index_copy_(0, bad, ones({3})), IndexError);
  EXPECT_THROW(x.index_fill_(0, bad, 1), IndexError);
  EXPECT_THROW(x.scatter_(0, bad, 1), IndexError);
  EXPECT_THROW(x.scatter_add_(0, bad, ones({3})), IndexError);
  EXPECT_TRUE(equal(x, zeros({4})));
  test::expect_words(test::text_of<IndexError>([&] { x.gather(0, bad); }),
                     {"gather", "index 9 is out of bounds for dimension 0 of size 4"});
}

TEST(Indexing, DuplicatesSum) {
  Tensor at = tensor({1, 1, 0, 1});
  EXPECT_TRUE(equal(zeros({2}).index_put_({at}, ones({4})), tensor({1., 1.})));
  Tensor x = zeros({2});
  x.index_put_(ArrayRef<std::optional<Tensor>>(std::optional<Tensor>(at)), ones({4}), true);
  EXPECT_TRUE(equal(x, tensor({1., 3.})));
  EXPECT_TRUE(equal(zeros({2}).scatter_add(0, at, ones({4})), tensor({1., 3.})));
  EXPECT_TRUE(equal(zeros({2}).index_add(0, at, ones({4}), 2), tensor({2., 6.})));
  // 4096 ones do not fit bfloat16 one by one; their sum does.
  Tensor many = zeros({4096}, TensorOptions(kLong));
  EXPECT_EQ(zeros({1}, TensorOptions(kBFloat16))
                .index_add(0, many, ones({4096}, TensorOptions(kBFloat16)))
                .item<float>(),
            4096);
}

// The values are libtorch's.
TEST(Indexing, ScatterAddsAndMultiplies) {
  const Tensor at = tensor({0, 0, 1, 1}).view({2, 2}), src = tensor({2, 3, 4, 5}).view({2, 2});
  for (ScalarType t : {kLong, kByte, kFloat, kHalf}) {
    const Tensor x = arange(1, 7).view({2, 3}).to(t);
    const auto expect = [&](const Tensor& given, std::vector<int64_t> values) {
      EXPECT_TRUE(equal(given, tensor(values).view({2, 3}).to(t))) << given;
    };
    expect(scatter(x, 1, at, src.to(t), "add"), {6, 2, 3, 4, 14, 6});
    expect(scatter(x, 1, at, src.to(t), "multiply"), {6, 2, 3, 4, 100, 6});
    expect(scatter(x, 1, at, 3, "add"), {7, 2, 3, 4, 11, 6});
    expect(x.clone().scatter_(1, at, 2, "multiply"), {4, 2, 3, 4, 20, 6});
    Tensor out = empty({0}, TensorOptions(t));
    expect(scatter_out(out, x, 1, at, 3, "multiply"), {9, 2, 3, 4, 45, 6});
  }
  const Tensor x = zeros({2, 3});
  test::expect_words(test::text_of<ValueError>([&] { x.scatter(1, at, 1, "sum"); }),
                     {"add or multiply", "'sum'"});
  EXPECT_THROW(x.scatter(1, at + 5, 1, "add"), IndexError);
}

TEST(Indexing, SecondDerivatives) {
  Tensor x = rand({4, 3}, TensorOptions(kDouble)).requires_grad_();
  Tensor at = tensor({2, 0, 2});
  auto twice = [&](const Tensor& y) {
    Tensor g = autograd::grad({(y * y * y).sum()}, {x}, {}, true, true)[0];
    return autograd::grad({g.sum()}, {x})[0];
  };
  Tensor counts =
      zeros({4, 1}, TensorOptions(kDouble)).index_add_(0, at, ones({3, 1}, TensorOptions(kDouble)));
  Tensor expected = (6 * x * counts).detach();
  EXPECT_TRUE(allclose(twice(x.index_select(0, at)), expected));
  EXPECT_TRUE(allclose(twice(x.index({at})), expected));
  EXPECT_TRUE(allclose(twice(x.gather(0, at.view({3, 1}).expand({3, 3}))), expected));
  EXPECT_TRUE(allclose(twice(embedding(x, at)), expected));
  Tensor mask = x.detach().gt(0.5);
  EXPECT_TRUE(allclose(twice(x.masked_select(mask)), (6 * x * mask).detach()));
  EXPECT_TRUE(allclose(twice(x.masked_fill(mask, 2)), (6 * x * mask.logical_not()).detach()));
  EXPECT_TRUE(allclose(twice(cat({x, x}, 1)), (12 * x).detach()));
}

TEST(Indexing, AssignmentThroughTemporaries) {
  Tensor x = zeros({3, 3});
  x.index({Slice(0, 2), 1}) = tensor({5., 6.});
  x[2] = 7;
  EXPECT_TRUE(equal(x, tensor({{0., 5., 0.}, {0., 6., 0.}, {7., 7., 7.}}))) << x;
}

TEST(Indexing, EntriesTellWhatTheyAre) {
  const std::vector<indexing::TensorIndex> all = {None, "...", 2, true, Slice(1, None, 2)};
  EXPECT_TRUE(all[0].is_none() && all[1].is_ellipsis() && all[3].boolean());
  EXPECT_EQ(all[2].integer(), 2);
  EXPECT_EQ(all[4].slice().stop(), indexing::INDEX_MAX);
  std::ostringstream out;
  out << std::vector<indexing::TensorIndex>{None, "...", 2, true, Slice(1, 4)};
  EXPECT_EQ(out.str(), "(None, ..., 2, true, 1:4:1)");
  test::expect_words(test::text_of<ValueError>([] { indexing::TensorIndex(".."); }),
                     {"ellipsis", "\"..\""});
}

}  // namespace
}  // namespace tenon
