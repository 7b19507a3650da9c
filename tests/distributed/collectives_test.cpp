// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operation against what its definition says, computed here from the inputs of all ranks. For
// each engine it runs on processes (processes_as_ranks.cpp), for gloo also on threads.
#include <cmath>
#include <limits>
#include <thread>

#include "tests/distributed/ranks.h"

namespace tenon::distributed {
namespace {

// What rank r brings: the same on every thread that asks.
Tensor input_of(int r, ScalarType dtype, IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  const Tensor t = (arange(n, kLong) * 7 + r * 3) % 5 + 1;
  return t.reshape(sizes).to(dtype);
}

Tensor expected_of(ReduceOp op, int size, ScalarType dtype, IntArrayRef sizes) {
  const bool floating = isFloatingType(dtype) || isComplexType(dtype);
  const ScalarType wide = isComplexType(dtype) ? kComplexDouble : floating ? kDouble : dtype;
  Tensor out = input_of(0, dtype, sizes).to(wide);
  for (int r = 1; r < size; ++r) {
    const Tensor next = input_of(r, dtype, sizes).to(wide);
    switch (op) {
      case ReduceOp::SUM:
      case ReduceOp::AVG:
        out = out + next;
        break;
      case ReduceOp::PRODUCT:
        out = out * next;
        break;
      case ReduceOp::MIN:
        out = minimum(out, next);
        break;
      case ReduceOp::MAX:
        out = maximum(out, next);
        break;
      case ReduceOp::BAND:
        out = bitwise_and(out, next);
        break;
      case ReduceOp::BOR:
        out = bitwise_or(out, next);
        break;
      case ReduceOp::BXOR:
        out = bitwise_xor(out, next);
        break;
    }
  }
  if (op == ReduceOp::AVG) out = out / size;
  return out.to(dtype);
}

constexpr ReduceOp::RedOpType kAll[] = {ReduceOp::SUM, ReduceOp::AVG, ReduceOp::PRODUCT,
                                        ReduceOp::MIN, ReduceOp::MAX, ReduceOp::BAND,
                                        ReduceOp::BOR, ReduceOp::BXOR};
constexpr ScalarType kDtypes[] = {kFloat, kDouble, kHalf, kBFloat16,     kChar,         kByte,
                                  kShort, kInt,    kLong, kComplexFloat, kComplexDouble};

bool is_defined(ReduceOp op, ScalarType t) {
  const bool whole = !isFloatingType(t) && !isComplexType(t);
  if (op >= ReduceOp::BAND) return whole;
  if (op == ReduceOp::AVG) return !whole;
  return !isComplexType(t) || op == ReduceOp::SUM || op == ReduceOp::PRODUCT;
}

class Collectives : public testing::TestWithParam<int> {};

TEST_P(Collectives, BroadcastToAListOfTensors) {
  run_ranks(GetParam(), [](const ProcessGroupPtr& g) {
    const Tensor both = zeros({2, 3}).t();  // the list's tensors share a storage, with strides
    std::vector<Tensor> list = {both.select(1, 0), both.select(1, 1), zeros({3})};
    if (g->getRank() == 1) list[1].copy_(arange(3, kFloat));
    BroadcastOptions o;
    o.rootRank = o.rootTensor = 1;
    EXPECT_TRUE(g->broadcast(list, o)->wait());
    for (const Tensor& t : list) EXPECT_TRUE(equal(t, arange(3, kFloat))) << t;
  });
}

// An engine works beside the thread that profiles.
TEST_P(Collectives, AreRangesOfAProfile) {
  run_ranks(GetParam(), [](const ProcessGroupPtr& g) {
    Tensor t = ones({3});
    autograd::profiler::Profiler profiler(
        autograd::profiler::ProfilerOptions().record_shapes(true));
    const WorkPtr work = all_reduce(t, ReduceOp::SUM, g, /*async_op=*/true);
    EXPECT_TRUE(work->wait());
    const autograd::profiler::Profile p = profiler.stop();
    int found = 0;
    for (const auto& e : p.events) {
      if (!e.asynchronous) continue;
      EXPECT_EQ(e.name.substr(e.name.find(':')), ":all_reduce");
      EXPECT_EQ(e.shapes, (std::vector<std::vector<int64_t>>{{3}}));
      EXPECT_GE(e.begin_ns, 0);
      EXPECT_GE(e.total_ns(), 0);
      ++found;
    }
    EXPECT_EQ(found, 1);
  });
}

void expect_reductions(const ProcessGroupPtr& g, int n, IntArrayRef sizes) {
  for (ScalarType dtype : kDtypes) {
    for (ReduceOp op : kAll) {
      Tensor t = input_of(g->getRank(), dtype, sizes);
      if (!is_defined(op, dtype)) {
        EXPECT_THROW(all_reduce(t, op, g), NotImplementedError) << text(op) << dtype;
        continue;
      }
      all_reduce(t, op, g);
      EXPECT_TRUE(equal(t, expected_of(op, n, dtype, sizes))) << text(op) << " " << dtype << sizes;
      Tensor part = input_of(g->getRank(), dtype, sizes);
      reduce(part, n - 1, op, g);
      const Tensor expected = g->getRank() == n - 1 ? expected_of(op, n, dtype, sizes)
                                                    : input_of(g->getRank(), dtype, sizes);
      EXPECT_TRUE(equal(part, expected)) << "reduce " << text(op) << " " << dtype << sizes;
    }
  }
}

// Of few and of more elements, for which engines have other ways.
TEST_P(Collectives, AllReduceEveryReductionAndDtype) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    expect_reductions(g, n, {3, 5});
    expect_reductions(g, n, {33, 64});
  });
}

