// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small sparse tensors.
#pragma once

#include <vector>

#include "tenon/core/allocator.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon::test {

inline Tensor ints(const std::vector<int64_t>& v, IntArrayRef sizes) {
  return tensor(v, TensorOptions(kLong)).reshape(sizes);
}

// [3, 4]: element (1, 2) twice, out of order. Values 1 to 4.
struct Twice {
  const Device device;
  const Tensor indices = ints({2, 1, 0, 1, 0, 2, 3, 2}, {2, 4}).to(device);
  const Tensor values = arange(1, 5, TensorOptions(kDouble)).to(device);
  Tensor make() const { return sparse_coo_tensor(indices, values, {3, 4}); }
  Tensor dense() const { return tensor({0., 0., 0., 3., 0., 0., 6., 0., 1., 0., 0., 0.}).to(kDouble).reshape({3, 4}); }
};

// [3, 2, 2]: two rows of 2 x 2 in one sparse dimension, the last first.
inline Tensor hybrid(Device device) {
  return sparse_coo_tensor(ints({2, 0}, {1, 2}).to(device),
                           arange(1, 9, TensorOptions(kDouble)).reshape({2, 2, 2}).to(device), {3, 2, 2});
}

inline void expect_equal(const Tensor& got, const Tensor& expected) {
  const Tensor a = got.to_dense().cpu(), b = expected.to_dense().cpu();
  EXPECT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(a.equal(b)) << got << "\ninstead of\n" << expected;
}

// How far f raises the peak of the host's memory: nothing that large may have been made before in this process.
template <class F>
uint64_t more_at_peak(F&& f) {
  const uint64_t before = core::memory_stats(0, 0).allocated_peak;
  f();
  return core::memory_stats(0, 0).allocated_peak - before;
}

}  // namespace tenon::test
