// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Duplicate indices combined in the order of positions: bitwise equal to the CPU.
#include <cmath>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaIndex = CudaAlone;

Tensor places(IntArrayRef sizes, int64_t below) { return randint(below, sizes, kLong); }
Tensor values(IntArrayRef sizes, ScalarType dtype = kFloat) { return (randn(sizes) * 8).to(dtype); }

TEST_F(CudaIndex, AFixedOrderGivesTheBitsOfTheCpu) {
  manual_seed(1);
  core::set_deterministic(true);
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor self = values({7, 5}, dtype), by_element = places({40, 5}, 7),
                 row = places({40}, 7);
    const Tensor half = arange(7) > 3, src = values({40, 5}, dtype), column = places({1, 6}, 5),
                 mixed = values({40, 6}, dtype);
    compare([&](auto on) { return on(self).scatter_add(0, on(by_element), on(src)); });
    compare([&](auto on) { return on(self).scatter(0, on(by_element), on(src)); });
    compare([&](auto on) {
      return on(self).scatter_add(0, on(row).unsqueeze(1).expand({40, 5}), on(src));
    });
    compare([&](auto on) { return on(self).index_add(0, on(row), on(src), 0.5); });
    compare([&](auto on) { return on(self).t().index_add(1, on(row), on(src).t()); });
    compare([&](auto on) { return on(self).index_copy(0, on(row), on(src)); });
    compare([&](auto on) { return on(self).index_put({on(row)}, on(src), true); });
    compare([&](auto on) { return on(self).index_put({on(row)}, on(src)); });
    compare([&](auto on) {
      return on(self).index_put({on(row).unsqueeze(1), on(column)}, on(mixed), true);
    });
    compare([&](auto on) { return on(self).index_put({on(half)}, on(src).slice(0, 0, 1)); });
  }
}

TEST_F(CudaIndex, CountsDecideMeansAndUntouchedElements) {
  manual_seed(2);
  for (ScalarType dtype : {kFloat, kHalf, kLong, kChar}) {
    const Tensor self = values({4, 30}, dtype), by = places({90, 30}, 4),
                 src = values({90, 30}, dtype);
    const Tensor row = places({90}, 4);
    for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"}) {
      for (bool with_self : {true, false}) {
        if (with_self && dtype == kHalf) continue;  // atomics round each step
        if (with_self && dtype == kFloat && std::string_view(reduce) != "mean") continue;
        compare([&](auto on) {
          return on(self).scatter_reduce(0, on(by), on(src), reduce, with_self);
        });
        if (std::string_view(reduce) == "sum") continue;
        compare(
            [&](auto on) { return on(self).index_reduce(0, on(row), on(src), reduce, with_self); });
      }
    }
  }
}

// So many duplicates that a block combines them; one column, some, and more than a warp has lanes.
TEST_F(CudaIndex, ManyDuplicates) {
  manual_seed(7);
  core::set_deterministic(true);
  for (int64_t width : {1, 3, 40}) {
    const Tensor self = values({3, width}, kDouble), src = values({2100, width}, kDouble);
    const Tensor row = (places({2100}, 20) == 0).to(kLong) + (places({2100}, 1000) == 0).to(kLong);
    const Tensor whole = src.to(kLong);
    const auto add = [&](auto on) { return on(self).index_add(0, on(row), on(src), 0.5); };
    const Tensor expected = add([](const Tensor& t) { return t; });
    const Tensor got = add([](const Tensor& t) { return t.to(kCUDA); });
    EXPECT_TRUE(allclose(got.cpu(), expected, 1e-12, 1e-10)) << width;
    const Tensor single =
        self.to(kFloat).to(kCUDA).index_add(0, row.to(kCUDA), src.to(kFloat).to(kCUDA), 0.5);
    EXPECT_TRUE(allclose(single.cpu().to(kDouble), expected, 1e-4, 1e-2)) << width;
    compare([&](auto on) { return on(self).index_copy(0, on(row), on(src)); });
    for (bool with_self : {true, false}) {
      compare([&](auto on) {
        return on(self.to(kLong)).index_reduce(0, on(row), on(whole), "mean", with_self);
      });
      compare(
          [&](auto on) { return on(self).index_reduce(0, on(row), on(src), "amin", with_self); });
    }
  }
}

