// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "onnx/ops/ml/forest.h"

#include <cmath>
#include <limits>

#include "onnx/ops/ml/attributes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

// A step over all rows and trees reads a value, a feature, a split and a child each: of parts of so
// many elements these stay in the second level cache.
constexpr int64_t kPart = 1 << 15;

// Modes are only there where nodes compare otherwise than by v <= split. Of leaves no comparison
// with their NaN is true, so they stay.
const Texts kTexts(R"py(
def _goes_by_mode(v: Tensor, split: Tensor, mode: Tensor, members: Tensor) -> Tensor:
  yes = torch.where(mode == 1, v < split, v <= split)
  yes = torch.where(mode == 2, v >= split, yes)
  yes = torch.where(mode == 3, v > split, yes)
  yes = torch.where(mode == 4, v == split, yes)
  yes = torch.where(mode == 5, v != split, yes)
  return torch.where(mode == 6, torch.any(v.unsqueeze(-1) == members, -1), yes)
def _descend(x: Tensor, roots: Tensor, features: Tensor, splits: Tensor, children: Tensor, depth: int, missing: Optional[Tensor], modes: Optional[Tensor], members: Optional[Tensor]) -> Tensor:
  some_missing = missing is not None and bool(torch.any(torch.isnan(x)))
  sizes = [x.size(0), roots.size(0)]
  n = roots.unsqueeze(0).expand(sizes).reshape([-1])
  for level in range(depth):
    v = x.gather(1, features.index_select(0, n).reshape(sizes)).reshape([-1])
    s = splits.index_select(0, n)
    if modes is not None and members is not None:
      yes = _goes_by_mode(v, s, modes.index_select(0, n), members.index_select(0, n))
    else:
      yes = v <= s
    if some_missing and missing is not None:
      yes = torch.logical_or(yes, torch.logical_and(torch.isnan(v), missing.index_select(0, n)))
    n = children.index_select(0, torch.add(yes, n, alpha=2))
  return n
def _sum_leaves(n: Tensor, trees: int, weights: Tensor, targets: Optional[Tensor], n_targets: int, aggregate: int) -> Tensor:
  w = weights.index_select(0, n)
  if targets is not None:
    t = targets.index_select(0, n).reshape([-1, trees])
    w = w.reshape([-1, trees])
    y = torch.zeros([t.size(0), n_targets], dtype=w.dtype, device=w.device)
    if aggregate >= 2:
      return torch.scatter_reduce(y, 1, t, w, "amin" if aggregate == 2 else "amax", include_self=False)
    y = torch.scatter_add(y, 1, t, w)
    return y / trees if aggregate == 0 else y
  w = w.reshape([n.size(0) // trees, trees, n_targets])
  if aggregate == 2:
    return torch.amin(w, 1)
  if aggregate == 3:
    return torch.amax(w, 1)
  return w.mean(1) if aggregate == 0 else w.sum(1)
def _score_forest(x: Tensor, roots: Tensor, features: Tensor, splits: Tensor, children: Tensor, depth: int, missing: Optional[Tensor], modes: Optional[Tensor], members: Optional[Tensor], weights: Tensor, targets: Optional[Tensor], n_targets: int, aggregate: int, rows: int) -> Tensor:
  a = x if x.dim() == 2 else x.reshape([1, -1])
  if not a.is_floating_point():
    a = a.to(splits.dtype)
  parts: List[Tensor] = []
  for part in torch.split(a, rows):
    n = _descend(part, roots, features, splits, children, depth, missing, modes, members)
    parts.append(_sum_leaves(n, roots.size(0), weights, targets, n_targets, aggregate))
  y = parts[0] if len(parts) == 1 else torch.cat(parts)
  return torch.where(torch.isinf(y), torch.zeros_like(y), y) if aggregate >= 2 else y
)py");

// The longest way from a root to a leaf. Nodes may be shared, as those of sets are.
int64_t depth_of(const Forest& f) {
  constexpr int64_t kUnseen = -1, kOpen = -2;
  std::vector<int64_t> depth(f.size(), kUnseen), stack;
  int64_t most = 0;
  for (const int64_t root : f.roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      const auto n = static_cast<std::size_t>(stack.back());
      if (f.modes[n] == kLeaf) {
        depth[n] = 0;
        stack.pop_back();
        continue;
      }
      const bool first = depth[n] == kUnseen;
      depth[n] = first ? kOpen : depth[n];
      int64_t below = 0;
      bool ready = true;
      for (const int64_t child : {f.yes[n], f.no[n]}) {
        const int64_t d = depth[static_cast<std::size_t>(child)];
        if (d >= 0) {
          below = std::max(below, d);
          continue;
        }
        TENON_CHECK(d == kUnseen, ValueError, "a node of a tree leads back to itself");
        stack.push_back(child);
        ready = false;
      }
      if (!ready) continue;
      depth[n] = below + 1;
      stack.pop_back();
    }
    most = std::max(most, depth[static_cast<std::size_t>(root)]);
  }
  return most;
}

// A row of members for each node, filled up with NaN, which equals nothing.
Tensor members_of(const Forest& f) {
  std::size_t most = 1, next = 0;
  for (const auto& s : f.members) most = std::max(most, s.size());
  const auto columns = static_cast<int64_t>(most);
  Tensor out = full({static_cast<int64_t>(f.size()), columns}, std::nan(""), kDouble);
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (f.modes[i] != kMember) continue;
    TENON_CHECK(next < f.members.size(), ValueError, "membership_values has ", f.members.size(),
                " sets");
    std::copy(f.members[next].begin(), f.members[next].end(),
              out.data_ptr<double>() + static_cast<int64_t>(i) * columns);
    ++next;
  }
  return out;
}

