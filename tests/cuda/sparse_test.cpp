// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// plugin_sparse_cuda against the layout's kernels on the host, with integers, whose sums are exact
// in any order.
#include <functional>
#include <set>

#include "tenon/core/dispatch.h"
#include "tenon/graph.h"
#include "tests/cuda/fault.h"
#include "tests/cuda/training.h"

namespace tenon::test {
namespace {

constexpr ScalarType kNumbers[] = {kFloat, kDouble, kHalf, kBFloat16, kByte, kInt, kLong};

class CudaSparse : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    manual_seed(1);
    before_ = core::fallback();
    core::set_fallback(core::Fallback::ForbidStaging);
  }
  void TearDown() override {
    core::set_fallback(before_);
    Cuda::TearDown();
  }

 private:
  core::Fallback before_ = core::Fallback::Allow;
};

Tensor longs(std::vector<int64_t> v, IntArrayRef sizes) {
  return tensor(v, TensorOptions(kLong)).reshape(sizes);
}
Tensor integers(IntArrayRef sizes, ScalarType dtype) {
  return randint(0, 4, sizes, TensorOptions(kLong)).to(dtype);
}

// nnz elements anywhere in sizes, of which the first `sparse` are sparse dimensions.
Tensor random_sparse(IntArrayRef sizes, int64_t nnz, ScalarType dtype, std::size_t sparse = 2) {
  std::vector<Tensor> lines;
  std::vector<int64_t> of_values{nnz};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (d < sparse)
      lines.push_back(randint(0, sizes[d], {nnz}, TensorOptions(kLong)));
    else
      of_values.push_back(sizes[d]);
  }
  return sparse_coo_tensor(stack(lines), integers(of_values, dtype), sizes);
}

void expect_parts(const Tensor& got, const Tensor& expected) {
  EXPECT_EQ(got.sizes(), expected.sizes());
  EXPECT_EQ(got.is_coalesced(), expected.is_coalesced());
  EXPECT_TRUE(equal(got._indices().cpu(), expected._indices()));
  EXPECT_TRUE(equal(got._values().cpu(), expected._values())) << got._values() << "\nand not\n"
                                                              << expected._values();
}

// f(function that moves a tensor to f's device)
template <class F>
void compare(const F& f) {
  const Tensor expected = f([](const Tensor& t) { return t; });
  const Tensor got = f([](const Tensor& t) { return t.to(kCUDA); });
  if (expected.layout() == kSparse)
    expect_parts(got, expected);
  else
    EXPECT_TRUE(equal(got.cpu(), expected)) << got.cpu() << "\nand not\n" << expected;
}

// The operators whose kernels run on the device, nested calls included.
std::set<std::string> ops_of(const std::function<void()>& work) {
  std::set<std::string> ops;
  core::set_kernel_observer(
      [](void* seen, const core::Op& op, core::DeviceSlot slot, int64_t, int64_t) {
        if (slot == cuda_slot()) static_cast<std::set<std::string>*>(seen)->insert(op.name);
      },
      &ops);
  work();
  core::set_kernel_observer(nullptr, nullptr);
  return ops;
}

TEST_F(CudaSparse, OwnKernelsRunWithoutNestedCalls) {
  using Ops = std::set<std::string>;
  const Tensor a = random_sparse({9, 7}, 30, kFloat).to(kCUDA), c = a.coalesce(),
               x = integers({7, 4}, kFloat).to(kCUDA), bias = integers({4}, kFloat).to(kCUDA),
               vec = integers({7}, kFloat).to(kCUDA);
  Tensor out = integers({9, 7}, kFloat).to(kCUDA);
  EXPECT_EQ(ops_of([&] { (void)a.coalesce(); }), Ops({"_coalesce"}));
  EXPECT_EQ(ops_of([&] { (void)a.mm(x); }), Ops({"mm"}));
  EXPECT_EQ(ops_of([&] { (void)a.mv(vec); }), Ops({"mv"}));
  EXPECT_EQ(ops_of([&] { (void)addmm(bias, a, x); }), Ops({"addmm"}));
  EXPECT_EQ(ops_of([&] { (void)c.mul(c); }), Ops({"mul.Tensor"}));
  EXPECT_EQ(ops_of([&] { (void)c.sparse_mask(c); }), Ops({"sparse_mask"}));
  EXPECT_EQ(ops_of([&] { out.add_(a, 2); }), Ops({"add.Tensor"}));
  EXPECT_EQ(ops_of([&] { out.sub_(c); }), Ops({"sub.Tensor"}));
  EXPECT_EQ(ops_of([&] { (void)c.to_dense(); }).count("index_add"), 0u);
}