// The first needs no count of the mask; the others do.
TEST_F(CudaIndex, MasksAmongTheIndices) {
  manual_seed(3);
  const Tensor self = values({3, 50, 20, 2}), mask = rand({50, 20}) < 0.3, one = values({1});
  const int64_t n = mask.sum().item<int64_t>();
  const Tensor rows = values({3, n, 2}), selected = places({3, 1}, 3);
  const auto none = std::optional<Tensor>();
  compare([&](auto on) { return on(self).index_put({none, on(mask)}, on(one)); });
  compare([&](auto on) {
    return on(self).index_put({none, on(mask).t().contiguous().t()}, on(rows));
  });
  compare([&](auto on) { return on(self).index_put({none, on(mask)}, on(rows), true); });
  compare([&](auto on) {
    return on(self).index_put({on(arange(3)).unsqueeze(1), on(mask)}, on(rows));
  });
  compare([&](auto on) { return on(self).masked_select(on(mask).unsqueeze(-1)); });
  const Tensor short_of = values({3, n + 1, 2}).to(kCUDA);
  EXPECT_THROW(self.to(kCUDA).index_put({none, mask.to(kCUDA)}, short_of), IndexError);
}

// Rows that can be moved sixteen, eight, or fewer bytes at a time, and rows that are not aligned.
TEST_F(CudaIndex, RowsAreMovedInWideElements) {
  manual_seed(5);
  const Tensor row = places({40}, 9).to(kInt), distinct = randperm(9, kLong),
               other = places({9}, 4);
  for (ScalarType dtype : {kByte, kHalf, kFloat, kDouble}) {
    for (int64_t width : {1, 2, 3, 4, 6, 8, 16, 31, 32}) {
      const Tensor whole = values({9 * (width + 1) + 1}, kFloat).to(dtype),
                   self = whole.slice(0, 0, 9 * width).view({9, width}),
                   odd = whole.slice(0, 1, 9 * width + 1).view({9, width}),
                   apart = whole.slice(0, 0, 9 * (width + 1)).view({9, width + 1}).slice(1, 1);
      for (const Tensor& t : {self, odd, apart}) {
        // The offset and the strides remain on the device.
        const auto there = [&](auto on) {
          return on(whole).as_strided(t.sizes(), t.strides(), t.storage_offset());
        };
        compare([&](auto on) { return there(on).index_select(0, on(row)); });
        compare([&](auto on) { return there(on).index({on(row.to(kLong)).view({8, 5})}); });
        compare([&](auto on) { return there(on).index_copy(0, on(distinct), there(on).flip(0)); });
        compare([&](auto on) {
          return there(on)
              .unsqueeze(0)
              .expand({4, 9, width})
              .contiguous()
              .index_put({on(other), on(distinct)}, there(on).flip(0));
        });
      }
    }
  }
}

// Enough slices for several passes of the merge, with NaN.
TEST_F(CudaIndex, DifferentSlices) {
  manual_seed(4);
  const Tensor self = randint(3, {2, 333, 2}, kLong), floats = self.to(kFloat);
  floats.index_put_({self == 2}, full({1}, NAN));
  for (const Tensor& t : {self, floats}) {
    for (bool sorted : {true, false}) {
      const auto f = [&](const Tensor& x) {
        return sorted ? unique_dim(x, 1, true, true, true) : unique_consecutive(x, true, true, 1);
      };
      const auto [kept, inverse, counts] = f(t);
      const auto [kept_there, inverse_there, counts_there] = f(t.to(kCUDA));
      EXPECT_TRUE(allclose(kept_there.cpu(), kept, 0, 0, true));
      EXPECT_TRUE(equal(inverse_there.cpu(), inverse));
      EXPECT_TRUE(equal(counts_there.cpu(), counts));
    }
  }
}

TEST_F(CudaIndex, ErrorsNameTheCall) {
  const Tensor self = zeros({4}, kCUDA), mask = ones({4}, kBool).to(kCUDA);
  EXPECT_THROW(self.masked_scatter(mask, ones({3}, kCUDA)).cpu(), ValueError);
  EXPECT_THROW(self.index_reduce(0, full({1}, 4, kLong).to(kCUDA), ones({1}, kCUDA), "mean").cpu(),
               IndexError);
  EXPECT_THROW(repeat_interleave(full({2}, -1, kLong).to(kCUDA)).cpu(), ValueError);
  EXPECT_THROW(histc(full({2}, INFINITY).to(kCUDA)).cpu(), ValueError);
}

}  // namespace
}  // namespace tenon::test
