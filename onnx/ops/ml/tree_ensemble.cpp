// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble of version 5: leaves are numbered apart from nodes, and come behind them here.
#include "onnx/ops/ml/attributes.h"
#include "onnx/ops/ml/forest.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMaxTargets = 1 << 20;
constexpr int64_t kMaxFeatures = int64_t{1} << 40;

std::vector<double> doubles_of(const Tensor& t) {
  const Tensor d = t.to(kDouble).contiguous();
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

struct Trees {
  Builder& b;
  Call& c;
  Tensor read(const char* name) const {
    const auto* a = c.find(name);
    TENON_CHECK(a && a->has_t(), ValueError, "it has no ", name);
    return b.read(a->t()).reshape({-1});
  }
  std::vector<int64_t> ints(const char* name, std::size_t n, int64_t below) const {
    std::vector<int64_t> v = c.integers(name);
    TENON_CHECK(v.size() == n, ValueError, name, " has ", v.size(), " elements instead of ", n);
    for (const int64_t i : v)
      TENON_CHECK(i >= 0 && i < below, ValueError, name, " has ", i, ", expected less than ",
                  below);
    return v;
  }

  // Where a branch leads: to nodes, and to the leaves behind them.
  std::vector<int64_t> branch(const char* ids, const char* leafs, std::size_t n,
                              int64_t leaves) const {
    const auto nodes = static_cast<int64_t>(n);
    const std::vector<int64_t> leaf = ints(leafs, n, 2);
    std::vector<int64_t> to = ints(ids, n, std::max(leaves, nodes));
    for (std::size_t i = 0; i < n; ++i) {
      TENON_CHECK(to[i] < (leaf[i] ? leaves : nodes), ValueError, ids, " has ", to[i], ", of ",
                  leaves, " leaves and ", n, " nodes");
      if (leaf[i]) to[i] += nodes;
    }
    return to;
  }

  std::vector<std::vector<double>> members() const {
    std::vector<std::vector<double>> sets(1);
    if (!c.has("membership_values")) return sets;
    for (const double v : doubles_of(read("membership_values"))) {
      if (std::isnan(v))
        sets.emplace_back();
      else
        sets.back().push_back(v);
    }
    return sets;
  }

  Forest forest(const Tensor& splits, int64_t leaves) const {
    Forest f;
    const Tensor modes = read("nodes_modes").to(kLong).contiguous();
    const auto n = static_cast<std::size_t>(modes.numel());
    TENON_CHECK(n > 0 && splits.numel() == modes.numel(), ValueError, "it has ", n, " nodes and ",
                splits.numel(), " splits");
    f.modes.assign(modes.data_ptr<int64_t>(), modes.data_ptr<int64_t>() + n);
    for (const int64_t m : f.modes)
      TENON_CHECK(m >= 0 && m <= kMember, ValueError, "nodes_modes has ", m);
    f.features = ints("nodes_featureids", n, kMaxFeatures);
    f.splits = doubles_of(splits);
    f.members = members();
    if (c.has("nodes_missing_value_tracks_true"))
      f.missing = ints("nodes_missing_value_tracks_true", n, 2);
    f.missing.resize(n, 0);
    f.yes = branch("nodes_truenodeids", "nodes_trueleafs", n, leaves);
    f.no = branch("nodes_falsenodeids", "nodes_falseleafs", n, leaves);
    f.roots = c.integers("tree_roots");
    (void)ints("tree_roots", f.roots.size(), modes.numel());
    f.resize(n + static_cast<std::size_t>(leaves));
    return f;
  }

  std::vector<ItemPtr> translate() const {
    const Tensor splits = read("nodes_splits"), weights = read("leaf_weights");
    const int64_t leaves = weights.numel(), transform = c.integer("post_transform", 0);
    const int64_t aggregate = c.integer("aggregate_function", 1);
    TENON_CHECK(transform >= 0 && transform <= 4, ValueError, "post_transform is ", transform);
    TENON_CHECK(aggregate >= 0 && aggregate <= 3, ValueError, "aggregate_function is ", aggregate);
    LeafWeights l;
    l.n_targets = c.integer("n_targets", 1);
    TENON_CHECK(l.n_targets > 0 && l.n_targets <= kMaxTargets, ValueError, "it has ", l.n_targets,
                " targets");
    const Forest f = forest(splits, leaves);
    l.targets = ints("leaf_targetids", static_cast<std::size_t>(leaves), l.n_targets);
    l.weights = doubles_of(weights);
    for (int64_t i = 0; i < leaves; ++i)
      l.nodes.push_back(static_cast<int64_t>(f.size()) - leaves + i);
    Value* y = score_forest(b, c.input(0), f, l, static_cast<Aggregate>(aggregate),
                            splits.scalar_type(), weights.scalar_type());
    return {Builder::item(transform_scores(b, y, static_cast<Transform>(transform)),
                          weights.scalar_type())};
  }
};

std::vector<ItemPtr> translate_trees(Builder& b, Call& c) { return Trees{b, c}.translate(); }

const Entry kTrees[] = {
    {"TreeEnsemble", 5, 0, Gives::Unknown, nullptr, translate_trees},
};
const Entries kRegistered("ai.onnx.ml", kTrees, std::size(kTrees));

}  // namespace
}  // namespace tenon::onnx