TEST_P(Collectives, SumsOfRoundedNumbersAreBitEqualOnAllRanks) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const Tensor mine = sin(arange(100003, kFloat) * (g->getRank() + 1));
    Tensor t = mine.clone();
    all_reduce(t, ReduceOp::SUM, g);
    for (int again = 0; again < 10; ++again) {
      Tensor u = mine.clone();
      all_reduce(u, ReduceOp::SUM, g);
      EXPECT_TRUE(equal(u, t)) << "run " << again;
    }
    std::vector<Tensor> results;
    results.reserve(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) results.push_back(zeros({100003}, kFloat));
    all_gather(results, t, g);
    Tensor sum = zeros({100003}, kDouble);
    for (int r = 0; r < n; ++r) {
      EXPECT_TRUE(equal(results[static_cast<std::size_t>(r)], t)) << r;
      sum = sum + sin(arange(100003, kFloat) * (r + 1)).to(kDouble);
    }
    EXPECT_LT((t.to(kDouble) - sum).abs().max().item<double>(), 1e-6);
  });
}

// Where an engine may divide the elements among the ranks. MPI's adds them in the order of ranks in
// each of the three operations.
TEST_P(Collectives, LargeReductionsThatAreUnderWayTogether) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const int64_t count = int64_t{n} * 30001;
    const auto of = [count](int r, ScalarType t) {
      return (sin(arange(count, kFloat) * static_cast<float>(r + 1)) * 100).to(t);
    };
    const int me = g->getRank();
    for (ScalarType dtype : {kFloat, kBFloat16, kInt}) {
      for (ReduceOp op : {ReduceOp::SUM, dtype == kInt ? ReduceOp::MAX : ReduceOp::AVG}) {
        Tensor all = of(me, dtype), root = of(me, dtype), part = zeros({count / n}, dtype);
        const WorkPtr first = all_reduce(all, op, g, true);
        const WorkPtr second = reduce(root, n - 1, op, g, true);
        reduce_scatter_tensor(part, of(me, dtype), op, g);
        second->wait();
        first->wait();
        Tensor sum = of(0, dtype);
        for (int r = 1; r < n; ++r)
          sum = op == ReduceOp::MAX ? maximum(sum, of(r, dtype)) : sum + of(r, dtype);
        if (op == ReduceOp::AVG) sum = sum / n;
        const double most = dtype == kFloat ? 1e-4 : dtype == kInt ? 0 : 4;
        const auto same = [&](const Tensor& a, const Tensor& b) {
          if (g->getBackendName() == "mpi") return equal(a, b);
          return (a - b).abs().max().to(kDouble).item<double>() <= most;
        };
        EXPECT_TRUE(same(all, sum)) << text(op) << " " << dtype;
        EXPECT_TRUE(same(root, me == n - 1 ? sum : of(me, dtype))) << text(op) << " " << dtype;
        EXPECT_TRUE(same(part, sum.narrow(0, me * (count / n), count / n)))
            << text(op) << " " << dtype;
      }
    }
  });
}

