// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Other properties of a tensor: type strings, options, sizes that change, shared memory, strided
// copies, threads.
#include <atomic>
#include <cmath>
#include <thread>

#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/print.h"
#include "tests/sparse/support.h"

namespace tenon {
namespace {

using namespace test;

struct SparseTensor : testing::TestWithParam<const char*> {
  const Device device = Device(GetParam());
  const test::Twice twice{device};
  ~SparseTensor() override { core::set_densify(core::Densify::Forbid); }
};
INSTANTIATE_TEST_SUITE_P(On, SparseTensor, testing::Values("cpu", "ref"),
                         [](const auto& i) { return std::string(i.param); });

TEST_P(SparseTensor, TypeStringsParseBack) {
  const std::string place = device.is_cpu() ? "tenon." : "tenon.ref.";
  for (ScalarType d : {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool}) {
    const std::string word = std::string(toString(d)) + "Tensor";
    for (Layout l : {kStrided, kSparse}) {
      const std::string type = place + (l == kSparse ? "sparse." : "") + word;
      const TensorOptions o = TensorOptions(d).device(device).layout(l);
      EXPECT_EQ(type_string(o), type);
      EXPECT_EQ(zeros({2, 1}, o).type(), type);
      EXPECT_TRUE(zeros({2, 1}, o).is_type(type));
      const TensorOptions back = options_from_type(type);
      EXPECT_EQ(back.dtype(), d);
      EXPECT_EQ(back.layout(), l);
      EXPECT_EQ(back.device().type(), device.type());
      const Tensor t = twice.make().type(type);
      EXPECT_EQ(t.type(), type);
      EXPECT_TRUE(t.type(type).is_same(t));
    }
  }
}

TEST(SparseTypes, UnknownStrings) {
  for (const char* s : {"", "tenon", "tenon.Tensor", "tenon.FooTensor", "FloatTensor",
                        "tenon.Float", "torch.FloatTensor", "tenon.sparse.FooTensor",
                        "tenon..FloatTensor", "tenon.cpu.x.sparse.FloatTensor"}) {
    expect_words(text_of<ValueError>([&] { (void)options_from_type(s); }), {"invalid type", s});
  }
  expect_words(text_of<Error>([] { (void)options_from_type("tenon.abacus.FloatTensor"); }),
               {"abacus"});
}

TEST_P(SparseTensor, Factories) {
  const TensorOptions o = TensorOptions(kDouble).device(device).layout(kSparse);
  for (const Tensor& t :
       {empty({3, 4}, o), zeros({3, 4}, o), zeros_like(twice.make()), empty_like(twice.make()),
        zeros_like(twice.values.reshape({2, 2}), TensorOptions(kSparse)),
        twice.make().new_zeros({3}),
        sparse_coo_tensor({3, 4}, TensorOptions(kDouble).device(device))}) {
    EXPECT_EQ(t.layout(), kSparse);
    EXPECT_EQ(t.device().type(), device.type());
    EXPECT_EQ(t.scalar_type(), kDouble);
    EXPECT_EQ(t._nnz(), 0);
    EXPECT_TRUE(t.is_coalesced());
    EXPECT_EQ(t.sparse_dim(), t.dim());
  }
  EXPECT_EQ(zeros_like(hybrid(device)).dense_dim(), 2);
  const Tensor strided = zeros_like(twice.make(), TensorOptions(kStrided));
  EXPECT_TRUE(strided.cpu().equal(zeros({3, 4}, TensorOptions(kDouble))));
  EXPECT_TRUE(zeros({2}, o.requires_grad(true)).requires_grad());
  expect_words(text_of<NotImplementedError>([&] { (void)ones({2}, o); }), {"fill", "sparse_coo"});
  expect_words(text_of<NotImplementedError>([&] { (void)arange(3, o); }),
               {"arange", "strided", "sparse_coo"});
  expect_words(text_of<ValueError>([&] { (void)zeros({2, -1}, o); }), {"empty", "-1"});
}

TEST_P(SparseTensor, Options) {
  const TensorOptions o = TensorOptions(kFloat).requires_grad(true);
  const Tensor t = sparse_coo_tensor(twice.indices, twice.values, {3, 4}, o);
  EXPECT_EQ(t.scalar_type(), kFloat);
  EXPECT_TRUE(t.requires_grad());
  EXPECT_TRUE(t.is_leaf());
  EXPECT_TRUE(t.options().is_sparse());
  const Tensor there =
      sparse_coo_tensor(twice.indices.cpu(), twice.values.cpu(), {3, 4}, TensorOptions(device));
  EXPECT_EQ(there.device().type(), device.type());
  expect_equal(there, twice.dense());
  EXPECT_TRUE(sparse_coo_tensor(ints({0, 1}, {1, 2}).to(device), ones({2}).to(device), {2},
                                TensorOptions(), true)
                  .is_coalesced());
}

TEST_P(SparseTensor, Moves) {
  const Tensor t = twice.make(), c = t.coalesce();
  const Tensor host = t.to(kCPU, true), there = host.to(device, true),
               copied = t.to(device, false, true);
  EXPECT_TRUE(host._indices().is_cpu() && host._values().is_cpu());
  EXPECT_EQ(there._values().device().type(), device.type());
  EXPECT_TRUE(t.to(device).is_same(t));
  EXPECT_FALSE(copied.is_same(t));
  copied._values().zero_();
  for (const Tensor& x : {host, there, t, t.clone(), t.detach()}) expect_equal(x, twice.dense());
  EXPECT_TRUE(c.to(kCPU).is_coalesced() && c.clone().is_coalesced() && c.to(kFloat).is_coalesced());
  EXPECT_EQ(t.to(kStrided).layout(), kStrided);
  EXPECT_EQ(t.to(TensorOptions(kFloat).layout(kStrided)).scalar_type(), kFloat);
  EXPECT_EQ(twice.dense().to(device).to(kSparse)._nnz(), 3);
}

TEST_P(SparseTensor, SharesTheMemoryOfItsComponents) {
  const Tensor t = twice.make();
  t._values().mul_(2);
  expect_equal(t, twice.dense() * 2);
  EXPECT_TRUE(twice.values.cpu().equal(tensor({2., 4., 6., 8.}, TensorOptions(kDouble))))
      << "given, not copied";
  const Tensor c = t.coalesce();
  c.values().fill_(1);
  expect_equal(c, (twice.dense() != 0).to(kDouble));
  c.detach()._values().fill_(3);
  EXPECT_EQ(c.sum().item<double>(), 9);
  Tensor copy = c.clone();
  copy._values().fill_(0);
  EXPECT_EQ(c.sum().item<double>(), 9) << "clone has parts of its own";
}

TEST_P(SparseTensor, ResizingAComponentLeavesTheTensor) {
  const Tensor t = twice.make();
  twice.values.resize_({100000});
  twice.values.fill_(7);
  twice.indices.resize_({1, 1});
  t._values().resize_({1});
  t._indices().resize_({2, 100000});
  EXPECT_EQ(t._nnz(), 4);
  expect_equal(t, twice.dense());
}

TEST_P(SparseTensor, Resizes) {
  Tensor t = twice.make().coalesce(), h = hybrid(device);
  t.sparse_resize_({5, 4}, 2, 0);
  EXPECT_EQ(t.sizes(), IntArrayRef({5, 4}));
  EXPECT_TRUE(t.is_coalesced());
  expect_equal(t.narrow(0, 0, 3), twice.dense());
  t.resize_({5, 6});
  expect_equal(t.narrow(1, 0, 4).narrow(0, 0, 3), twice.dense());
  const Tensor before = h.to_dense();
  h.sparse_resize_({4, 2, 3}, 1, 2);
  EXPECT_EQ(h.sizes(), IntArrayRef({4, 2, 3}));
  expect_equal(h.narrow(2, 0, 2).narrow(0, 0, 3), before);
  EXPECT_EQ(h.select(2, 2).sum().item<double>(), 0);
  const auto refusal = [&](IntArrayRef size, int64_t sparse, int64_t dense) {
    return text_of<ValueError>([&] { t.sparse_resize_(size, sparse, dense); });
  };
  expect_words(refusal({2, 6}, 2, 0),
               {"sparse_resize", "cannot shrink", "[5, 6]", "[2, 6]", "sparse_resize_and_clear_"});
  expect_words(refusal({5, 6}, 1, 1), {"keeps its 2 sparse and 0 dense"});
  expect_words(refusal({5, 6}, 2, 1), {"sparse_dim (2)", "dense_dim (1)", "size has 2"});
  expect_words(refusal({5, -6}, 2, 0), {"negative"});
  expect_words(refusal({int64_t{1} << 40, int64_t{1} << 40}, 2, 0), {"1099511627776"});
  expect_equal(t.narrow(1, 0, 4).narrow(0, 0, 3), twice.dense());
  t.sparse_resize_and_clear_({2, 3, 4}, 2, 1);
  EXPECT_EQ(t._nnz(), 0);
  EXPECT_EQ(t.dense_dim(), 1);
  t.sparse_resize_({7}, 1, 0);
  EXPECT_EQ(t.sizes(), IntArrayRef({7}));
  t.resize_as_(twice.make());
  EXPECT_EQ(t.sizes(), IntArrayRef({3, 4}));
  t.copy_(twice.make());
  expect_equal(t, twice.dense());
  expect_words(text_of<TypeError>([&] { twice.dense().sparse_resize_({2}, 1, 0); }),
               {"sparse_resize", "strided"});
}

TEST_P(SparseTensor, ReducesByDimension) {
  for (const Tensor& t : {twice.make(), hybrid(device), twice.make().coalesce()}) {
    const Tensor d = t.to_dense().cpu();
    for (bool keep : {false, true}) {
      for (int64_t dim = -1; dim < t.dim(); ++dim) {
        expect_equal(t.sum(dim, keep), d.sum(dim, keep));
        for (double p : {1., 2., 3.}) {
          EXPECT_TRUE(t.norm(p, {dim}, keep).cpu().allclose(d.norm(p, {dim}, keep)))
              << p << " along " << dim;
        }
      }
      expect_equal(t.sum({0, -1}, keep), d.sum({0, -1}, keep));
    }
    EXPECT_EQ(t.sum(0).layout(), t.sparse_dim() == 1 ? kStrided : kSparse);
    EXPECT_EQ(t.sum({0}, false, kFloat).scalar_type(), kFloat);
  }
  expect_words(text_of<NotImplementedError>([&] { (void)twice.make().norm(HUGE_VAL, {0}); }),
               {"norm", "declined"});
}

TEST_P(SparseTensor, StacksAndSelects) {
  const Tensor t = twice.make(), d = twice.dense();
  expect_equal(stack({t, t.coalesce()}, 0), stack({d, d}, 0));
  expect_equal(stack({t, t}, 2), stack({d, d}, 2));
  expect_equal(t[1], d[1]);
  expect_equal(t.unsqueeze(0), d.unsqueeze(0));
  expect_equal(t.transpose(0, 1).select(0, 2), d.select(1, 2));
  expect_equal(t.softmax(1).sum(1).to_dense(), (d.sum(1) != 0).to(kDouble));
  expect_words(text_of<IndexError>([&] { (void)t.select(0, 3); }), {"select", "3"});
  expect_words(text_of<IndexError>([&] { (void)t.index_select(1, ints({4}, {1}).to(device)); }),
               {"index_select", "4"});
  expect_words(text_of<Error>([&] { (void)t.narrow(1, 3, 2); }), {"narrow"});
  expect_words(text_of<ValueError>([&] { (void)cat({t, hybrid(device)}, 0); }), {"cat"});
  expect_words(text_of<ValueError>([&] { (void)t.pow(0); }), {"pow", "zero", "non-zero"});
}

// Comparisons need an explicit choice: strided copies, or components.
TEST_P(SparseTensor, ComparisonsAreNotSupported) {
  const Tensor t = twice.make();
  expect_words(text_of<NotImplementedError>([&] { (void)t.equal(t); }),
               {"eq", "sparse_coo", "to_dense()"});
  expect_words(text_of<NotImplementedError>([&] { (void)t.allclose(t); }),
               {"sparse_coo", "to_dense()"});
}

TEST_P(SparseTensor, StridedCopiesAreUsedIfAllowed) {
  const Tensor t = twice.make(), d = twice.dense();
  expect_words(text_of<NotImplementedError>([&] { (void)t.exp(); }),
               {"exp", "96 bytes", "TENON_DENSIFY=allow"});
  core::reset_fallback_counts();
  core::set_densify(core::Densify::Allow);
  expect_equal(t.exp(), d.exp());
  expect_equal(t.cumsum(0), d.cumsum(0));
  EXPECT_TRUE(t.equal(t));
  Tensor written = t.clone();
  written.clamp_(0, 4);
  EXPECT_EQ(written.layout(), kSparse) << "what was sparse stays so";
  expect_equal(written, d.clamp(0, 4));
  uint64_t bytes = 0;
  for (const auto& c : core::fallback_counts())
    bytes += c.by == core::ServedBy::Densified ? c.bytes : 0;
  EXPECT_GE(bytes, 4 * d.nbytes());
  core::set_densify(core::Densify::Forbid);
  expect_words(text_of<NotImplementedError>([&] { (void)t.exp(); }), {"exp"});
}

TEST_P(SparseTensor, WorksOnSeveralThreads) {
  const Tensor t = twice.make(), d = twice.dense(), product = d.mm(d.t());
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong{0};
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        wrong += !t.mm(t.t()).to_dense().cpu().equal(product);
        wrong += !(t + t).coalesce().to_dense().cpu().equal(d * 2);
      }
    });
  }
  for (std::thread& th : threads) th.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SparseTensor, PrintsDeviceAndRequiresGrad) {
  std::ostringstream out;
  out << sparse_coo_tensor({2, 0}, TensorOptions(kDouble).requires_grad(true));
  EXPECT_EQ(out.str(),
            "tensor(indices=tensor([], size=(2, 0), dtype=int64),\n"
            "       values=tensor([], dtype=float64),\n"
            "       size=(2, 0), nnz=0, coalesced=True, layout=sparse_coo, requires_grad=True)");
  out.str("");
  out << sparse_coo_tensor(ints({1}, {1, 1}), tensor({2.}, TensorOptions(kFloat)), {3})
             .to(Device("ref"));
  EXPECT_EQ(out.str(),
            "tensor(indices=tensor([[1]], device='ref:0'),\n"
            "       values=tensor([2.], device='ref:0'),\n"
            "       size=(3,), nnz=1, layout=sparse_coo)");
  out.str("");
  out << sparse_coo_tensor(arange(5000).reshape({1, 5000}), ones({5000}), {5000});
  EXPECT_NE(out.str().find("1., 1., 1.,  ..., "), std::string::npos)
      << "long parts are shortened: " << out.str();
  EXPECT_LT(out.str().size(), 400u);
}

TEST(Sparse, PartsAndSizesAreCopied) {
  const Tensor a = tensor({1.f, 0, 2, 0, 3, 0}).view({2, 3}).to_sparse();
  const Tensor values = values_copy(a), indices = indices_copy(a);
  EXPECT_TRUE(equal(values, a.values()));
  EXPECT_TRUE(equal(indices, a.indices()));
  EXPECT_FALSE(values.is_alias_of(a.values()));
  EXPECT_FALSE(indices.is_alias_of(a.indices()));
  const Tensor b = zeros({0}).to_sparse();
  resize_as_sparse_(b, a);
  EXPECT_EQ(b.sizes(), a.sizes());
  EXPECT_EQ(b.sparse_dim(), 2);
  copy_sparse_to_sparse_(b, a);
  EXPECT_TRUE(equal(b.to_dense(), a.to_dense()));
  expect_words(text_of<TypeError>([&] {
                 copy_sparse_to_sparse_(b, zeros({2, 3}));
               }),
               {"copy_sparse_to_sparse_", "sparse"});
}

}  // namespace
}  // namespace tenon
