// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TreeEnsembleClassifier and TreeEnsembleRegressor, as scikit-learn's, XGBoost's and LightGBM's
// converters write them: nodes and weights are lists with the numbers of their trees.
#include <map>
#include <set>

#include "onnx/ops/ml/attributes.h"
#include "onnx/ops/ml/forest.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kMaxTargets = 1 << 20;
constexpr int64_t kMaxFeatures = int64_t{1} << 40;

const Texts kTexts(R"py(
def _add_base(y: Tensor, base: Tensor) -> Tensor:
  return y + base.to(y.dtype)
def _top_class(y: Tensor) -> Tensor:
  return torch.argmax(y, -1)
def _second_class(y: Tensor, above: float) -> Tensor:
  return (y.select(1, 1) > above).to(torch.int64)
)py");

Mode mode_of(const std::string& name) {
  static const std::map<std::string, Mode> kModes = {
      {"BRANCH_LEQ", kLeq}, {"BRANCH_LT", kLt},   {"BRANCH_GTE", kGte}, {"BRANCH_GT", kGt},
      {"BRANCH_EQ", kEq},   {"BRANCH_NEQ", kNeq}, {"LEAF", kLeaf}};
  const auto it = kModes.find(name);
  TENON_CHECK(it != kModes.end(), ValueError, "nodes_modes has '", name.substr(0, 100), "'");
  return it->second;
}

Aggregate aggregate_of(const Call& c) {
  const std::string name = c.text("aggregate_function", "SUM");
  if (name == "SUM") return Aggregate::Sum;
  if (name == "AVERAGE") return Aggregate::Average;
  if (name == "MIN") return Aggregate::Min;
  TENON_CHECK(name == "MAX", ValueError, "aggregate_function is '", name, "'");
  return Aggregate::Max;
}

std::vector<double> to_doubles(const Tensor& t) {
  const Tensor d = t.to(kDouble).contiguous();
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

struct Ensemble {
  Builder& b;
  Call& c;
  Tensor splits, base;
  ScalarType weight_type = kFloat;
  Forest forest;
  LeafWeights leaves;

  Ensemble(Builder& builder, Call& call, const std::string& weights, int64_t n_targets)
      : b(builder), c(call), splits(numbers(b, c, "nodes_values")) {
    TENON_CHECK(n_targets > 0 && n_targets <= kMaxTargets, ValueError, "it has ", n_targets,
                " targets");
    leaves.n_targets = n_targets;
    base = numbers(b, c, "base_values");
    read_nodes();
    read_weights(weights);
    // Sums of doubles are doubles until they are the result.
    if (c.input(0)->dtype == kDouble) weight_type = kDouble;
  }

  std::vector<int64_t> ints(const std::string& name, std::size_t n) const {
    std::vector<int64_t> v = c.integers(name);
    TENON_CHECK(v.size() == n, ValueError, name, " has ", v.size(), " elements instead of ", n);
    return v;
  }

  using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;  // of (tree, node)
  static int64_t place(const Places& all, int64_t tree, int64_t node, const std::string& where) {
    const auto it = all.find({tree, node});
    TENON_CHECK(it != all.end(), ValueError, where, " has ", node, ", and tree ", tree,
                " has no such node");
    return it->second;
  }

  void read_nodes() {
    const std::vector<std::string> modes = texts(c, "nodes_modes");
    const std::size_t n = modes.size();
    TENON_CHECK(n > 0 && splits.numel() == static_cast<int64_t>(n), ValueError, "it has ", n,
                " nodes and ", splits.numel(), " values");
    const std::vector<int64_t> trees = ints("nodes_treeids", n), ids = ints("nodes_nodeids", n);
    const std::vector<int64_t> yes = ints("nodes_truenodeids", n),
                               no = ints("nodes_falsenodeids", n),
                               features = ints("nodes_featureids", n);
    std::vector<int64_t> missing = c.integers("nodes_missing_value_tracks_true");
    missing.resize(n, 0);
    const std::vector<double> values = to_doubles(splits);
    std::set<int64_t> seen;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<int64_t>(i);
      TENON_CHECK(places.emplace(std::pair(trees[i], ids[i]), at).second, ValueError, "node ",
                  ids[i], " of tree ", trees[i], " is there twice");
      if (seen.insert(trees[i]).second) forest.roots.push_back(at);
    }
    forest.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      forest.modes[i] = mode_of(modes[i]);
      if (forest.modes[i] == kLeaf) continue;
      TENON_CHECK(features[i] >= 0 && features[i] < kMaxFeatures, ValueError,
                  "nodes_featureids has ", features[i]);
      forest.features[i] = features[i];
      forest.splits[i] = values[i];
      forest.missing[i] = missing[i] != 0 ? 1 : 0;
      forest.yes[i] = place(places, trees[i], yes[i], "nodes_truenodeids");
      forest.no[i] = place(places, trees[i], no[i], "nodes_falsenodeids");
    }
  }

  // `what`: target or class.
  void read_weights(const std::string& what) {
    const Tensor weights = numbers(b, c, what + "_weights");
    weight_type = weights.scalar_type();
    leaves.weights = to_doubles(weights);
    const std::size_t n = leaves.weights.size();
    leaves.targets = ints(what + "_ids", n);
    const std::vector<int64_t> trees = ints(what + "_treeids", n), ids = ints(what + "_nodeids", n);
    for (std::size_t i = 0; i < n; ++i) {
      const int64_t t = leaves.targets[i];
      TENON_CHECK(t >= 0 && t < leaves.n_targets, ValueError, what, "_ids has ", t,
                  ", expected less than ", leaves.n_targets);
      leaves.nodes.push_back(place(places, trees[i], ids[i], what + "_nodeids"));
    }
  }

  Value* add_base(Value* y) const {
    if (base.numel() == 0) return y;
    return b.call_text("_add_base", {y, module_constant(b, base, "base_values")}).at(0);
  }
  Value* score(Aggregate aggregate) {
    return score_forest(b, c.input(0), forest, leaves, aggregate, splits.scalar_type(),
                        weight_type);
  }
  Value* to_float(Value* y) const {
    return weight_type == kFloat ? y : b.call_text("_to_float", {y}).at(0);
  }

  Places places;
};