// Zeros of two signs and NaN, whichever rank brings them.
TEST_P(Collectives, ExtremesKeepNaNAndTheSignOfZero) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    for (int special = 0; special < n; ++special) {
      const bool mine = special == g->getRank();
      for (ReduceOp op : {ReduceOp::MIN, ReduceOp::MAX}) {
        const float zero = mine == (op == ReduceOp::MIN) ? -0.0f : 0.0f;
        Tensor t = cat({full({1}, mine ? nan : 1.0f), full({1}, zero), full({1}, 2.0f)});
        all_reduce(t, op, g);
        EXPECT_TRUE(std::isnan(t[0].item<float>())) << t;
        EXPECT_EQ(std::signbit(t[1].item<float>()), op == ReduceOp::MIN) << t;
        EXPECT_EQ(t[2].item<float>(), 2);
      }
    }
  });
}

TEST_P(Collectives, MovesParts) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const int me = g->getRank();
    for (ScalarType dtype : {kFloat, kBool, kComplexDouble, kShort}) {
      const auto mine = [&](int r) { return input_of(r, dtype, {2, 3}); };
      Tensor b = mine(me);
      broadcast(b, n - 1, g);
      EXPECT_TRUE(equal(b, mine(n - 1)));
      std::vector<Tensor> list;
      list.reserve(static_cast<std::size_t>(n));
      for (int r = 0; r < n; ++r) list.push_back(zeros({2, 3}, dtype));
      all_gather(list, mine(me), g);
      for (int r = 0; r < n; ++r) EXPECT_TRUE(equal(list[static_cast<std::size_t>(r)], mine(r)));
      for (Tensor& t : list) t.zero_();
      gather(mine(me), me == 0 ? list : std::vector<Tensor>(), 0, g);
      for (int r = 0; me == 0 && r < n; ++r)
        EXPECT_TRUE(equal(list[static_cast<std::size_t>(r)], mine(r)));
      std::vector<Tensor> parts;
      parts.reserve(static_cast<std::size_t>(n));
      for (int r = 0; r < n; ++r) parts.push_back(mine(r));
      Tensor s = zeros({2, 3}, dtype);
      scatter(s, me == n - 1 ? parts : std::vector<Tensor>(), n - 1, g);
      EXPECT_TRUE(equal(s, mine(me)));
    }
  });
}

TEST_P(Collectives, ReduceScatterAndAllToAll) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const int me = g->getRank();
    std::vector<Tensor> in, out;
    for (int r = 0; r < n; ++r) {
      in.push_back(full({2, 2}, me * 10 + r, kFloat));
      out.push_back(zeros({2, 2}, kFloat));
    }
    Tensor sum = zeros({2, 2}, kFloat);
    reduce_scatter(sum, in, ReduceOp::SUM, g);
    EXPECT_TRUE(equal(sum, full({2, 2}, 10 * n * (n - 1) / 2 + n * me, kFloat))) << sum;
    all_to_all(out, in, g);
    for (int r = 0; r < n; ++r)
      EXPECT_TRUE(equal(out[static_cast<std::size_t>(r)], full({2, 2}, r * 10 + me, kFloat)));
    // Rank r sends r + 1 rows to each.
    Tensor rows = full({n * (me + 1), 3}, me, kLong), got = zeros({n * (n + 1) / 2, 3}, kLong);
    std::vector<int64_t> from(static_cast<std::size_t>(n), me + 1), to;
    for (int r = 0; r < n; ++r) to.push_back(r + 1);
    all_to_all_single(got, rows, to, from, g);
    std::vector<Tensor> parts;
    parts.reserve(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) parts.push_back(full({r + 1, 3}, r, kLong));
    EXPECT_TRUE(equal(got, cat(parts)));
  });
}

