// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// plugin_sparse_cuda on a device: more blocks than run at once. Integers, whose sums are exact in
// any order.
#include "tenon/plugins/plugins.h"
#include "tests/cuda/gpu/gpu.h"

namespace tenon::test {
namespace {

class GpuSparse : public OnGpu {
 protected:
  // A third of the elements in one row.
  static Tensor random(int64_t rows, int64_t columns, int64_t nnz) {
    const TensorOptions whole(kLong);
    const Tensor row =
        cat({randint(0, rows, {nnz - nnz / 3}, whole), full({nnz / 3}, rows / 2, whole)});
    return sparse_coo_tensor(stack({row, randint(0, columns, {nnz}, whole)}),
                             randint(0, 4, {nnz}, kFloat), {rows, columns});
  }
};

TEST_F(GpuSparse, OwnKernelsAreOpen) {
  (void)random(3, 3, 4).to(kCUDA).coalesce();
  bool open = false;
  for (const plugins::Info& i : plugins::list()) {
    open |= i.name == "sparse_cuda" && i.state == plugins::State::Opened && i.quarantined.empty();
  }
  EXPECT_TRUE(open);
}

TEST_F(GpuSparse, DuplicatesAreSummedAsOnTheHost) {
  for (int64_t nnz : {1000, 300000}) {
    const Tensor t = random(5000, 70, nnz), here = t.coalesce(), there = t.to(kCUDA).coalesce();
    EXPECT_TRUE(equal(there.indices().cpu(), here.indices()));
    EXPECT_TRUE(equal(there.values().cpu(), here.values()));
    EXPECT_TRUE(equal(t.to(kCUDA).to_dense().cpu(), here.to_dense()));
    EXPECT_TRUE(equal(there.mul(t.to(kCUDA)).to_dense().cpu(), here.mul(here).to_dense()));
  }
}

TEST_F(GpuSparse, ProductsAgreeWithTheHost) {
  const Tensor t = random(5000, 700, 300000), c = t.coalesce();
  for (int64_t k : {1, 7, 64, 260}) {
    const Tensor x = randint(0, 3, {700, k}, kFloat), expected = t.mm(x);
    for (const Tensor& s : {t, c})
      EXPECT_TRUE(equal(s.to(kCUDA).mm(x.to(kCUDA)).cpu(), expected)) << k;
    EXPECT_TRUE(equal(x.t().to(kCUDA).mm(t.t().to(kCUDA)).cpu(), expected.t())) << k;
  }
}

}  // namespace
}  // namespace tenon::test
