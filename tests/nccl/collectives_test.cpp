// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operation, reduction and dtype of NCCL against what its definition says.
#include <set>

#include "tests/nccl/ranks.h"

namespace tenon::distributed {
namespace {

constexpr ReduceOp::RedOpType kAll[] = {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT,
                                        ReduceOp::MIN, ReduceOp::MAX, ReduceOp::BAND,
                                        ReduceOp::BOR, ReduceOp::BXOR};
constexpr ScalarType kDtypes[] = {kFloat, kDouble, kHalf, kBFloat16, kChar,         kByte,
                                  kShort, kInt,    kLong, kBool,     kComplexFloat, kComplexDouble};

// What NCCL can do, written down once more.
bool is_served(ReduceOp op, ScalarType t) {
  if (t == kShort || op == ReduceOp::BXOR) return false;
  if (t == kBool) return op != ReduceOp::AVG;
  if (op == ReduceOp::BAND || op == ReduceOp::BOR) return false;
  if (isComplexType(t)) return op == ReduceOp::SUM || op == ReduceOp::AVG;
  return op != ReduceOp::AVG || isFloatingType(t);
}

Tensor input_of(int r, ScalarType dtype, IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  const Tensor t = (arange(n, kLong) * 7 + r * 3) % 5 + (dtype == kBool ? 0 : 1);
  return (dtype == kBool ? t.gt(1) : t).reshape(sizes).to(dtype);
}

Tensor combined(ReduceOp op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::AVG:
      return a + b;
    case ReduceOp::PRODUCT:
      return a * b;
    case ReduceOp::MIN:
      return minimum(a, b);
    case ReduceOp::MAX:
      return maximum(a, b);
    case ReduceOp::BAND:
      return bitwise_and(a, b);
    default:
      return bitwise_or(a, b);
  }
}

// bool is "or" of sums and "and" of products.
Tensor expected_of(ReduceOp op, ScalarType dtype, IntArrayRef sizes) {
  const ScalarType wide = isComplexType(dtype)    ? kComplexDouble
                          : isFloatingType(dtype) ? kDouble
                                                  : kLong;
  Tensor out = input_of(0, dtype, sizes).to(wide);
  for (int r = 1; r < get_world_size(); ++r)
    out = combined(op, out, input_of(r, dtype, sizes).to(wide));
  if (op == ReduceOp::AVG) out = out / get_world_size();
  return out.to(dtype);
}

TEST(NcclCollectives, EveryReductionAndDtype) {
  const int n = get_world_size(), me = get_rank();
  const int64_t staged = default_group()->stagedCalls();
  int served = 0;
  for (ScalarType dtype : kDtypes) {
    for (ReduceOp op : kAll) {
      const Tensor mine = input_of(me, dtype, {3, 5});
      Tensor t = on_device(mine);
      if (!is_served(op, dtype)) {
        EXPECT_THROW(all_reduce(t, op), NotImplementedError) << text(op) << dtype;
        continue;
      }
      ++served;
      const Tensor expected = expected_of(op, dtype, {3, 5});
      all_reduce(t, op);
      EXPECT_TRUE(equal(t.cpu(), expected)) << text(op) << " " << dtype << t.cpu();
      Tensor part = on_device(mine);
      reduce(part, n - 1, op);
      EXPECT_TRUE(equal(part.cpu(), me == n - 1 ? expected : mine)) << text(op) << " " << dtype;
      Tensor in = on_device(input_of(me, dtype, {n, 5})), out = on_device(mine[0].clone());
      reduce_scatter_tensor(out, in, op);
      EXPECT_TRUE(equal(out.cpu(), expected_of(op, dtype, {n, 5})[me])) << text(op) << dtype;
    }
  }
  EXPECT_EQ(served, 4 * 5 + 4 * 4 + 6 + 2 * 2);
  EXPECT_EQ(default_group()->stagedCalls(), staged);
}

TEST(NcclCollectives, MovesPartsOfEveryDtype) {
  const int n = get_world_size(), me = get_rank();
  for (ScalarType dtype : kDtypes) {
    const auto part = [&](int r) { return input_of(r, dtype, {2, 3}); };
    const auto empty_parts = [&] {
      std::vector<Tensor> list;
      for (int r = 0; r < n; ++r) list.push_back(on_device(zeros({2, 3}, dtype)));
      return list;
    };
    const auto expect_parts = [&](const std::vector<Tensor>& list, const char* what) {
      for (int r = 0; r < n; ++r)
        EXPECT_TRUE(equal(list[static_cast<std::size_t>(r)].cpu(), part(r))) << what << dtype;
    };
    Tensor b = on_device(part(me));
    broadcast(b, n - 1);
    EXPECT_TRUE(equal(b.cpu(), part(n - 1))) << "broadcast " << dtype;
    std::vector<Tensor> list = empty_parts();
    all_gather(list, on_device(part(me)));
    expect_parts(list, "all_gather ");
    list = empty_parts();
    gather(on_device(part(me)), me == 1 ? list : std::vector<Tensor>(), 1);
    if (me == 1) expect_parts(list, "gather ");
    std::vector<Tensor> all;
    for (int r = 0; r < n; ++r) all.push_back(on_device(part(r)));
    Tensor s = on_device(zeros({2, 3}, dtype));
    scatter(s, me == 1 ? all : std::vector<Tensor>(), 1);
    EXPECT_TRUE(equal(s.cpu(), part(me))) << "scatter " << dtype;
    list = empty_parts();
    all_to_all(list, std::vector<Tensor>(static_cast<std::size_t>(n), on_device(part(me))));
    expect_parts(list, "all_to_all ");
    Tensor m = on_device(me == 0 ? part(0) : zeros({2, 3}, dtype));
    if (me == 0) send(m, 1);
    if (me == 1) {
      EXPECT_EQ(recv(m, 0), 0);
    }
    if (me < 2) {
      EXPECT_TRUE(equal(m.cpu(), part(0))) << "send " << dtype;
    }
  }
}

// Rank r sends r + 1 rows to each; views and numbers of no elements.
TEST(NcclCollectives, UnequalPartsStridesAndNothing) {
  const int n = get_world_size(), me = get_rank();
  Tensor rows = on_device(full({n * (me + 1), 3}, me, kLong));
  Tensor got = on_device(zeros({n * (n + 1) / 2, 3}, kLong));
  std::vector<int64_t> from(static_cast<std::size_t>(n), me + 1), to;
  std::vector<Tensor> parts;
  for (int r = 0; r < n; ++r) {
    to.push_back(r + 1);
    parts.push_back(full({r + 1, 3}, r, kLong));
  }
  all_to_all_single(got, rows, to, from);
  EXPECT_TRUE(equal(got.cpu(), cat(parts)));
  Tensor whole = on_device(ones({4, 6}) * (me + 1));
  all_reduce(whole.t().narrow(0, 1, 3));
  const Tensor sum = whole.cpu();
  EXPECT_TRUE(equal(sum.narrow(1, 1, 3), full({4, 3}, n * (n + 1) / 2, kFloat))) << sum;
  EXPECT_TRUE(equal(sum.select(1, 0), full({4}, me + 1, kFloat)));
  Tensor none = on_device(zeros({0, 3}));
  all_reduce(none);
  broadcast(none, 1);
  std::vector<Tensor> both = {on_device(ones({2})), on_device(full({3, 2}, 2, kFloat))};
  all_reduce_coalesced(both, ReduceOp::AVG);
  EXPECT_TRUE(equal(both[1].cpu(), full({3, 2}, 2, kFloat)));
  barrier();
}

// Where NCCL has no host memory, tensors of the host go through the device.
TEST(NcclCollectives, TensorsOfTheHostGoThroughTheDevice) {
  const int n = get_world_size();
  const int64_t before = default_group()->stagedCalls();
  Tensor x = full({3}, get_rank(), kDouble);
  all_reduce(x, ReduceOp::MAX);
  EXPECT_TRUE(equal(x, full({3}, n - 1, kDouble)));
  EXPECT_GT(default_group()->stagedCalls(), before);
  const auto all = all_gather_object(std::string(static_cast<std::size_t>(get_rank()), 'x'));
  for (int r = 0; r < n; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)].size(), r);
}