std::vector<ItemPtr> translate_regressor(Builder& b, Call& c) {
  Ensemble e(b, c, "target", c.integer("n_targets", 1));
  TENON_CHECK(e.base.numel() <= 1 || e.base.numel() == e.leaves.n_targets, ValueError,
              "base_values has ", e.base.numel(), " elements for ", e.leaves.n_targets, " targets");
  Value* y = e.add_base(e.score(aggregate_of(c)));
  return {Builder::item(e.to_float(transform_scores(b, y, transform_of(c))), kFloat)};
}

bool are_of_class(const LeafWeights& l, int64_t id) {
  return std::all_of(l.targets.begin(), l.targets.end(), [&](int64_t t) { return t == id; });
}

// Two classes with weights of one of them, in the ways that converters write and ONNX Runtime
// reads: those of the first are of the decision, and the second score is made of it; to those of
// the second the first score is 0.
std::vector<ItemPtr> one_of_two(Builder& b, Call& c, Ensemble& e, const Labels& labels) {
  const bool positive = std::all_of(e.leaves.weights.begin(), e.leaves.weights.end(),
                                    [](double w) { return w >= 0; });
  const Transform t = transform_of(c);
  if (are_of_class(e.leaves, 0) && e.base.numel() <= 1) {
    e.leaves.n_targets = 1;
    const Classified two = classify_binary(b, e.add_base(e.score(Aggregate::Sum)), positive, t);
    return {labels.of(b, two.index), Builder::item(e.to_float(two.scores), kFloat)};
  }
  Value* y = e.add_base(e.score(Aggregate::Sum));
  Value* index = b.call_text("_second_class", {y, b.constant(positive ? 0.5 : 0.0)}).at(0);
  return {labels.of(b, index), Builder::item(e.to_float(transform_scores(b, y, t)), kFloat)};
}

std::vector<ItemPtr> translate_classifier(Builder& b, Call& c) {
  const Labels labels(c, "classlabels_int64s");
  const auto n = static_cast<int64_t>(labels.size());
  Ensemble e(b, c, "class", n);
  TENON_CHECK(e.base.numel() <= 1 || e.base.numel() == n, ValueError, "base_values has ",
              e.base.numel(), " elements for ", n, " classes");
  if (n == 2 && (are_of_class(e.leaves, 0) || are_of_class(e.leaves, 1)))
    return one_of_two(b, c, e, labels);
  // One value is that of the first class.
  if (e.base.numel() == 1 && n > 1) e.base = cat({e.base, zeros({n - 1}, e.base.scalar_type())});
  Value* y = e.add_base(e.score(Aggregate::Sum));
  return {labels.of(b, b.call_text("_top_class", {y}).at(0)),
          Builder::item(e.to_float(transform_scores(b, y, transform_of(c))), kFloat)};
}

const Entry kTrees[] = {
    {"TreeEnsembleClassifier", 1, 0, Gives::Unknown, nullptr, translate_classifier},
    {"TreeEnsembleRegressor", 1, 0, Gives::Unknown, nullptr, translate_regressor},
};
const Entries kRegistered("ai.onnx.ml", kTrees, std::size(kTrees));

}  // namespace
}  // namespace tenon::onnx
