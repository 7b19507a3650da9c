// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble: all rows go down all trees at once, a level in each step. A position is a node, or
// a leaf as -1 - its index.
#include "onnx/import/builder.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _goes_left(v: Tensor, split: Tensor, mode: Tensor, members: Tensor) -> Tensor:
  yes = torch.where(mode == 0, v <= split, v < split)
  yes = torch.where(mode == 2, v >= split, yes)
  yes = torch.where(mode == 3, v > split, yes)
  yes = torch.where(mode == 4, v == split, yes)
  yes = torch.where(mode == 5, v != split, yes)
  return torch.where(mode == 6, torch.any(v.unsqueeze(-1) == members, -1), yes)
def _descend(x: Tensor, roots: Tensor, features: Tensor, modes: Tensor, splits: Tensor, members: Tensor, missing: Tensor, left: Tensor, right: Tensor) -> Tensor:
  at = roots.unsqueeze(0).expand([x.size(0), roots.size(0)])
  for level in range(features.size(0)):
    if bool(torch.any(at >= 0)):
      n = torch.clamp_min(at, 0)
      v = x.gather(1, features[n])
      yes = _goes_left(v, splits[n], modes[n], members[n])
      yes = torch.logical_or(yes, torch.logical_and(torch.isnan(v), missing[n]))
      at = torch.where(at >= 0, torch.where(yes, left[n], right[n]), at)
  return -1 - at
def _sum_leaves(leaf: Tensor, weights: Tensor, targets: Tensor, n_targets: int, aggregate: int) -> Tensor:
  y = torch.zeros([leaf.size(0), n_targets], dtype=weights.dtype, device=weights.device)
  if aggregate >= 2:
    return torch.scatter_reduce(y, 1, targets[leaf], weights[leaf], "amin" if aggregate == 2 else "amax", include_self=False)
  y = torch.scatter_add(y, 1, targets[leaf], weights[leaf])
  return y / leaf.size(1) if aggregate == 0 else y
def _transform_scores(y: Tensor, transform: int) -> Tensor:
  if transform == 1:
    return torch.softmax(y, -1)
  if transform == 2:
    return torch.sigmoid(y)
  if transform == 3:
    zero = y == 0
    p = torch.softmax(torch.where(zero, torch.full_like(y, float("-inf")), y), -1)
    return torch.where(zero, torch.zeros_like(y), p)
  if transform == 4:
    return torch.erfinv(2 * y - 1) * math.sqrt(2.0)
  return y
)py");

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
  Value* constant(const Tensor& t, const char* name) const {
    return b.tensor(Builder::constant_item(t, name));
  }
  static Tensor tensor_of(const std::vector<int64_t>& v) {
    return tenon::tensor(v, TensorOptions(kLong));
  }

  // Where a branch leads: nodes, and leaves as negative numbers.
  Tensor branch(const char* ids, const char* leafs, std::size_t n, int64_t leaves) const {
    const std::vector<int64_t> leaf = ints(leafs, n, 2);
    std::vector<int64_t> to = ints(ids, n, std::max(leaves, static_cast<int64_t>(n)));
    for (std::size_t i = 0; i < n; ++i) {
      TENON_CHECK(to[i] < (leaf[i] ? leaves : static_cast<int64_t>(n)), ValueError, ids, " has ",
                  to[i], ", of ", leaves, " leaves and ", n, " nodes");
      if (leaf[i]) to[i] = -1 - to[i];
    }
    return tensor_of(to);
  }

  // A row of members for each node, filled up with NaN, which equals nothing.
  Tensor members(const Tensor& modes) const {
    std::vector<std::vector<double>> sets(1);
    if (c.has("membership_values")) {
      const Tensor all = read("membership_values").to(kDouble);
      for (int64_t i = 0; i < all.numel(); ++i) {
        const double v = all.data_ptr<double>()[i];
        if (std::isnan(v))
          sets.emplace_back();
        else
          sets.back().push_back(v);
      }
    }
    std::size_t most = 1, next = 0;
    for (const auto& s : sets) most = std::max(most, s.size());
    Tensor out = full({modes.numel(), static_cast<int64_t>(most)}, std::nan(""), kDouble);
    for (int64_t i = 0; i < modes.numel(); ++i) {
      if (modes.data_ptr<int64_t>()[i] != 6) continue;
      TENON_CHECK(next < sets.size(), ValueError, "membership_values has ", sets.size(), " sets");
      std::copy(sets[next].begin(), sets[next].end(),
                out.data_ptr<double>() + i * static_cast<int64_t>(most));
      ++next;
    }
    return out;
  }

  std::vector<ItemPtr> translate() const {
    const Tensor modes = read("nodes_modes").to(kLong).contiguous(), splits = read("nodes_splits"),
                 weights = read("leaf_weights");
    const auto n = static_cast<std::size_t>(modes.numel());
    const int64_t leaves = weights.numel(), targets = c.integer("n_targets", 1);
    constexpr int64_t kMaxTargets = 1 << 20;
    TENON_CHECK(n > 0 && splits.numel() == modes.numel() && targets > 0 && targets <= kMaxTargets,
                ValueError, "it has ", n, " nodes, ", splits.numel(), " splits and ", targets,
                " targets");
    const int64_t transform = c.integer("post_transform", 0);
    TENON_CHECK(transform >= 0 && transform <= 4, ValueError, "post_transform is ", transform);
    const std::vector<int64_t> roots = c.integers("tree_roots");
    const auto limit = static_cast<int64_t>(n);
    const Tensor missing = c.has("nodes_missing_value_tracks_true")
                               ? tensor_of(ints("nodes_missing_value_tracks_true", n, 2))
                               : zeros({limit}, kLong);
    constexpr int64_t kMaxFeatures = int64_t{1} << 40;
    Value* leaf =
        b.call_text(
             "_descend",
             {b.tensor(c.input(0)),
              constant(tensor_of(ints("tree_roots", roots.size(), limit)), "roots"),
              constant(tensor_of(ints("nodes_featureids", n, kMaxFeatures)), "features"),
              constant(modes, "modes"), constant(splits, "splits"),
              constant(members(modes).to(splits.scalar_type()), "members"),
              constant(missing.to(kBool), "missing"),
              constant(branch("nodes_truenodeids", "nodes_trueleafs", n, leaves), "left"),
              constant(branch("nodes_falsenodeids", "nodes_falseleafs", n, leaves), "right")})
            .at(0);
    Value* y =
        b.call_text(
             "_sum_leaves",
             {leaf, constant(weights, "leaf_weights"),
              constant(tensor_of(ints("leaf_targetids", static_cast<std::size_t>(leaves), targets)),
                       "targets"),
              b.constant(targets), b.constant(c.integer("aggregate_function", 1))})
            .at(0);
    y = b.call_text("_transform_scores", {y, b.constant(transform)}).at(0);
    return {Builder::item(y, weights.scalar_type())};
  }
};

std::vector<ItemPtr> translate_trees(Builder& b, Call& c) { return Trees{b, c}.translate(); }

const Entry kTrees[] = {
    {"TreeEnsemble", 5, 0, Gives::Unknown, nullptr, translate_trees},
};
const Entries kRegistered("ai.onnx.ml", kTrees, std::size(kTrees));

}  // namespace
}  // namespace tenon::onnx