// Below any number that is less than s, and none that is not: v < s is v <= this.
double just_below(double s, ScalarType of) {
  if (of == kFloat)
    return std::nextafterf(static_cast<float>(s), -std::numeric_limits<float>::infinity());
  return std::nextafter(s, -std::numeric_limits<double>::infinity());
}

struct Leaves {
  Tensor weights, targets;  // targets: undefined if there is a column for each
};

// One weight per leaf is a scatter by targets; several are rows over all targets.
Leaves table_of(const LeafWeights& l, std::size_t nodes, Aggregate aggregate, ScalarType dtype) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double none = aggregate == Aggregate::Min   ? infinity
                      : aggregate == Aggregate::Max ? -infinity
                                                    : 0;
  std::vector<int64_t> target(nodes, 0);
  std::vector<bool> seen(nodes, false);
  bool several = l.n_targets == 1;
  for (const int64_t n : l.nodes) {
    several = several || seen[static_cast<std::size_t>(n)];
    seen[static_cast<std::size_t>(n)] = true;
  }
  const int64_t columns = several ? l.n_targets : 1;
  TENON_CHECK(static_cast<int64_t>(nodes) <= (int64_t{1} << 28) / columns, ValueError, "it has ",
              nodes, " nodes of ", columns, " targets");
  Tensor w = full({static_cast<int64_t>(nodes), columns}, none, kDouble);
  double* p = w.data_ptr<double>();
  for (std::size_t i = 0; i < l.nodes.size(); ++i) {
    const int64_t n = l.nodes[i];
    target[static_cast<std::size_t>(n)] = l.targets[i];
    double& to = p[n * columns + (several ? l.targets[i] : 0)];
    if (aggregate == Aggregate::Min)
      to = std::min(to, l.weights[i]);
    else if (aggregate == Aggregate::Max)
      to = std::max(to, l.weights[i]);
    else
      to += l.weights[i];
  }
  w = w.to(dtype);
  return several ? Leaves{w, Tensor()} : Leaves{w.reshape({-1}), tensor_of(target)};
}

Tensor children_of(const Forest& f) {
  std::vector<int64_t> both;
  both.reserve(2 * f.size());
  for (std::size_t i = 0; i < f.size(); ++i) {
    both.push_back(f.no[i]);
    both.push_back(f.yes[i]);
  }
  return tensor_of(both);
}

}  // namespace

void Forest::resize(std::size_t n) {
  features.resize(n, 0);
  modes.resize(n, kLeaf);
  missing.resize(n, 0);
  splits.resize(n, std::nan(""));
  for (std::size_t i = yes.size(); i < n; ++i) {
    yes.push_back(static_cast<int64_t>(i));
    no.push_back(static_cast<int64_t>(i));
  }
}

Value* score_forest(Builder& b, const ItemPtr& x, const Forest& forest, const LeafWeights& leaves,
                    Aggregate aggregate, ScalarType split_type, ScalarType weight_type) {
  TENON_CHECK(!forest.roots.empty(), ValueError, "it has no trees");
  const int64_t depth = depth_of(forest);
  // Numbers of another type than the splits compare in another one still.
  const bool same =
      x->dtype && (*x->dtype == kDouble || (*x->dtype == kFloat && split_type == kFloat));
  std::vector<double> splits = forest.splits;
  bool by_mode = false, misses = false, wide = split_type == kDouble;
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const int64_t mode = forest.modes[i];
    misses = misses || forest.missing[i] != 0;
    if (mode == kLt && same) {
      splits[i] = just_below(splits[i], *x->dtype);
      wide = wide || *x->dtype == kDouble;
    } else {
      by_mode = by_mode || (mode != kLeq && mode != kLeaf);
    }
  }
  if (by_mode) splits = forest.splits;
  const ScalarType dtype = wide ? kDouble : split_type;
  const auto constant = [&](const Tensor& t, const char* name) {
    return module_constant(b, t, name);
  };
  Value* none = b.constant(IValue());
  const Leaves table = table_of(leaves, forest.size(), aggregate, weight_type);
  const auto trees = static_cast<int64_t>(forest.roots.size());
  const int64_t width =
      trees * std::max<int64_t>(1, table.targets.defined() ? 1 : leaves.n_targets / 4);
  return b
      .call_text("_score_forest",
                 {b.tensor(x), constant(tensor_of(forest.roots), "roots"),
                  constant(tensor_of(forest.features), "features"),
                  constant(tenon::tensor(splits, TensorOptions(kDouble)).to(dtype), "splits"),
                  constant(children_of(forest), "children"), b.constant(depth),
                  misses ? constant(tensor_of(forest.missing).to(kBool), "missing") : none,
                  by_mode ? constant(tensor_of(forest.modes), "modes") : none,
                  by_mode ? constant(members_of(forest).to(dtype), "members") : none,
                  constant(table.weights, "leaf_weights"),
                  table.targets.defined() ? constant(table.targets, "leaf_targets") : none,
                  b.constant(leaves.n_targets), b.constant(static_cast<int64_t>(aggregate)),
                  b.constant(std::max<int64_t>(1, kPart / std::max<int64_t>(1, width)))})
      .at(0);
}

}  // namespace tenon::onnx