TEST_F(CudaSparse, Coalesced) {
  for (ScalarType dtype : kNumbers) {
    for (int64_t nnz : {0, 1, 31, 1500}) {
      const Tensor flat = random_sparse({40, 9}, nnz, dtype),
                   rows = random_sparse({40, 2, 3}, nnz, dtype, 1),
                   wide = random_sparse({2, 9, 40}, nnz / 5, dtype);
      for (const Tensor& t : {flat, rows, wide}) compare([&](auto to) { return to(t).coalesce(); });
    }
  }
  const Tensor none =
      sparse_coo_tensor(longs({}, {0, 3}), arange(1, 4, TensorOptions(kFloat)), IntArrayRef());
  compare([&](auto to) { return to(none).coalesce(); });
  const Tensor narrow = sparse_coo_tensor(longs({1, 1, 0}, {1, 3}), ones({3, 0}), {2, 0});
  compare([&](auto to) { return to(narrow).coalesce(); });
}

// Linear indices have up to 63 bits.
TEST_F(CudaSparse, LinearIndicesBeyond32Bits) {
  const int64_t m = int64_t{1} << 30, n = int64_t{1} << 27;
  const Tensor at = longs({m - 1, 0, m - 1, 3, m - 2, n - 1, 0, n - 1, n - 1, n - 2}, {2, 5});
  const Tensor t = sparse_coo_tensor(at, arange(1, 6, TensorOptions(kFloat)), {m, n});
  compare([&](auto to) { return to(t).coalesce(); });
  const Tensor c = t.coalesce();
  compare([&](auto to) { return to(t).sparse_mask(to(c)); });
  compare([&](auto to) { return to(c).mul(to(t)); });
}

// More duplicates than a thread sums, and runs of each length around that.
TEST_F(CudaSparse, ManyDuplicates) {
  for (int64_t width : {1, 3, 40}) {
    for (int64_t many : {511, 512, 513, 1024, 1700}) {
      const Tensor row =
          cat({zeros({5}, TensorOptions(kLong)), full({many}, 2, TensorOptions(kLong)),
               full({30}, 7, TensorOptions(kLong))});
      const Tensor t =
          sparse_coo_tensor(row.unsqueeze(0), integers({many + 35, width}, kFloat), {9, width});
      compare([&](auto to) { return to(t).coalesce(); });
      compare([&](auto to) { return to(t).to_dense(); });
      compare([&](auto to) { return to(ones({9, width})).add(to(t), -2); });
    }
  }
}

TEST_F(CudaSparse, HalvesAreSummedAsFloats) {
  const Tensor at = zeros({2, 3000}, TensorOptions(kLong));
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const double sum = dtype == kHalf ? 3000 : 3008;  // the nearest that has 8 bits
    const Tensor t = sparse_coo_tensor(at, ones({3000}, TensorOptions(dtype)), {1, 1}).to(kCUDA);
    EXPECT_EQ(t.coalesce().values().item<double>(), sum);
    EXPECT_EQ(t.to_dense().item<double>(), sum);
    EXPECT_EQ(t.mm(ones({1, 8}, TensorOptions(dtype)).to(kCUDA)).max().item<double>(), sum);
  }
}

TEST_F(CudaSparse, Products) {
  for (ScalarType dtype : kNumbers) {
    for (int64_t k : {1, 3, 8, 64, 130}) {
      const Tensor t = random_sparse({37, 21}, 150, dtype), c = t.coalesce(),
                   x = integers({21, k}, dtype), y = integers({k, 37}, dtype),
                   apart = integers({k, 21}, dtype).t();
      for (const Tensor& s : {t, c}) {
        compare([&](auto to) { return to(s).mm(to(x)); });
        compare([&](auto to) { return to(s).mm(to(apart)); });
        compare([&](auto to) { return to(y).mm(to(s)); });
        compare([&](auto to) { return to(s).mv(to(x.select(1, 0))); });
      }
    }
  }
}

TEST_F(CudaSparse, ProductsWithAddends) {
  for (ScalarType dtype : {kFloat, kHalf, kLong}) {
    const Tensor c = random_sparse({12, 21}, 60, dtype), x = integers({21, 16}, dtype);
    for (const Tensor& self :
         {integers({12, 16}, dtype), integers({16}, dtype), integers({1, 16}, dtype),
          integers({12, 1}, dtype), integers({16, 12}, dtype).t()}) {
      compare([&](auto to) { return addmm(to(self), to(c), to(x), 3, 2); });
    }
    const Tensor nothing = full({12, 16}, 1, TensorOptions(dtype)).div(0).to(dtype);
    compare([&](auto to) { return addmm(to(nothing), to(c), to(x), 0, 1); });
    const Tensor start = integers({12, 16}, dtype);
    compare([&](auto to) {
      Tensor out = to(start).clone();
      out.addmm_(to(c), to(x));
      return out;
    });
  }
}

