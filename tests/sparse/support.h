// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sparse tensors: small ones, and random ones for the loops.
#pragma once

#include <limits>
#include <vector>

#include "tenon/runtime/allocator.h"
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
  Tensor dense() const {
    return tensor({0., 0., 0., 3., 0., 0., 6., 0., 1., 0., 0., 0.}).to(kDouble).reshape({3, 4});
  }
};

// [3, 2, 2]: two rows of 2 x 2 in one sparse dimension, the last first.
inline Tensor hybrid(Device device) {
  return sparse_coo_tensor(ints({2, 0}, {1, 2}).to(device),
                           arange(1, 9, TensorOptions(kDouble)).reshape({2, 2, 2}).to(device),
                           {3, 2, 2});
}

inline void expect_equal(const Tensor& got, const Tensor& expected) {
  const Tensor a = got.to_dense().cpu(), b = expected.to_dense().cpu();
  EXPECT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(a.equal(b)) << got << "\ninstead of\n" << expected;
}

// [4, 4], with an index out of range in either dimension, coalesced by their own claim or not: what
// a construction without checks lets through.
inline std::vector<Tensor> out_of_range() {
  const Tensor values = ones({3}, TensorOptions(kFloat));
  std::vector<Tensor> all;
  for (int64_t bad : {int64_t{-1}, int64_t{4}, std::numeric_limits<int64_t>::max(),
                      std::numeric_limits<int64_t>::min()}) {
    for (int64_t dim : {0, 1}) {
      Tensor at = zeros({2, 3}, TensorOptions(kLong));
      at.select(0, dim).fill_(bad);
      for (bool claim : {false, true})
        all.push_back(_sparse_coo_tensor_unsafe(at, values, {4, 4})._coalesced_(claim));
    }
  }
  return all;
}

inline constexpr int64_t kMany = 70000;  // more than a block of anything

inline constexpr ScalarType kAll[] = {kBool, kByte, kChar,     kShort, kInt,
                                      kLong, kHalf, kBFloat16, kFloat, kDouble};

// Columns at random below `sizes`, each several times if there are few elements.
inline Tensor columns(int64_t n, IntArrayRef sizes) {
  std::vector<Tensor> rows;
  for (int64_t s : sizes) rows.push_back(randint(0, s, {n}, TensorOptions(kLong)));
  return rows.empty() ? empty({0, n}, TensorOptions(kLong)) : stack(rows);
}

// Small integers, whose sums and products are exact in every dtype that is wide enough.
inline Tensor whole(IntArrayRef sizes, ScalarType dtype) {
  return randint(0, 3, sizes, TensorOptions(kLong)).to(dtype);
}

// With the first dimensions of `sizes` sparse.
inline Tensor random_sparse(int64_t n, IntArrayRef sizes, int64_t sparse, ScalarType dtype) {
  std::vector<int64_t> of_values{n};
  of_values.insert(of_values.end(), sizes.begin() + sparse, sizes.end());
  return sparse_coo_tensor(columns(n, sizes.slice(0, static_cast<std::size_t>(sparse))),
                           whole(of_values, dtype), sizes);
}

// Row-major linear indices of elements.
inline Tensor keys(const Tensor& t) {
  Tensor key = zeros({t._nnz()}, TensorOptions(kLong));
  for (int64_t d = 0; d < t.sparse_dim(); ++d) key = key * t.size(d) + t._indices().select(0, d);
  return key;
}

inline void expect_same(const Tensor& got, const Tensor& expected, const std::string& what) {
  const Tensor a = got.cpu().contiguous(), b = expected.cpu().contiguous();
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  ASSERT_EQ(a.scalar_type(), b.scalar_type()) << what;
  EXPECT_TRUE(a.equal(b)) << what;
}

inline void expect_same_parts(const Tensor& got, const Tensor& expected, const std::string& what) {
  EXPECT_TRUE(got.is_coalesced()) << what;
  expect_same(got._indices(), expected._indices(), what + ", indices");
  expect_same(got._values(), expected._values(), what + ", values");
}

// How far f raises the peak of the host's memory: nothing that large may have been made before in
// this process.
template <class F>
uint64_t more_at_peak(F&& f) {
  const uint64_t before = core::memory_stats(core::kHost).allocated_peak;
  f();
  return core::memory_stats(core::kHost).allocated_peak - before;
}

}  // namespace tenon::test