TEST_P(Collectives, StridedTensorsAndViews) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    Tensor whole = zeros({4, 6}, kFloat), view = whole.t().narrow(0, 1, 3);
    view.copy_(input_of(g->getRank(), kFloat, {3, 4}));
    const Tensor leaf = ones({3}, kFloat).set_requires_grad(true);
    const auto version = whole._version();
    all_reduce(view, ReduceOp::SUM, g);
    EXPECT_TRUE(equal(view, expected_of(ReduceOp::SUM, n, kFloat, {3, 4})));
    EXPECT_EQ(whole.select(1, 0).abs().sum().item<float>(), 0);
    EXPECT_GT(whole._version(), version);
    broadcast(leaf, 0, g);
    all_reduce(leaf, ReduceOp::SUM, g);
    EXPECT_TRUE(equal(leaf.detach(), full({3}, n, kFloat)));
    EXPECT_TRUE(leaf.is_leaf());
    Tensor none = zeros({0, 3}, kFloat);
    all_reduce(none, ReduceOp::SUM, g);
    Tensor number = full({}, g->getRank(), kLong);
    all_reduce(number, ReduceOp::MAX, g);
    EXPECT_EQ(number.item<int64_t>(), n - 1);
  });
}

TEST_P(Collectives, PointToPointTagsAndAnySource) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const int me = g->getRank();
    Tensor a = zeros({10}, kFloat), b = zeros({10}, kFloat);
    if (me == 0) {
      auto second = irecv(b, 1, g, 2);
      auto first = irecv(a, 1, g, 1);
      second->wait();  // in any order
      first->wait();
      EXPECT_TRUE(first->is_completed() && first->is_success());
      EXPECT_TRUE(equal(a, ones({10}, kFloat)) && equal(b, full({10}, 2, kFloat)));
      std::vector<bool> seen(static_cast<std::size_t>(n));
      for (int i = 1; i < n; ++i) {
        const int from = recv(a, kAnySource, g, 7);
        EXPECT_TRUE(equal(a, full({10}, from, kFloat)));
        EXPECT_FALSE(seen[static_cast<std::size_t>(from)]);
        seen[static_cast<std::size_t>(from)] = true;
      }
    } else {
      if (me == 1) {
        isend(ones({10}, kFloat), 0, g, 1)->wait();
        send(full({10}, 2, kFloat), 0, g, 2);
      }
      send(full({10}, me, kFloat), 0, g, 7);
    }
  });
}

// The wait alone: the message comes all the same, and the group works on.
TEST_P(Collectives, AbortEndsTheWaitForAMessage) {
  run_ranks(GetParam(), [](const ProcessGroupPtr& g) {
    Tensor a = zeros({10}, kFloat);
    if (g->getRank() == 0) {
      const WorkPtr work = irecv(a, 1, g, 1);
      bool came = true;
      std::thread waiting([&] { came = work->wait(); });
      work->abort();
      waiting.join();
      EXPECT_FALSE(came);
      barrier(g);
      EXPECT_TRUE(work->wait());
      EXPECT_TRUE(equal(a, ones({10}, kFloat)));
    } else {
      barrier(g);
      if (g->getRank() == 1) send(ones({10}, kFloat), 0, g, 1);
    }
    barrier(g);
  });
}

// A group of a program that changes an operation and calls the library's.
TEST(ProcessGroup, OperationsAreVirtual) {
  struct Counted : ProcessGroup {
    using ProcessGroup::ProcessGroup;
    WorkPtr barrier(const BarrierOptions& o) override {
      ++barriers;
      return ProcessGroup::barrier(o);
    }
    int barriers = 0;
  };
  const auto g = std::make_shared<Counted>(std::make_shared<HashStore>(), 0, 1);
  barrier(g);
  g->monitoredBarrier();
  EXPECT_EQ(g->barriers, 2);
}

