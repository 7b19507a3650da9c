// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer over integers: how often each n-gram of a list occurs in a row.
#include "onnx/import/builder.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {
namespace {

const Texts kTexts(R"py(
def _as_rows(x: Tensor) -> Tensor:
  return x.unsqueeze(0) if x.dim() == 1 else x
def _from_rows(y: Tensor, x: Tensor) -> Tensor:
  return y.squeeze(0) if x.dim() == 1 else y
def _count_ngrams(x: Tensor, pool: Tensor, skips: int) -> Tensor:
  n = pool.size(1)
  counts = torch.zeros([x.size(0), pool.size(0)], dtype=torch.float32, device=x.device)
  for skip in range(min(skips, x.size(1)) + 1 if n > 1 else 1):
    places = x.size(1) - (n - 1) * (skip + 1)
    if places > 0:
      found = torch.ones([x.size(0), places, pool.size(0)], dtype=torch.bool, device=x.device)
      for k in range(n):
        found = torch.logical_and(found, x.narrow(1, k * (skip + 1), places).unsqueeze(2) == pool[:, k])
      counts = counts + found.to(torch.float32).sum(1)
  return counts
def _weigh_ngrams(rows: Tensor, counts: List[Tensor], at: Tensor, weights: Tensor, columns: int, once: bool) -> Tensor:
  out = torch.zeros([rows.size(0), columns], dtype=torch.float32, device=rows.device)
  if len(counts) > 0:
    c = torch.cat(counts, 1)
    if once:
      c = torch.clamp_max(c, 1.0)
    out = torch.index_add(out, 1, at, c * weights)
  return out
)py");

std::vector<float> floats(const Call& c, const char* name, std::size_t n) {
  const auto* a = c.find(name);
  std::vector<float> v(n, 1.0f);
  if (!a) return v;
  TENON_CHECK(a->floats_size() == static_cast<int>(n), ValueError, name, " has ", a->floats_size(),
              " elements for ", n, " n-grams");
  std::copy(a->floats().begin(), a->floats().end(), v.begin());
  return v;
}

// The n-grams of `pool`, by length, behind one another.
struct Pool {
  std::vector<int64_t> items, starts;
  int64_t end(std::size_t n) const {
    return n < starts.size() ? starts[n] : static_cast<int64_t>(items.size());
  }
  Tensor grams(int64_t n) const {
    const auto at = static_cast<std::size_t>(n);
    const int64_t begin = at <= starts.size() ? starts[at - 1] : end(starts.size());
    TENON_CHECK(begin >= 0 && begin <= end(at) && end(at) <= end(starts.size()) &&
                    (end(at) - begin) % n == 0,
                ValueError, "ngram_counts does not divide the pool into n-grams");
    const std::vector<int64_t> part(items.begin() + begin, items.begin() + end(at));
    return tenon::tensor(part, TensorOptions(kLong)).reshape({-1, n});
  }
};

std::vector<ItemPtr> translate_tfidf(Builder& b, Call& c) {
  TENON_CHECK(!c.has("pool_strings"), NotImplementedError, "strings are not supported");
  const Pool pool{c.integers("pool_int64s"), c.integers("ngram_counts")};
  const std::vector<int64_t> at = c.integers("ngram_indexes");
  const int64_t least = c.integer("min_gram_length", 1), most = c.integer("max_gram_length", 1);
  TENON_CHECK(!at.empty() && *std::min_element(at.begin(), at.end()) >= 0, ValueError,
              "ngram_indexes are the columns of the n-grams");
  TENON_CHECK(least >= 1 && most >= least && most <= 1000, ValueError, "n-grams have lengths from ",
              least, " to ", most);
  const std::string mode = c.text("mode", "TF");
  std::vector<float> weights = floats(c, "weights", at.size());
  if (mode == "TF") weights.assign(at.size(), 1.0f);

  const ItemPtr& in = c.input(0);
  Value* x = b.tensor(in);
  Value* rows = b.call_text("_as_rows", {x}).at(0);
  std::vector<Value*> counts;
  std::vector<int64_t> columns;
  std::vector<float> factors;
  std::size_t first = 0;
  for (int64_t n = 1; n <= most; ++n) {
    const Tensor grams = pool.grams(n);
    const std::size_t end = first + static_cast<std::size_t>(grams.size(0));
    TENON_CHECK(end <= at.size(), ValueError, "there are more n-grams than ngram_indexes");
    if (n >= least && end > first) {
      Value* known = b.tensor(Builder::constant_item(grams, "ngrams" + std::to_string(n)));
      counts.push_back(
          b.call_text("_count_ngrams", {rows, known, b.constant(c.integer("max_skip_count", 0))})
              .at(0));
      for (std::size_t k = first; k < end; ++k) {
        columns.push_back(at[k]);
        factors.push_back(weights[k]);
      }
    }
    first = end;
  }
  Value* list = b.insert1("prim::ListConstruct", counts, jit::Type::list(jit::Type::tensor()));
  const auto constant = [&](Tensor t, const char* name) {
    return b.tensor(Builder::constant_item(std::move(t), name));
  };
  Value* y =
      b.call_text(
           "_weigh_ngrams",
           {rows, list, constant(tenon::tensor(columns, TensorOptions(kLong)), "columns"),
            constant(tenon::tensor(factors, TensorOptions(kFloat)), "weights"),
            b.constant(1 + *std::max_element(at.begin(), at.end())), b.constant(mode == "IDF")})
          .at(0);
  return {Builder::item(b.call_text("_from_rows", {y, x}).at(0), kFloat)};
}

const Entry kNgrams[] = {
    {"TfIdfVectorizer", 9, 0, Gives::Unknown, nullptr, translate_tfidf},
};
const Entries kRegistered("", kNgrams, std::size(kNgrams));

}  // namespace
}  // namespace tenon::onnx