TEST(NcclCollectives, RefusesWhatNcclHasNot) {
  Tensor x = on_device(ones({2}));
  const int other = get_rank() == 0 ? 1 : 0;
  expect_text(error_of([&] { send(x, other, nullptr, 7); }).what(),
              "NCCL has no tags: got tag 7, expected 0");
  expect_text(error_of([&] { recv(x); }).what(), "got any source");
  try {
    all_reduce(ones({2}).to(Device("cuda:1")));
    FAIL() << "a tensor of another device was taken";
  } catch (const ValueError& e) {
    expect_text(e.what(), "all_reduce: a tensor is on cuda:1; expected cuda:0");
  }
  barrier();
}

TEST(NcclCollectives, GroupsOfSomeRanksAndOfAnotherDevice) {
  const ProcessGroupPtr pair = new_group({0, 1});
  EXPECT_EQ(pair != nullptr, get_rank() < 2);
  Tensor x = on_device(full({1}, get_rank() + 1, kLong));
  if (pair) {
    all_reduce(x, ReduceOp::SUM, pair);
    EXPECT_EQ(x.cpu().item<int64_t>(), 3);
    destroy_process_group(pair);
  }
  ProcessGroupOptions o;
  o.backend = "nccl";
  o.group_name = "second device";
  o.device = Device("cuda:1");
  const auto second =
      std::make_shared<ProcessGroup>(default_group()->getStore(), get_rank(), get_world_size(), o);
  Tensor y = ones({2}).to(Device("cuda:1"));
  all_reduce(y, ReduceOp::SUM, second);
  barrier(second);
  EXPECT_EQ(y.cpu()[1].item<float>(), static_cast<float>(get_world_size()));
}

}  // namespace
}  // namespace tenon::distributed
