// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Duplicates, components, writes, printing and conversions, on the host and on a device.
#include "tenon/core/layout.h"
#include "tenon/plugins/plugins.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using namespace test;

struct Sparse : testing::TestWithParam<const char*> {
  const Device device = Device(GetParam());
  const test::Twice twice{device};
};
INSTANTIATE_TEST_SUITE_P(On, Sparse, testing::Values("cpu", "ref"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(Sparse, DuplicatesAreSums) {
  const Tensor t = twice.make();
  EXPECT_EQ(t._nnz(), 4);
  expect_equal(t, twice.dense());
  const Tensor c = t.coalesce();
  EXPECT_TRUE(c.is_coalesced());
  EXPECT_FALSE(t.is_coalesced());
  EXPECT_EQ(c._nnz(), 3);
  EXPECT_TRUE(c.indices().cpu().equal(ints({0, 1, 2, 3, 2, 0}, {2, 3})));
  EXPECT_TRUE(c.values().cpu().equal(tensor({3., 6., 1.}).to(kDouble)));
  expect_equal(c, twice.dense());
  EXPECT_TRUE(c.coalesce().is_same(c));
}

TEST_P(Sparse, CheckedAccessorsWantACoalescedTensor) {
  const Tensor t = twice.make();
  expect_words(text_of<ValueError>([&] { (void)t.indices(); }),
               {"indices", "uncoalesced", "coalesce"});
  expect_words(text_of<ValueError>([&] { (void)t.values(); }),
               {"values", "uncoalesced", "coalesce"});
  EXPECT_EQ(t._indices().sizes(), IntArrayRef({2, 4}));
  EXPECT_EQ(t._values().numel(), 4);
  expect_words(text_of<TypeError>([&] { (void)twice.values.sparse_dim(); }),
               {"sparse_dim", "strided"});
}

TEST_P(Sparse, HybridTensors) {
  const Tensor t = hybrid(device);
  EXPECT_EQ(t.sparse_dim(), 1);
  EXPECT_EQ(t.dense_dim(), 2);
  const Tensor d = t.to_dense().cpu();
  EXPECT_TRUE(d[2].equal(arange(1, 5, TensorOptions(kDouble)).reshape({2, 2})));
  EXPECT_EQ(d[1].abs().sum().item<double>(), 0);
  expect_equal(t + t, d * 2);
  expect_equal(t.coalesce(), d);
  expect_equal(t.sum(), d.sum());
  expect_equal(d.to(device).to_sparse(1), d);
}

TEST_P(Sparse, Transposes) {
  const Tensor t = twice.make(), d = twice.dense();
  EXPECT_EQ(t.t().layout(), kSparse);
  expect_equal(t.t(), d.t());
  expect_equal(t.transpose(0, 1).transpose(-1, 0), d);
  expect_equal(hybrid(device).transpose(1, 2), hybrid(device).to_dense().transpose(1, 2));
}

TEST_P(Sparse, AliasesShareAComponent) {
  const Tensor t = twice.make();
  EXPECT_TRUE(t.is_alias_of(t));
  EXPECT_TRUE(t.is_alias_of(t._values()) && t._indices().is_alias_of(t));
  EXPECT_TRUE(t.is_alias_of(neg(t)));  // the indices
  EXPECT_FALSE(t.is_alias_of(t.clone()));
  EXPECT_FALSE(t.is_alias_of(t.to_dense()) || t._values().is_alias_of(t._indices()));
}

TEST_P(Sparse, Components) {
  const Tensor t = twice.make(), d = twice.dense(), at = ints({2, 0, 2}, {3});
  expect_equal(t.select(0, 1), d.select(0, 1));
  expect_equal(t.select(1, -1), d.select(1, -1));
  expect_equal(t.slice(1, 1, 4), d.slice(1, 1, 4));
  expect_equal(t.slice(1, 0, 4, 2), d.slice(1, 0, 4, 2));
  expect_equal(t.narrow(0, 1, 2), d.narrow(0, 1, 2));
  expect_equal(t.index_select(0, at.to(device)), d.index_select(0, at));
  expect_equal(t.index_select(1, at.to(device)), d.index_select(1, at));
  expect_equal(cat({t, t}, 0), cat({d, d}, 0));
  expect_equal(cat({t, t}, 1), cat({d, d}, 1));
  const Tensor h = hybrid(device), hd = h.to_dense().cpu();
  expect_equal(cat({h, h}, 2), cat({hd, hd}, 2));
  expect_equal(h.select(2, 1), hd.select(2, 1));
  expect_equal(h.index_select(1, ints({1}, {1}).to(device)), hd.narrow(1, 1, 1));
}

TEST_P(Sparse, WritesReplaceTheComponents) {
  Tensor t = twice.make();
  const Tensor d = twice.dense(), kept = t.clone();
  t.add_(t, 2);
  expect_equal(t, d * 3);
  t.mul_(2);
  expect_equal(t, d * 6);
  t.zero_();
  EXPECT_EQ(t._nnz(), 0);
  expect_equal(t, d * 0);
  t.copy_(kept);
  expect_equal(t, d);
  t.div_(2);
  expect_equal(t, d / 2);
  expect_equal(kept, d);
  Tensor dense = ones({3, 4}, TensorOptions(kDouble)).to(device);
  dense.add_(kept);
  expect_equal(dense, d + 1);
  expect_words(text_of<TypeError>([&] { t.add_(dense); }), {"add", "strided", "sparse_coo"});
  expect_equal(t, d / 2);
}

TEST_P(Sparse, SizesMustAgree) {
  const Tensor t = twice.make();
  expect_words(text_of<ValueError>([&] { (void)t.add(t.t()); }), {"add", "[3, 4]", "[4, 3]"});
  const Tensor row = sparse_coo_tensor({1, 4}, t.options());
  expect_words(text_of<ValueError>([&] { (void)t.add(row); }),
               {"add", "same size", "not broadcast"});
  expect_words(text_of<ValueError>([&] { (void)t.mul(row); }), {"mul", "same size"});
  expect_words(text_of<Error>([&] { (void)t.mm(t); }), {"mm"});
}

TEST_P(Sparse, UnsupportedOperatorsAreNamed) {
  const Tensor t = twice.make();
  expect_words(text_of<NotImplementedError>([&] { (void)t.exp(); }),
               {"exp", "sparse_coo", "to_dense()"});
  expect_words(text_of<NotImplementedError>([&] { (void)t.cumsum(0); }), {"cumsum", "sparse_coo"});
}

TEST_P(Sparse, Products) {
  const Tensor t = twice.make(), d = twice.dense(),
               b = arange(0, 8, TensorOptions(kDouble)).reshape({4, 2});
  expect_equal(t.mm(b.to(device)), d.mm(b));
  expect_equal(b.t().to(device).mm(t.t()), b.t().mm(d.t()));
  expect_equal(t.mv(b.select(1, 1).to(device)), d.mv(b.select(1, 1)));
  expect_equal(t.mm(t.t()), d.mm(d.t()));
  const Tensor start = ones({3, 2}, TensorOptions(kDouble));
  expect_equal(addmm(start.to(device), t, b.to(device), 2, 3), addmm(start, d, b, 2, 3));
  expect_equal(hspmm(t, b.to(device)), d.mm(b));
  expect_equal(smm(t, b.to(device)), d.mm(b));
}

TEST_P(Sparse, ToDeviceAndBack) {
  const Tensor d = twice.dense(), t = d.to(device).to_sparse();
  EXPECT_TRUE(t.is_coalesced());
  EXPECT_EQ(t._nnz(), 3);
  expect_equal(t, d);
  expect_equal(d.to(device).sparse_mask(t), d);
  const Tensor host = t.to(kCPU);
  EXPECT_EQ(host.layout(), kSparse);
  EXPECT_TRUE(host.is_cpu());
  EXPECT_TRUE(host.is_coalesced());
  EXPECT_EQ(t.to(kFloat).scalar_type(), kFloat);
  EXPECT_EQ(t.to(kFloat).layout(), kSparse);
}

TEST(SparseText, Prints) {
  const Tensor t = sparse_coo_tensor(ints({0, 1, 2, 0}, {2, 2}),
                                     tensor({3., 4.}, TensorOptions(kFloat)), {2, 3});
  std::ostringstream out;
  out << t.coalesce();
  EXPECT_EQ(out.str(),
            "tensor(indices=tensor([[0, 1],\n"
            "                       [2, 0]]),\n"
            "       values=tensor([3., 4.]),\n"
            "       size=(2, 3), nnz=2, coalesced=True, layout=sparse_coo)");
}

TEST(SparseText, Type) {
  EXPECT_EQ(sparse_coo_tensor({2, 2}, TensorOptions(kDouble)).type(), "tenon.sparse.DoubleTensor");
  EXPECT_EQ(sparse_coo_tensor({2, 2}, TensorOptions(kFloat)).to(Device("ref")).type(),
            "tenon.ref.sparse.FloatTensor");
}

std::string library_of(const char* name) {
  for (const plugins::Info& p : plugins::list()) {
    if (p.name == name) return p.library;
  }
  return "";
}

TEST(SparsePlugin, UnloadsAndLoads) {
  Tensor t = sparse_coo_tensor({2, 2}, TensorOptions(kDouble));
  expect_words(text_of<ValueError>([] { plugins::unload("sparse"); }), {"sparse", "alive"});
  t.reset();
  const std::string library = library_of("sparse");
  plugins::unload("sparse");
  expect_words(text_of<Error>([] {
                 (void)sparse_coo_tensor({2, 2}, TensorOptions(kDouble));
               }),
               {"sparse"});
  plugins::load(library);
  EXPECT_EQ(sparse_coo_tensor({2, 2}, TensorOptions(kDouble))._nnz(), 0);
}

}  // namespace
}  // namespace tenon