// A row with all elements: as many as a warp sums, one more, and several such; the other rows are
// empty.
TEST_F(CudaSparse, LongRows) {
  const std::pair<ScalarType, int64_t> rows[] = {{kFloat, 1023}, {kFloat, 1024}, {kFloat, 1025},
                                                 {kFloat, 2048}, {kFloat, 3300}, {kDouble, 1025},
                                                 {kLong, 1025}};
  for (const auto& [dtype, many] : rows) {
    const Tensor row =
        cat({full({many}, 3, TensorOptions(kLong)), full({many / 2}, 40, TensorOptions(kLong)),
             full({many}, 41, TensorOptions(kLong))});
    const Tensor column = arange(0, row.numel(), TensorOptions(kLong)).remainder(int64_t{50});
    for (int64_t k : {1, 5, 16, 136}) {
      const Tensor t =
          sparse_coo_tensor(stack({row, column}), integers({row.numel()}, dtype), {45, 50});
      const Tensor once = t.coalesce(), x = integers({50, k}, dtype),
                   wide = integers({row.numel(), k}, dtype);
      const Tensor uncoalesced =
          sparse_coo_tensor(stack({row, arange(0, row.numel(), TensorOptions(kLong))}),
                            integers({row.numel()}, dtype), {45, row.numel()});
      compare([&](auto to) { return to(t).mm(to(x)); });
      compare([&](auto to) { return to(once).mm(to(x)); });
      compare([&](auto to) { return to(uncoalesced.coalesce()).mm(to(wide)); });
    }
  }
}

TEST_F(CudaSparse, ProductsAtElements) {
  for (ScalarType dtype : kNumbers) {
    for (int64_t k : {0, 1, 8, 40, 130}) {
      const Tensor a = integers({15, k}, dtype), b = integers({11, k}, dtype),
                   t = random_sparse({15, 11}, 40, dtype);
      compare([&](auto to) { return _masked_mm(to(t), to(a), to(b).t()); });
      compare([&](auto to) {
        return _masked_mm(to(t.coalesce()), to(a.t().contiguous()).t(), to(b.t().contiguous()));
      });
      if (k == 40)
        compare([&](auto to) {
          return _masked_mm(to(t), to(a).narrow(1, 3, 32), to(b).narrow(1, 3, 32).t());
        });
    }
  }
  // The gradient of a sparse factor.
  const Tensor x = integers({11, 16}, kFloat),
               sparse = random_sparse({15, 11}, 40, kFloat).coalesce();
  compare([&](auto to) {
    Tensor values = to(sparse.values().clone()).requires_grad_();
    _sparse_coo_tensor_unsafe(to(sparse.indices()), values, {15, 11}, {}, true)
        .mm(to(x))
        .sum()
        .backward();
    return values.grad();
  });
}

TEST_F(CudaSparse, EmptyMatrices) {
  const Tensor none = sparse_coo_tensor({5, 4}, TensorOptions(kFloat)),
               x = integers({4, 6}, kFloat), some = random_sparse({5, 4}, 3, kFloat);
  compare([&](auto to) { return to(none).mm(to(x)); });
  compare([&](auto to) { return addmm(to(ones({6})), to(none), to(x), 2); });
  compare([&](auto to) { return to(none).coalesce(); });
  compare([&](auto to) { return to(none).to_dense(); });
  compare([&](auto to) { return to(none).mul(to(none)); });
  compare([&](auto to) { return to(none).mul(to(some)); });
  compare([&](auto to) { return to(some).mul(to(none)); });
  compare([&](auto to) { return to(none).sparse_mask(to(some)); });
  compare([&](auto to) { return to(sparse_coo_tensor({0, 4}, TensorOptions(kFloat))).mm(to(x)); });
  compare([&](auto to) {
    return to(sparse_coo_tensor({5, 0}, TensorOptions(kFloat))).mm(to(x.narrow(0, 0, 0)));
  });
  compare([&](auto to) { return to(some).mm(to(x.narrow(1, 0, 0))); });
}

