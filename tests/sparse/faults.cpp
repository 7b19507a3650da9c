// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Ten thousand calls whose arguments have faults: of the constructors, of every op on sparse
// tensors, and of tensors whose components were changed afterwards. Each is rejected with an error
// of Tenon's or returns a valid tensor.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string_view>

#include "tests/sparse/support.h"

namespace tenon {
namespace {

using test::expect_equal;
using test::ints;

// Far more than memory holds, whatever the dtype: no allocation of it may succeed.
constexpr int64_t kHuge[] = {int64_t{1} << 52, int64_t{1} << 61, INT64_MAX};

class Faults {
 public:
  explicit Faults(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool once_in(int64_t n) { return below(n) == 0; }
  // Mostly 3, so that tensors fit each other.
  int64_t size() {
    return once_in(30) ? kHuge[below(3)] : once_in(30) ? 0 : once_in(5) ? 1 + below(4) : 3;
  }
  int64_t number() { return once_in(10) ? kHuge[below(3)] * (once_in(2) ? -1 : 1) : below(9) - 4; }
  std::vector<int64_t> numbers(int64_t max_count) {
    std::vector<int64_t> out(static_cast<std::size_t>(below(max_count + 1)));
    for (int64_t& n : out) n = number();
    return out;
  }
  ScalarType dtype() {
    constexpr ScalarType kOthers[] = {kFloat, kLong, kInt, kUInt8, kBool, kHalf};
    return once_in(8) ? kOthers[below(6)] : kDouble;
  }
  Device device() { return once_in(12) ? Device("ref") : Device(kCPU); }

  Tensor strided() {
    std::vector<int64_t> sizes(static_cast<std::size_t>(once_in(3) ? below(4) : 2));
    for (int64_t& s : sizes) s = once_in(4) ? 1 + below(4) : 3;
    const Tensor t = ones(sizes, TensorOptions(dtype())).to(device());
    return once_in(5) && t.dim() == 2 ? t.t() : t;
  }
  Tensor index() {
    const ScalarType t = once_in(6) ? dtype() : kLong;
    return ints(numbers(4), {-1}).to(t).to(device());
  }

  // Most have only one or two faults.
  Tensor sparse() {
    const Device where = device();
    const int64_t rows = once_in(5) ? below(4) : 2, n = below(6),
                  dense = once_in(6) ? 1 + below(2) : 0;
    std::vector<int64_t> at, sizes, value_sizes{once_in(30) ? n + 1 : n};
    for (int64_t d = 0; d < rows; ++d) sizes.push_back(size());
    for (int64_t d = 0; d < rows * n; ++d) {
      const int64_t s = sizes[static_cast<std::size_t>(d / std::max<int64_t>(n, 1))];
      at.push_back(once_in(60) ? number() : s == 0 ? 0 : below(std::min<int64_t>(s, 5)));
    }
    for (int64_t d = 0; d < dense; ++d) {
      sizes.push_back(1 + below(3));
      value_sizes.push_back(once_in(30) ? 1 + below(4) : sizes.back());
    }
    if (once_in(40)) sizes.push_back(2);
    const Tensor values = ones(value_sizes, TensorOptions(dtype())).to(where);
    const Tensor indices = ints(at, {rows, n}).to(where);
    const bool unchecked = once_in(8), coalesced = once_in(6);
    const Tensor t =
        unchecked ? _sparse_coo_tensor_unsafe(indices, values, sizes, TensorOptions(), coalesced)
                  : sparse_coo_tensor(indices, values, sizes, TensorOptions(), coalesced);
    if (once_in(6)) damage(t, indices);
    return t;
  }

 private:
  // What a program can do to the components of a tensor.
  void damage(const Tensor& t, const Tensor& indices) {
    switch (below(5)) {
      case 0:
        if (indices.numel() > 0) t._indices().fill_(number());
        break;
      case 1:
        if (indices.numel() > 0) indices.select(0, below(indices.size(0))).fill_(number());
        break;
      case 2:
        t._indices().resize_({below(3), below(9)});
        break;
      case 3:
        indices.resize_({below(3), below(9)});
        break;
      default:
        t._coalesced_(true);
    }
  }
  std::mt19937_64 random_;
};

// A composite tensor whose components fit together. Their contents may be wrong only if the
// arguments were.
void expect_whole(const Tensor& t) {
  if (t.layout() != kSparse) return;
  const Tensor at = t._indices(), values = t._values();
  ASSERT_EQ(at.dim(), 2);
  ASSERT_GE(values.dim(), 1);
  ASSERT_EQ(at.size(1), values.size(0));
  ASSERT_EQ(at.size(0) + values.dim() - 1, t.dim());
  for (int64_t d = 1; d < values.dim(); ++d) ASSERT_EQ(values.size(d), t.size(at.size(0) + d - 1));
  ASSERT_EQ(values.scalar_type(), t.scalar_type());
}

using Try = Tensor (*)(Faults&);

const std::pair<const char*, Try> kTries[] = {
    {"sparse_coo_tensor", [](Faults& f) { return f.sparse(); }},
    {"sparse_coo_tensor of strided",
     [](Faults& f) { return sparse_coo_tensor(arange(f.size()).reshape({1, -1}), f.strided(), {5, f.size()}); }},
    {"sparse_coo_tensor of expanded",
     [](Faults& f) {
       const int64_t n = f.size();
       return sparse_coo_tensor(f.index().reshape({1, -1}).expand({-1, n}), f.strided().expand({n, 3}), {5, 3});
     }},
    {"sparse_coo_tensor without size", [](Faults& f) { return sparse_coo_tensor(f.strided(), f.strided()); }},
    {"sparse_coo_tensor of sparse", [](Faults& f) { return sparse_coo_tensor(f.strided(), f.sparse(), {4, f.size(), 3}); }},
    {"_from_components",
     [](Faults& f) { return _from_components({f.strided().to(kLong), f.strided()}, {4, 4, 4, f.size()}, f.below(2), kSparse); }},
    {"empty", [](Faults& f) { return empty(f.numbers(4), TensorOptions(f.dtype()).layout(kSparse).device(f.device())); }},
    {"zeros_like", [](Faults& f) { return zeros_like(f.sparse()); }},
    {"coalesce", [](Faults& f) { return f.sparse().coalesce(); }},
    {"to_dense", [](Faults& f) { return f.sparse().to_dense(); }},
    {"to_sparse", [](Faults& f) { return f.strided().to_sparse(f.number()); }},
    {"indices", [](Faults& f) { return f.sparse().indices(); }},
    {"values", [](Faults& f) { return f.sparse().values(); }},
    {"sparse_mask", [](Faults& f) { return f.strided().sparse_mask(f.sparse()); }},
    {"sparse_mask of sparse", [](Faults& f) { return f.sparse().sparse_mask(f.sparse()); }},
    {"_values_at", [](Faults& f) { return _values_at(f.sparse(), f.strided().to(kLong)); }},
    {"_values_at of strided", [](Faults& f) { return _values_at(f.strided(), f.strided().to(kLong)); }},
    {"_with_values", [](Faults& f) { const Tensor t = f.sparse(); return _with_values(t, f.once_in(3) ? f.strided() : t._values() + 1); }},
    {"add", [](Faults& f) { return f.sparse().add(f.sparse(), f.number()); }},
    {"add to itself", [](Faults& f) { const Tensor t = f.sparse(); return t.add(t); }},
    {"add to strided", [](Faults& f) { return f.strided().add(f.sparse()); }},
    {"add strided", [](Faults& f) { return f.sparse().add(f.strided()); }},
    {"add_", [](Faults& f) { const Tensor t = f.sparse(); return t.add_(t.clone()); }},
    {"add_ to strided", [](Faults& f) { return f.strided().add_(f.sparse()); }},
    {"sub", [](Faults& f) { return f.sparse().sub(f.sparse()); }},
    {"mul", [](Faults& f) { return f.sparse().mul(f.sparse()); }},
    {"mul by itself", [](Faults& f) { const Tensor t = f.sparse(); return t.mul(t); }},
    {"mul by strided", [](Faults& f) { return f.sparse().mul(f.strided()); }},
    {"mul_", [](Faults& f) { return f.sparse().mul_(f.number()); }},
    {"div", [](Faults& f) { return f.sparse().div(f.number()); }},
    {"div by tensor", [](Faults& f) { return f.sparse().div(f.strided()); }},
    {"pow", [](Faults& f) { return f.sparse().pow(f.number()); }},
    {"neg", [](Faults& f) { return f.sparse().neg(); }},
    {"sqrt", [](Faults& f) { return f.sparse().sqrt(); }},
    {"relu", [](Faults& f) { return f.sparse().relu(); }},
    {"sum", [](Faults& f) { return f.sparse().sum(f.numbers(2), f.once_in(2)); }},
    {"norm", [](Faults& f) { return f.sparse().norm(f.below(4), f.numbers(2), f.once_in(2)); }},
    {"softmax", [](Faults& f) { return f.sparse().softmax(f.number()); }},
    {"log_softmax", [](Faults& f) { return f.sparse().log_softmax(f.number()); }},
    {"mm", [](Faults& f) { return f.sparse().mm(f.strided()); }},
    {"mm from the left", [](Faults& f) { return f.strided().mm(f.sparse()); }},
    {"mm of sparse", [](Faults& f) { return f.sparse().mm(f.sparse()); }},
    {"mm with its transpose", [](Faults& f) { const Tensor t = f.sparse(); return t.mm(t.t()); }},
    {"mv", [](Faults& f) { return f.sparse().mv(f.strided().select(0, f.number())); }},
    {"addmm", [](Faults& f) { return addmm(f.strided(), f.sparse(), f.strided(), f.number(), f.number()); }},
    {"hspmm", [](Faults& f) { return hspmm(f.sparse(), f.strided()); }},
    {"sspaddmm", [](Faults& f) { return sspaddmm(f.sparse(), f.sparse(), f.strided()); }},
    {"smm", [](Faults& f) { return smm(f.sparse(), f.strided()); }},
    {"transpose", [](Faults& f) { return f.sparse().transpose(f.number(), f.number()); }},
    {"permute", [](Faults& f) { return f.sparse().permute(f.numbers(3)); }},
    {"unsqueeze", [](Faults& f) { return f.sparse().unsqueeze(f.number()); }},
    {"select", [](Faults& f) { return f.sparse().select(f.number(), f.number()); }},
    {"slice", [](Faults& f) { return f.sparse().slice(f.number(), f.number(), f.number(), f.number()); }},
    {"narrow", [](Faults& f) { return f.sparse().narrow(f.number(), f.number(), f.number()); }},
    {"index_select", [](Faults& f) { return f.sparse().index_select(f.number(), f.index()); }},
    {"cat", [](Faults& f) { return cat({f.sparse(), f.sparse()}, f.number()); }},
    {"cat with itself", [](Faults& f) { const Tensor t = f.sparse(); return cat({t, t}, f.number()); }},
    {"stack", [](Faults& f) { const Tensor t = f.sparse(); return stack({t, t}, f.number()); }},
    {"copy_", [](Faults& f) { return f.sparse().copy_(f.sparse()); }},
    {"copy_ of strided", [](Faults& f) { return f.sparse().copy_(f.strided()); }},
    {"resize_", [](Faults& f) { return f.sparse().resize_(f.numbers(4)); }},
    {"sparse_resize_", [](Faults& f) { return f.sparse().sparse_resize_({4, f.size()}, f.below(4), f.once_in(4)); }},
    {"sparse_resize_and_clear_",
     [](Faults& f) { return f.sparse().sparse_resize_and_clear_({f.size(), f.size()}, f.below(4), f.below(3)); }},
    {"to", [](Faults& f) { return f.sparse().to(TensorOptions(f.dtype()).device(f.device())); }},
    {"view", [](Faults& f) { return f.sparse().view(f.numbers(3)); }},
    {"reshape", [](Faults& f) { return f.sparse().reshape(f.numbers(3)); }},
    {"as_strided", [](Faults& f) { return f.sparse().as_strided(f.numbers(2), f.numbers(2)); }},
    {"exp", [](Faults& f) { return f.sparse().exp(); }},
    {"set_data", [](Faults& f) { const Tensor t = f.sparse(); t.set_data(f.once_in(2) ? f.sparse() : f.strided()); return t; }},
};

// Calls that every sparse tensor fails.
constexpr std::string_view kRefused[] = {
    "sparse_coo_tensor of sparse", "copy_ of strided", "view", "reshape", "as_strided", "exp"};

// Reads all of it, in every way that a consumer would.
void use(const Tensor& t) {
  if (!t.defined() || t.numel() > 100000) return;
  (void)t.sum().to(kCPU);
  if (t.layout() != kSparse) return;
  (void)t.coalesce();
  (void)t.to_dense();
  std::ostringstream out;
  out << t;
}

TEST(Faults, AreRefusedOrHarmless) {
  constexpr int kCases = 10000;
  Faults faults(20261122);
  const test::Twice good{Device(kCPU)};
  std::map<std::string, int> passed;
  int refused = 0, made = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCases; ++i) {
    const auto& [name, run] = kTries[static_cast<std::size_t>(i) % std::size(kTries)];
    SCOPED_TRACE(testing::Message() << name << ", case " << i);
    try {
      const Tensor t = run(faults);
      expect_whole(t);
      use(t);
      ++made;
      ++passed[name];
    } catch (const Error&) {
      ++refused;
    }
    if (testing::Test::HasFatalFailure()) return;
    if (i % 100 == 0)
      expect_equal(good.make().coalesce().mm(good.make().t()), good.dense().mm(good.dense().t()));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("cases", kCases);
  RecordProperty("refused", refused);
  RecordProperty("made", made);
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_EQ(made + refused, kCases);
  EXPECT_GT(refused, kCases / 4);
  EXPECT_GT(made, kCases / 10);
  for (const auto& [name, run] : kTries) {
    const bool never =
        std::count(std::begin(kRefused), std::end(kRefused), std::string_view(name)) > 0;
    EXPECT_EQ(passed[name] > 0, !never) << name;
  }
}

}  // namespace
}  // namespace tenon
