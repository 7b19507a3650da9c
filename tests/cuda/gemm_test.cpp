// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products by cuBLASLt: how the plugin describes row-major matrices of any strides.
#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

class CudaGemm : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    core::reset_fallback_counts();
  }
  // Only copies of operands went through the host.
  void TearDown() override {
    for (const core::FallbackCount& c : core::fallback_counts()) {
      EXPECT_TRUE(c.op == "clone" || c.op == "copy" || c.op == "zero")
          << c.op << " was " << core::toString(c.by) << ": " << c.reason;
    }
    Cuda::TearDown();
  }
};

// Small integers: every product is exact in every dtype.
Tensor integers(IntArrayRef sizes, ScalarType dtype, int seed) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, kLong).mul(2 * seed + 1).add(seed).remainder(5).sub(2).to(dtype).view(sizes);
}

Tensor on_device(const Tensor& t, bool turned) {
  return turned ? t.transpose(-1, -2).contiguous().to(kCUDA).transpose(-1, -2) : t.to(kCUDA);
}

constexpr ScalarType kFloats[] = {kFloat, kDouble, kHalf, kBFloat16};

TEST_F(CudaGemm, MmOfEveryDtypeAndOrder) {
  for (ScalarType dtype : kFloats) {
    for (int order = 0; order < 4; ++order) {
      using Sizes = std::array<int64_t, 3>;
      for (Sizes mkn :
           {Sizes{3, 4, 5}, Sizes{1, 7, 2}, Sizes{6, 1, 1}, Sizes{1, 1, 9}, Sizes{80, 33, 70}}) {
        const Tensor a = integers({mkn[0], mkn[1]}, dtype, 1),
                     b = integers({mkn[1], mkn[2]}, dtype, 2);
        const Tensor y = mm(on_device(a, order & 1), on_device(b, order & 2));
        EXPECT_TRUE(equal(y.cpu(), mm(a, b)))
            << toString(dtype) << " order " << order << " of " << mkn[0];
      }
    }
  }
}

TEST_F(CudaGemm, AnOperandWithoutAContiguousDimensionIsCopied) {
  const Tensor a = integers({6, 8}, kFloat, 1), b = integers({8, 10}, kFloat, 2);
  const Tensor there = b.to(kCUDA).slice(1, 0, 10, 2);
  EXPECT_TRUE(equal(mm(a.to(kCUDA).slice(0, 0, 6, 2), there).cpu(),
                    mm(a.slice(0, 0, 6, 2), b.slice(1, 0, 10, 2))));
  EXPECT_TRUE(equal(mm(integers({1, 8}, kFloat, 3).to(kCUDA).expand({4, 8}), there).cpu(),
                    mm(integers({1, 8}, kFloat, 3).expand({4, 8}), b.slice(1, 0, 10, 2))));
}

TEST_F(CudaGemm, BatchesAndBatchesOfOneMatrix) {
  for (ScalarType dtype : kFloats) {
    const Tensor a = integers({3, 4, 5}, dtype, 1), b = integers({3, 5, 6}, dtype, 2);
    for (int order = 0; order < 4; ++order) {
      EXPECT_TRUE(equal(bmm(on_device(a, order & 1), on_device(b, order & 2)).cpu(), bmm(a, b)))
          << toString(dtype) << order;
    }
    const Tensor one = integers({1, 5, 6}, dtype, 3).expand({3, 5, 6});
    EXPECT_TRUE(
        equal(bmm(a.to(kCUDA), integers({1, 5, 6}, dtype, 3).to(kCUDA).expand({3, 5, 6})).cpu(),
              bmm(a, one)));
  }
}

TEST_F(CudaGemm, ABiasIsTheEpilogue) {
  for (ScalarType dtype : kFloats) {
    const Tensor bias = integers({6}, dtype, 1), a = integers({4, 5}, dtype, 2),
                 b = integers({5, 6}, dtype, 3);
    EXPECT_TRUE(
        equal(addmm(bias.to(kCUDA), a.to(kCUDA), on_device(b, true)).cpu(), addmm(bias, a, b)))
        << toString(dtype);
    EXPECT_TRUE(
        equal(nn::functional::linear(a.to(kCUDA), on_device(b, true).t(), bias.to(kCUDA)).cpu(),
              nn::functional::linear(a, b.t(), bias)));
  }
}

TEST_F(CudaGemm, AnActivationIsTheEpilogue) {
  for (ScalarType dtype : {kFloat, kHalf, kBFloat16}) {
    const Tensor bias = integers({6}, dtype, 1), a = integers({4, 5}, dtype, 2),
                 b = integers({5, 6}, dtype, 3);
    const Tensor rows = integers({4, 6}, dtype, 4), x = a.to(kCUDA), y = on_device(b, true);
    for (const Tensor& self : {bias, rows}) {
      const Tensor s = self.to(kCUDA);
      EXPECT_TRUE(equal(_addmm_activation(s, x, y).cpu(), addmm(self, a, b).relu()))
          << toString(dtype);
      EXPECT_TRUE(equal(_addmm_activation(s, x, y, 0, 2).cpu(), mm(a, b).mul(2).relu()));
      EXPECT_TRUE(allclose(_addmm_activation(s, x, y, 1, 1, true).cpu(),
                           gelu(addmm(self, a, b), "tanh"), 1e-2, 1e-2));
    }
    EXPECT_TRUE(allclose(_addmm_activation(bias.to(kCUDA), x, y, 1, 1, true).cpu().to(kFloat),
                         gelu(addmm(bias.to(kFloat), a.to(kFloat), b.to(kFloat)), "tanh"), 1e-2,
                         1e-2));
  }
}