TEST_F(CudaSparse, SumsTouchTheirElementsAlone) {
  for (ScalarType dtype : kNumbers) {
    const Tensor t = random_sparse({30, 4}, 25, dtype, 1), dense = integers({30, 4}, dtype);
    for (const Tensor& s : {t, t.coalesce()}) {
      compare([&](auto to) { return to(dense).add(to(s), 3); });
      compare([&](auto to) { return to(s).add(to(dense), 3); });
      compare([&](auto to) { return to(s).to_dense(); });
      if (dtype != kByte) compare([&](auto to) { return to(dense).sub(to(s), 2); });
      compare([&](auto to) {
        Tensor out = to(dense).clone();
        const void* there = out.data_ptr();
        out.add_(to(s));
        EXPECT_EQ(out.data_ptr(), there);
        return out;
      });
      compare([&](auto to) {
        Tensor out = to(dense.t()).clone().t();
        out.add_(to(s));
        return out.contiguous();
      });
    }
  }
}

TEST_F(CudaSparse, ElementsAreFoundByIndex) {
  for (ScalarType dtype : kNumbers) {
    const Tensor dense = integers({20, 9}, dtype);
    const Tensor a = random_sparse({20, 9}, 70, dtype), b = random_sparse({20, 9}, 90, dtype),
                 h = random_sparse({20, 3}, 12, dtype, 1), g = random_sparse({20, 3}, 14, dtype, 1);
    compare([&](auto to) { return to(a).mul(to(b)); });
    compare([&](auto to) { return to(h).mul(to(g)); });
    compare([&](auto to) { return to(a).sparse_mask(to(b)); });
    compare([&](auto to) { return to(h).sparse_mask(to(g.coalesce())); });
    compare([&](auto to) { return to(dense).sparse_mask(to(b)); });
  }
}

// Unchecked indices are detected where they are used, and the device goes on.
TEST_F(CudaSparse, WrongIndicesAreNamed) {
  const Tensor x = integers({7, 4}, kFloat).to(kCUDA), y = integers({4, 9}, kFloat).to(kCUDA);
  const Tensor good = random_sparse({9, 7}, 20, kFloat).to(kCUDA);
  for (int64_t wrong : {int64_t{-1}, int64_t{9}, int64_t{1} << 40}) {
    for (bool row : {true, false}) {
      for (bool claimed : {true, false}) {
        const Tensor at =
            row ? longs({0, 3, wrong, 1, 1, 1}, {2, 3}) : longs({0, 1, 2, 3, wrong, 1}, {2, 3});
        const Tensor t = _sparse_coo_tensor_unsafe(at, ones({3}), {9, 7}, {}, claimed).to(kCUDA);
        const auto refused = [&](const char* op, const std::function<Tensor()>& f) {
          expect_words(text_of<IndexError>([&] { (void)f().cpu(); }),
                       {op, core::join(wrong).c_str()});
        };
        refused("mm", [&] { return t.mm(x); });
        refused("mm", [&] { return y.mm(t); });
        refused("mv", [&] { return t.mv(x.select(1, 0).contiguous()); });
        refused("_to_dense", [&] { return t.to_dense(); });
        refused("add", [&] { return zeros({9, 7}).to(kCUDA).add(t); });
        refused(claimed ? "sparse_mask" : "_coalesce",
                [&] { return good.coalesce().sparse_mask(t)._values(); });
        if (!claimed) refused("_coalesce", [&] { return t.coalesce()._values(); });
      }
    }
  }
  const Tensor none = _sparse_coo_tensor_unsafe(longs({1, 1}, {2, 1}), ones({1}), {3, 0}).to(kCUDA);
  EXPECT_EQ(none.to_dense().numel(), 0);
  EXPECT_TRUE(equal(none.mm(zeros({0, 2}).to(kCUDA)).cpu(), zeros({3, 2})));
  EXPECT_TRUE(equal(good.mm(x).cpu(), good.cpu().mm(x.cpu())));
}

// The order of a sum follows from sizes alone: the same bits each time, whichever block runs first.
TEST_F(CudaSparse, TheSameBitsEachTime) {
  const Tensor t =
      sparse_coo_tensor(randint(0, 20, {2, 5000}, TensorOptions(kLong)), randn({5000}), {20, 20})
          .to(kCUDA);
  const Tensor x = randn({20, 64}).to(kCUDA), dense = randn({20, 20}).to(kCUDA);
  const Tensor values = t.coalesce().values(), product = t.mm(x), sum = dense.add(t);
  const Tensor softmaxed = softmax(t, 0)._values(), rows = hspmm(t, x)._values();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(equal(softmax(t, 0)._values(), softmaxed));
    EXPECT_TRUE(equal(hspmm(t, x)._values(), rows));
    EXPECT_TRUE(equal(t.coalesce().values(), values));
    EXPECT_TRUE(equal(t.mm(x), product));
    EXPECT_TRUE(equal(dense.add(t), sum));
  }
}

