// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// SVMClassifier and SVMRegressor: libsvm's machines, which compare classes in pairs, and
// liblinear's, which have no support vectors.
#include <algorithm>

#include "onnx/ops/ml/attributes.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

// _couple_pairs: probabilities of classes from those of pairs, the second method of Wu, Lin and
// Weng, "Probability estimates for multi-class classification by pairwise coupling" (2004).
const Texts kTexts(R"py(
def _svm_kernel(x: Tensor, vectors: Tensor, kind: str, gamma: float, coef0: float, degree: float) -> Tensor:
  a = _float_rows(x)
  if kind == "RBF":
    return torch.exp(torch.cdist(a, vectors, 2.0, 2).square() * -gamma)
  y = torch.matmul(a, vectors.t())
  if kind == "POLY":
    return torch.pow(y * gamma + coef0, degree)
  if kind == "SIGMOID":
    return torch.tanh(y * gamma + coef0)
  return y
def _pair_scores(k: Tensor, weight: Tensor, rho: Tensor) -> Tensor:
  return torch.matmul(k.to(torch.float64), weight.t()) + rho
def _vote(s: Tensor, first: Tensor, second: Tensor) -> Tensor:
  won = (s > 0).to(torch.float64)
  return torch.argmax(torch.matmul(won, first) + torch.matmul(1 - won, second), 1)
def _pair_probabilities(s: Tensor, a: Tensor, b: Tensor, first: Tensor, second: Tensor) -> Tensor:
  p = torch.clamp(torch.sigmoid(-(s.to(torch.float32) * a + b)), 1e-7, 1 - 1e-7)
  n = first.size(1)
  r = torch.zeros([s.size(0), n, n], dtype=p.dtype, device=p.device)
  i, j = torch.argmax(first, 1), torch.argmax(second, 1)
  r[:, i, j] = p
  r[:, j, i] = 1 - p
  return r
def _couple_pairs(r: Tensor) -> Tensor:
  n = r.size(1)
  back = r.transpose(1, 2)
  q = torch.diag_embed(back.square().sum(2)) - back * r
  diagonal = torch.diagonal(q, 0, 1, 2)
  p = torch.full([r.size(0), n], 1.0 / n, dtype=r.dtype, device=r.device)
  for step in range(100):
    g = torch.matmul(q, p.unsqueeze(-1)).squeeze(-1)
    e = (p * g).sum(1)
    wrong = torch.amax(torch.abs(g - e.unsqueeze(1)), 1, True) >= 0.005 / n
    if not bool(torch.any(wrong)):
      break
    t = p
    for i in range(n):
      d = (e - g[:, i]) / diagonal[:, i]
      f = 1 + d
      e = (e + d * (d * diagonal[:, i] + 2 * g[:, i])) / f / f
      g = (g + d.unsqueeze(1) * q[:, i]) / f.unsqueeze(1)
      t = (t + torch.where(torch.arange(n, device=t.device) == i, d.unsqueeze(1), torch.zeros_like(t))) / f.unsqueeze(1)
    p = torch.where(wrong, t, p)
  return p
def _plain_labels(s: Tensor, positive: bool) -> Tensor:
  top = torch.argmax(s, 1)
  if s.size(1) != 2:
    return top
  most = torch.amax(s, 1)
  yes = most >= 0.5 if positive else most > 0
  return torch.where(yes, torch.ones_like(top), top)
def _one_class(y: Tensor) -> Tensor:
  return torch.where(y > 0, torch.ones_like(y), torch.full_like(y, -1.0))
)py");

Tensor float_tensor(const std::vector<float>& v) { return tenon::tensor(v, TensorOptions(kFloat)); }

struct Machine {
  Builder& b;
  Call& c;
  std::vector<float> coefficients = floats(c, "coefficients"), rho = floats(c, "rho"),
                     vectors = floats(c, "support_vectors");

  Machine(Builder& builder, Call& call) : b(builder), c(call) {
    TENON_CHECK(!coefficients.empty() && !rho.empty(), ValueError,
                "it has no coefficients, or no rho");
  }

  // Products of the rows with `n` vectors; without support vectors the kernel is linear.
  Value* kernel(const std::vector<float>& with, int64_t n, const std::string& kind) const {
    const std::vector<float> params = floats(c, "kernel_params");
    TENON_CHECK(params.empty() || params.size() == 3, ValueError, "kernel_params has ",
                params.size(), " elements instead of 3: gamma, coef0, degree");
    TENON_CHECK(kind == "LINEAR" || kind == "POLY" || kind == "RBF" || kind == "SIGMOID",
                ValueError, "kernel_type is '", kind, "'");
    TENON_CHECK(n > 0 && static_cast<int64_t>(with.size()) % n == 0 && !with.empty(), ValueError,
                "it has ", with.size(), " numbers of ", n, " vectors");
    const auto param = [&](std::size_t i) {
      return b.constant(params.empty() ? 0.0 : static_cast<double>(params[i]));
    };
    Value* v = module_constant(b, float_tensor(with).reshape({n, -1}), "support_vectors");
    return b
        .call_text("_svm_kernel",
                   {b.tensor(c.input(0)), v, b.constant(kind), param(0), param(1), param(2)})
        .at(0);
  }
  std::string kernel_type() const { return c.text("kernel_type", "LINEAR"); }
};

struct Classifier : Machine {
  Labels labels{c, "classlabels_ints"};
  Transform transform = transform_of(c);
  std::vector<int64_t> per_class = c.integers("vectors_per_class");
  using Machine::Machine;

  std::vector<ItemPtr> give(Value* index, Value* scores) const {
    return {labels.of(b, index), Builder::item(scores, kFloat)};
  }