// cuBLAS has no activations for doubles: product and activation are two ops then.
TEST_F(CudaGemm, DoublesAreActivatedApart) {
  const Tensor bias = integers({6}, kDouble, 1), a = integers({4, 5}, kDouble, 2),
               b = integers({5, 6}, kDouble, 3);
  const Tensor y = _addmm_activation(bias.to(kCUDA), a.to(kCUDA), b.to(kCUDA));
  EXPECT_TRUE(equal(y.cpu(), addmm(bias, a, b).relu()));
  core::reset_fallback_counts();
}

TEST_F(CudaGemm, AddendsAndFactors) {
  for (ScalarType dtype : kFloats) {
    const Tensor self = integers({4, 6}, dtype, 1), a = integers({4, 5}, dtype, 2),
                 b = integers({5, 6}, dtype, 3);
    const Tensor s = self.to(kCUDA), x = a.to(kCUDA), y = b.to(kCUDA);
    EXPECT_TRUE(equal(addmm(s, x, y, 2, 3).cpu(), addmm(self, a, b, 2, 3))) << toString(dtype);
    EXPECT_TRUE(equal(s.cpu(), self)) << "the addend is only read";
    Tensor in_place = s.clone();
    in_place.addmm_(x, y, 1, -1);
    EXPECT_TRUE(equal(in_place.cpu(), addmm(self, a, b, 1, -1)));
    const Tensor nan = full({4, 6}, std::numeric_limits<double>::quiet_NaN(), dtype).to(kCUDA);
    EXPECT_TRUE(equal(addmm(nan, x, y, 0).cpu(), mm(a, b))) << "beta 0 does not read it";
    const Tensor batch = integers({2, 4, 6}, dtype, 4), p = integers({2, 4, 5}, dtype, 5),
                 q = integers({2, 5, 6}, dtype, 6);
    EXPECT_TRUE(equal(baddbmm(batch.to(kCUDA), p.to(kCUDA), q.to(kCUDA), 3, 2).cpu(),
                      baddbmm(batch, p, q, 3, 2)));
  }
}

TEST_F(CudaGemm, VectorsOfAnyStep) {
  for (ScalarType dtype : kFloats) {
    const Tensor m = integers({4, 6}, dtype, 1), v = integers({12}, dtype, 2),
                 w = integers({4}, dtype, 3);
    const Tensor mt = m.to(kCUDA), vt = v.to(kCUDA), wt = w.to(kCUDA);
    EXPECT_TRUE(equal(mv(mt, vt.slice(0, 0, 12, 2)).cpu(), mv(m, v.slice(0, 0, 12, 2))))
        << toString(dtype);
    EXPECT_TRUE(equal(mv(mt.t(), wt).cpu(), mv(m.t(), w)));
    EXPECT_TRUE(equal(addmv(wt, mt, vt.slice(0, 6, 12), 2, -1).cpu(),
                      addmv(w, m, v.slice(0, 6, 12), 2, -1)));
    EXPECT_TRUE(equal(dot(vt, vt).cpu(), dot(v, v)));
    EXPECT_TRUE(equal(dot(vt.slice(0, 0, 12, 3), wt).cpu(), dot(v.slice(0, 0, 12, 3), w)));
  }
}

TEST_F(CudaGemm, NothingTimesNothing) {
  EXPECT_EQ(mm(zeros({0, 4}, kCUDA), zeros({4, 3}, kCUDA)).numel(), 0);
  EXPECT_TRUE(equal(mm(zeros({2, 0}, kCUDA), zeros({0, 3}, kCUDA)).cpu(), zeros({2, 3})));
}

TEST_F(CudaGemm, OutputsByColumns) {
  const Tensor a = integers({4, 5}, kFloat, 2), b = integers({5, 6}, kFloat, 3);
  Tensor out = empty({6, 4}, kCUDA).t();
  mm_out(out, a.to(kCUDA), b.to(kCUDA));
  EXPECT_TRUE(equal(out.cpu(), mm(a, b)));
}

// A failure names the call, and the next product works.
TEST_F(CudaGemm, EachCallFailsOnce) {
  const Tensor a = integers({70, 80}, kFloat, 1), b = integers({80, 90}, kFloat, 2),
               right = mm(a, b);
  const Tensor x = a.to(kCUDA), y = b.to(kCUDA);
  int n = 1, raised = 0;
  for (;; ++n) {
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    const std::string text = text_of<std::exception>([&] { (void)mm(x, y).cpu(); });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    if (!hit) break;
    raised += !text.empty();
    EXPECT_TRUE(text.empty() || has(text, "failed")) << text;
    EXPECT_TRUE(equal(mm(x, y).cpu(), right)) << n;
  }
  printf("%d calls failed, %d of them raised an error\n", n - 1, raised);
  EXPECT_GE(raised, 3);
}

TEST_F(CudaGemm, AProductIsCaptured) {
  const Tensor a = integers({3, 4}, kFloat, 1), b = integers({4, 5}, kFloat, 2), x = a.to(kCUDA),
               y = b.to(kCUDA);
  Graph g;
  g.capture_begin();
  const Tensor out = mm(mm(x, y), y.t());
  g.capture_end();
  for (int k = 1; k < 4; ++k) {
    x.copy_(a.mul(k));
    g.replay();
    EXPECT_TRUE(equal(out.cpu(), mm(mm(a.mul(k), b), b.t()))) << k;
  }
}

}  // namespace
}  // namespace tenon::test