// Operators that need no size from the device are replayed with current values.
TEST_F(CudaSparse, ProductsAndSumsAreReplayed) {
  const Tensor host = random_sparse({30, 20}, 200, kFloat), t = host.to(kCUDA),
               x = zeros({20, 16}).to(kCUDA);
  Tensor out = zeros({30, 20}).to(kCUDA), product, dense;
  const OnStream on;
  Graph g;
  g.capture_begin();
  product = t.mm(x);
  dense = t.to_dense();
  out.add_(t);
  g.capture_end();
  for (int i = 1; i < 4; ++i) {
    x.fill_(i);
    g.replay();
    EXPECT_TRUE(equal(product.cpu(), host.mm(full({20, 16}, static_cast<double>(i)))));
    EXPECT_TRUE(equal(out.cpu(), host.to_dense().mul(i)));
    EXPECT_TRUE(equal(dense.cpu(), host.to_dense()));
  }
  Graph other;
  other.capture_begin();
  expect_words(text_of([&] { (void)t.coalesce(); }), {"_coalesce", "waits for the device"});
  other.capture_end();
}

// A convolution over a graph of neighbors: its gradient transposes the sparse matrix.
TEST_F(CudaSparse, AStepOfTrainingIsReplayed) {
  const Tensor neighbors = random_sparse({32, 32}, 90, kFloat).coalesce().to(kCUDA).mul(0.25);
  replay_a_step_of_training([&](const Tensor& product) { return neighbors.mm(product).relu(); });
}

TEST_F(CudaSparse, EachCallFailsOnce) {
  const Tensor host = random_sparse({9, 7}, 40, kFloat), x = integers({7, 8}, kFloat);
  const auto work = [&] {
    const Tensor t = host.to(kCUDA), c = t.coalesce();
    TENON_CHECK(equal(t.mm(x.to(kCUDA)).cpu(), host.mm(x)), Error, "another product came back");
    TENON_CHECK(equal(c.mul(t).to_dense().cpu(), host.mul(host).to_dense()), Error,
                "other elements came back");
  };
  EXPECT_GE(each_call_fails_once(cudaErrorInvalidValue, work), 40);
}

plugins::Info info_of(std::string_view name) {
  for (const plugins::Info& i : plugins::list()) {
    if (i.name == name && i.state != plugins::State::Refused) return i;
  }
  return {};
}

// Whether plugin_sparse_cuda multiplies.
bool own_kernels_run() {
  const Tensor t = random_sparse({9, 7}, 40, kFloat), x = integers({7, 8}, kFloat),
               there = t.to(kCUDA);
  Tensor product;
  const std::set<std::string> ops = ops_of([&] { product = there.mm(x.to(kCUDA)); });
  EXPECT_TRUE(equal(product.cpu(), t.mm(x)));
  return ops == std::set<std::string>({"mm"});
}

// The layout's plugin may be opened after the plugin with its kernels, and either may be unloaded.
TEST_F(CudaSparse, PluginsOpenInAnyOrder) {
  EXPECT_TRUE(own_kernels_run());
  const std::string kernels = info_of("sparse_cuda").library, layout = info_of("sparse").library;
  plugins::unload("sparse_cuda");
  EXPECT_FALSE(own_kernels_run()) << "the layout's own kernels run";
  plugins::unload("sparse");
  const plugins::Info opened = plugins::load(kernels);
  EXPECT_EQ(opened.state, plugins::State::Opened);
  EXPECT_EQ(opened.kernels, 11);
  EXPECT_TRUE(opened.quarantined.empty());
  plugins::load(layout);
  EXPECT_TRUE(own_kernels_run());
}

// Only for the plugin that nvcc built, whose kernels the fake does not run.
class CudaNvccSparse : public Cuda {};

TEST_F(CudaNvccSparse, ItOpensAndAKernelIsRefusedByName) {
  const Tensor t = random_sparse({9, 7}, 40, kFloat), there = t.to(kCUDA),
               x = ones({7, 8}).to(kCUDA);
  for (int i = 0; i < 2; ++i) {
    expect_words(text_of<BackendError>([&] { (void)there.mm(x); }),
                 {"mm", "indices_as_keys", "cudaErrorInvalidDeviceFunction", "plugin sparse_cuda"});
  }
  EXPECT_TRUE(equal(there.cpu().to_dense(), t.to_dense())) << "the device goes on";
}

}  // namespace
}  // namespace tenon::test