  std::vector<ItemPtr> translate_linear() const {
    const auto n = static_cast<int64_t>(labels.size());
    Value* k = kernel(coefficients, n, "LINEAR");
    Value* s = b.emit1("aten::add.Scalar", {k, b.constant(static_cast<double>(rho[0]))});
    const bool positive =
        std::all_of(coefficients.begin(), coefficients.end(), [](float w) { return w >= 0; });
    return give(b.call_text("_plain_labels", {s, b.constant(positive)}).at(0),
                transform_scores(b, s, transform));
  }

  // Of the pairs (i, j), i < j: the weights of all vectors, and which class is which.
  struct Pairs {
    Tensor weights, first, second;
    int64_t count = 0;
  };
  Pairs pairs() const {
    const auto n = static_cast<int64_t>(labels.size());
    TENON_CHECK(per_class.size() == labels.size() && n > 1 && n < 4096, ValueError,
                "vectors_per_class has ", per_class.size(), " elements for ", n, " classes");
    std::vector<int64_t> starts(1, 0);
    for (const int64_t k : per_class) {
      TENON_CHECK(k >= 0 && k <= (int64_t{1} << 32), ValueError, "vectors_per_class has ", k);
      starts.push_back(starts.back() + k);
    }
    const int64_t all = starts.back(), count = n * (n - 1) / 2;
    TENON_CHECK(static_cast<int64_t>(coefficients.size()) >= (n - 1) * all &&
                    static_cast<int64_t>(rho.size()) >= count &&
                    count <= (int64_t{1} << 28) / std::max<int64_t>(1, all),
                ValueError, "it has ", coefficients.size(), " coefficients and ", rho.size(),
                " rho of ", n, " classes with ", all, " vectors");
    Pairs p{zeros({count, all}, kDouble), zeros({count, n}, kDouble), zeros({count, n}, kDouble),
            count};
    auto* w = p.weights.data_ptr<double>();
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j, ++at) {
        const auto copy = [&](int64_t of, int64_t row) {
          for (int64_t v = starts[static_cast<std::size_t>(of)];
               v < starts[static_cast<std::size_t>(of) + 1]; ++v)
            w[at * all + v] = coefficients[static_cast<std::size_t>(row * all + v)];
        };
        copy(i, j - 1);
        copy(j, i);
        p.first.data_ptr<double>()[at * n + i] = 1;
        p.second.data_ptr<double>()[at * n + j] = 1;
      }
    }
    return p;
  }

  std::vector<ItemPtr> translate_pairs() const {
    const Pairs p = pairs();
    const std::vector<float> first_rho(rho.begin(), rho.begin() + p.count);
    Value* s = b.call_text("_pair_scores",
                           {kernel(vectors, p.weights.size(1), kernel_type()),
                            module_constant(b, p.weights, "coefficients"),
                            module_constant(b, float_tensor(first_rho).to(kDouble), "rho")})
                   .at(0);
    Value *first = module_constant(b, p.first, "first"),
          *second = module_constant(b, p.second, "second");
    Value* index = b.call_text("_vote", {s, first, second}).at(0);
    if (c.has("prob_a")) {
      std::vector<float> a = floats(c, "prob_a"), off = floats(c, "prob_b");
      const auto n = static_cast<std::size_t>(p.count);
      TENON_CHECK(a.size() >= n && off.size() >= n, ValueError, "prob_a has ", a.size(),
                  " elements and prob_b ", off.size(), " for ", n, " pairs");
      a.resize(n);
      off.resize(n);
      Value* r = b.call_text("_pair_probabilities",
                             {s, module_constant(b, float_tensor(a), "prob_a"),
                              module_constant(b, float_tensor(off), "prob_b"), first, second})
                     .at(0);
      return give(index, transform_scores(b, b.call_text("_couple_pairs", {r}).at(0), transform));
    }
    s = b.call_text("_to_float", {s}).at(0);
    if (p.count > 1) return give(index, transform_scores(b, s, transform));
    const bool plain = transform == Transform::None;
    return give(
        index, classify_binary(b, s, !plain && transform != Transform::Logistic, transform).scores);
  }
};

std::vector<ItemPtr> translate_classifier(Builder& b, Call& c) {
  const Classifier m(b, c);
  return m.per_class.empty() ? m.translate_linear() : m.translate_pairs();
}

std::vector<ItemPtr> translate_regressor(Builder& b, Call& c) {
  const Machine m(b, c);
  const int64_t n = c.integer("n_supports", 0);
  Value* k = nullptr;
  if (n > 0) {
    TENON_CHECK(static_cast<int64_t>(m.coefficients.size()) == n, ValueError, "it has ",
                m.coefficients.size(), " coefficients for ", n, " vectors");
    Value* weights =
        module_constant(b, float_tensor(m.coefficients).reshape({n, 1}), "coefficients");
    k = b.emit1("aten::matmul", {m.kernel(m.vectors, n, m.kernel_type()), weights});
  } else {
    k = m.kernel(m.coefficients, 1, "LINEAR");
  }
  Value* y = b.emit1("aten::add.Scalar", {k, b.constant(static_cast<double>(m.rho[0]))});
  if (c.integer("one_class", 0) != 0)
    return {Builder::item(b.call_text("_one_class", {y}).at(0), kFloat)};
  return {Builder::item(transform_scores(b, y, transform_of(c)), kFloat)};
}

const Entry kMachines[] = {
    {"SVMClassifier", 1, 0, Gives::Unknown, nullptr, translate_classifier},
    {"SVMRegressor", 1, 0, Gives::Unknown, nullptr, translate_regressor},
};
const Entries kRegistered("ai.onnx.ml", kMachines, std::size(kMachines));

}  // namespace
}  // namespace tenon::onnx