TEST_P(Collectives, AsynchronousWorkAndFutures) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    std::vector<Tensor> tensors;
    std::vector<WorkPtr> works;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(full({1000}, g->getRank() + i, kFloat));
      works.push_back(all_reduce(tensors.back(), ReduceOp::SUM, g, true));
    }
    int called = 0;
    auto doubled = works[3]->get_future()->then(
        [](Future& f) { return IValue(f.value().toTensorVector().at(0) * 2); });
    works[3]->add_callback([&] { ++called; });
    for (int i = 19; i >= 0; --i) EXPECT_TRUE(works[static_cast<std::size_t>(i)]->wait());
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(equal(tensors[static_cast<std::size_t>(i)],
                        full({1000}, n * (n - 1) / 2 + n * i, kFloat)));
    }
    EXPECT_EQ(called, 1);
    EXPECT_TRUE(equal(doubled->value().toTensor(), tensors[3] * 2));
    EXPECT_TRUE(doubled->hasValue());
    // Nobody holds this one.
    Tensor kept = full({5}, 1, kFloat);
    all_reduce(kept, ReduceOp::SUM, g, true);
    barrier(g);
    std::vector<Tensor> both = {ones({2}, kFloat), ones({3, 2}, kFloat)};
    all_reduce_coalesced(both, ReduceOp::AVG, g);
    EXPECT_TRUE(equal(both[1], ones({3, 2}, kFloat)));
  });
}

// Rank r has r elements, some of them where other ranks have some.
TEST_P(Collectives, SumsOfSparseTensors) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const auto mine = [](int r) {
      const Tensor at = stack({arange(r, kLong) % 2 + r % 2, (arange(r, kLong) * 2) % 3});
      return sparse_coo_tensor(at, sin(arange(r * 2, kFloat) + r).reshape({r, 2}), {3, 4, 2});
    };
    Tensor dense = zeros({3, 4, 2}, kFloat);
    for (int r = 0; r < n; ++r) dense = dense + mine(r).to_dense();
    const Tensor sum = all_reduce_sparse(mine(g->getRank()), ReduceOp::SUM, g);
    EXPECT_TRUE(sum.is_sparse() && sum.is_coalesced());
    EXPECT_TRUE(allclose(sum.to_dense(), dense)) << sum;
    const Tensor average = all_reduce_sparse(mine(g->getRank()), ReduceOp::AVG, g);
    EXPECT_TRUE(allclose(average.to_dense(), dense / n));
    std::vector<Tensor> values(static_cast<std::size_t>(n));
    for (Tensor& t : values) t = zeros_like(sum._values());
    all_gather(values, sum._values(), g);
    for (const Tensor& t : values) EXPECT_TRUE(equal(t, sum._values()));
    const Tensor none = sparse_coo_tensor(zeros({1, 0}, kLong), zeros({0}, kFloat), {5});
    EXPECT_TRUE(equal(all_reduce_sparse(none, ReduceOp::SUM, g).to_dense(), zeros({5}, kFloat)));
    EXPECT_THROW(all_reduce_sparse(none, ReduceOp::MAX, g), NotImplementedError);
    EXPECT_THROW(all_reduce_sparse(ones({5}), ReduceOp::SUM, g), ValueError);
    const Tensor wrong =
        sparse_coo_tensor(zeros({1, 1}, kLong), ones({1}, kFloat), {g->getRank() == 1 ? 6 : 5});
    EXPECT_THROW(all_reduce_sparse(wrong, ReduceOp::SUM, g), DistributedError);
  });
}

TEST_P(Collectives, Objects) {
  const int n = GetParam();
  run_ranks(n, [n](const ProcessGroupPtr& g) {
    const auto all = all_gather_object(std::string(static_cast<std::size_t>(g->getRank()), 'x'), g);
    for (int r = 0; r < n; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)].size(), r);
    EXPECT_EQ(broadcast_object(g->getRank() == 1 ? std::string("a\0b", 3) : "", 1, g),
              std::string("a\0b", 3));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, testing::ValuesIn(rank_counts()));

}  // namespace
}  // namespace tenon::distributed
