// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/loops.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace tenon::sdk;

namespace {

struct Made {
  std::vector<int64_t> sizes, strides;
  std::vector<int32_t> data;
  tn_tensor t{};
  Made(std::vector<int64_t> size, std::vector<int64_t> stride, std::size_t n)
      : sizes(size), strides(stride), data(n) {
    std::iota(data.begin(), data.end(), 0);
    t.data = data.data();
    t.ndim = static_cast<int32_t>(sizes.size());
    t.dtype = kInt32;
    t.sizes = sizes.data();
    t.strides = strides.data();
  }
  Tensor view() const { return Tensor(&t); }
};

void copy(const StridedLoop& loop, int64_t begin, int64_t end) {
  loop.run(begin, end, [](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<int32_t*>(p[0] + i * s[0]) =
          *reinterpret_cast<const int32_t*>(p[1] + i * s[1]);
    }
  });
}

}  // namespace

TEST(StridedLoop, MergesContiguousDimensions) {
  Made a({2, 3, 4}, {12, 4, 1}, 24), b({2, 3, 4}, {12, 4, 1}, 24);
  StridedLoop loop(a.view().sizes());
  loop.add(a.view());
  loop.add(b.view());
  loop.finish();
  EXPECT_EQ(loop.ndim, 1);
  EXPECT_EQ(loop.sizes[0], 24);
}

TEST(StridedLoop, BroadcastsAndTransposes) {
  Made out({3, 4}, {4, 1}, 12), column({3, 1}, {1, 1}, 3), turned({3, 4}, {1, 3}, 12);
  StridedLoop loop(out.view().sizes());
  loop.add(out.view());
  loop.add(column.view());
  loop.finish();
  copy(loop, 0, 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(out.data[static_cast<std::size_t>(i)], i / 4);
  StridedLoop other(out.view().sizes());
  other.add(out.view());
  other.add(turned.view());
  other.finish();
  for (int64_t cut = 0; cut <= 12; ++cut) {
    std::fill(out.data.begin(), out.data.end(), -1);
    copy(other, 0, cut);
    copy(other, cut, 12);
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(out.data[static_cast<std::size_t>(i)], i / 4 + i % 4 * 3);
  }
}

TEST(StridedLoop, ZeroDimensions) {
  Made out({}, {}, 1), in({}, {}, 1);
  in.data[0] = 5;
  StridedLoop loop(out.view().sizes());
  loop.add(out.view());
  loop.add(in.view());
  loop.finish();
  copy(loop, 0, loop.numel);
  EXPECT_EQ(out.data[0], 5);
}
