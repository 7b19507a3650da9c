// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One step of the power method for each gradient M (n x m), whose average over the ranks is wanted:
//   P = average of M Q        Q (m x r): last iteration's, or normal numbers of a common seed
//   P = orthonormal columns of P
//   Q = average of M^T P
//   M = P Q^T                 what this leaves out of a rank's own M is added to its next one
// P and Q are averages, so that all ranks have the same.
#include <algorithm>
#include <map>

#include "distributed/parallel/comm.h"
#include "tenon/creation.h"
#include "tenon/distributed/parallel/comm_hooks.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::distributed {
namespace {

constexpr double kTiny = 1e-8;  // added to lengths, as gradients may be zero

// Gram and Schmidt's way, column by column: there are few.
void orthogonalize(const Tensor& p) {
  for (int64_t c = 0; c < p.size(1); ++c) {
    const Tensor column = p.narrow(1, c, 1);
    for (int64_t before = 0; before < c; ++before) {
      const Tensor other = p.narrow(1, before, 1);
      column.sub_(other.mul(other.mul(column).sum()));
    }
    column.div_(column.mul(column).sum().sqrt().add(kTiny));
  }
}

struct Factors {
  Tensor m;     // the gradient, a view of the bucket
  Tensor p, q;  // views of the lists below
};

// Of one bucket.
struct BucketState {
  Tensor error;
  Tensor q;                    // of all gradients, one after the other
  std::vector<int64_t> sizes;  // of the gradients, to know the bucket again
};

class PowerSGDHook final : public CommHook {
 public:
  PowerSGDHook(const PowerSGDOptions& options, GroupPtr group)
      : options_(options),
        comm_(std::move(group)),
        generator_(make_generator(Device(kCPU), options.seed)) {
    TENON_CHECK(options.matrix_approximation_rank > 0, ValueError,
                "power_sgd_hook: matrix_approximation_rank must be positive, got ",
                options.matrix_approximation_rank);
  }

  SharedFunction<Tensor()> run(GradBucket& bucket) override {
    if (bucket.is_last()) ++iteration_;
    const int64_t iteration = bucket.is_last() ? iteration_ - 1 : iteration_;
    if (iteration < options_.start_iteration) return average(bucket.buffer());
    return compress(bucket);
  }

 private:
  SharedFunction<Tensor()> average(const Tensor& t) const {
    t.div_(comm_.size());
    return [t, pending = comm_.all_reduce(t)]() mutable {
      pending.wait();
      return t;
    };
  }

  int64_t rank_of(int64_t n, int64_t m) const {
    return std::min({options_.matrix_approximation_rank, n, m});
  }

  BucketState& state_of(const GradBucket& bucket) {
    BucketState& s = states_[bucket.index()];
    std::vector<int64_t> sizes;
    for (const Tensor& g : bucket.gradients()) {
      sizes.push_back(g.dim());
      sizes.insert(sizes.end(), g.sizes().begin(), g.sizes().end());
    }
    if (sizes != s.sizes) s = {};  // buckets are rebuilt after the first iteration
    s.sizes = std::move(sizes);
    return s;
  }

  // Sorts the gradients into matrices and others, and makes the lists of their factors.
  void split(const GradBucket& bucket, BucketState& s, std::vector<Factors>* matrices,
             std::vector<Tensor>* others, Tensor* ps) {
    int64_t p_count = 0, q_count = 0;
    for (const Tensor& g : bucket.gradients()) {
      const int64_t n = g.dim() < 2 ? 1 : g.size(0), m = n == 0 ? 0 : g.numel() / n;
      const int64_t r = rank_of(n, m);
      const double factors = static_cast<double>((n + m) * r);
      if (g.dim() < 2 || g.numel() == 0 ||
          factors * options_.min_compression_rate >= static_cast<double>(g.numel())) {
        others->push_back(g);
        continue;
      }
      matrices->push_back({g.view({n, m}), Tensor(), Tensor()});
      p_count += n * r;
      q_count += m * r;
    }
    *ps = zeros({p_count}, bucket.buffer().options());
    if (!s.q.defined() || !options_.warm_start) {
      s.q = tenon::randn({q_count}, generator_, TensorOptions().dtype(kFloat))
                .to(bucket.buffer().options());
    }
    int64_t p_at = 0, q_at = 0;
    for (Factors& f : *matrices) {
      const int64_t n = f.m.size(0), m = f.m.size(1), r = rank_of(n, m);
      f.p = ps->narrow(0, p_at, n * r).view({n, r});
      f.q = s.q.narrow(0, q_at, m * r).view({m, r});
      p_at += n * r;
      q_at += m * r;
    }
  }

  SharedFunction<Tensor()> compress(const GradBucket& bucket) {
    BucketState& s = state_of(bucket);
    const Tensor& flat = bucket.buffer();
    Tensor given;
    if (options_.use_error_feedback) {
      if (s.error.defined()) flat.add_(s.error);
      given = flat.clone();
    }
    std::vector<Factors> matrices;
    std::vector<Tensor> others;
    Tensor ps;
    split(bucket, s, &matrices, &others, &ps);
    std::vector<Tensor> rest;
    rest.reserve(others.size());
    for (const Tensor& g : others) rest.push_back(g.view({-1}));
    const Tensor plain = rest.empty() ? Tensor() : cat(rest).div_(comm_.size());
    Pending plain_sum = plain.defined() ? comm_.all_reduce(plain) : Pending();
    for (Factors& f : matrices) {
      orthogonalize(f.q);
      f.p.copy_(matmul(f.m, f.q));
    }
    Pending p_sum = matrices.empty() ? Pending() : comm_.all_reduce(ps);
    return [=, this, &s]() mutable {
      p_sum.wait();
      finish(matrices, s.q);
      plain_sum.wait();
      int64_t at = 0;
      for (const Tensor& g : others) {
        g.copy_(plain.narrow(0, at, g.numel()).view(g.sizes()));
        at += g.numel();
        if (given.defined()) given.narrow(0, g.storage_offset(), g.numel()).copy_(g.view({-1}));
      }
      if (given.defined()) s.error = given.sub_(flat);
      return flat;
    };
  }

  void finish(const std::vector<Factors>& matrices, const Tensor& qs) const {
    if (matrices.empty()) return;
    for (const Factors& f : matrices) {
      orthogonalize(f.p);
      f.q.copy_(matmul(f.m.t(), f.p));
    }
    qs.div_(comm_.size());
    comm_.all_reduce(qs).wait();
    for (const Factors& f : matrices) f.m.copy_(matmul(f.p, f.q.t()));
  }

  const PowerSGDOptions options_;
  const Comm comm_;
  Generator generator_;
  std::map<std::size_t, BucketState> states_;
  int64_t iteration_ = 0;
};

}  // namespace

std::shared_ptr<CommHook> power_sgd_hook(PowerSGDOptions options, GroupPtr group) {
  return std::make_shared<PowerSGDHook>(options, std::move(group));
}

}  // namespace tenon::distributed
