// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random choices: permutations by sorting 64-bit keys, and indices drawn by weight.
#include "tenon/sdk/ops/randperm.h"

#include <cmath>

#include "plugin_cpu/random/words.h"
#include "plugin_cpu/rowwise/sort_keys.h"
#include "tenon/sdk/ops/multinomial.h"
#include "tenon/sdk/philox.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status randperm(Call&, Tensor out, int64_t n, Generator g, std::optional<DType>,
                   std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  std::vector<Keyed<uint64_t>> keys(static_cast<std::size_t>(n));
  each_random(g, n, 2, [&](int64_t at, int64_t count, const uint32_t* w) {
    for (int64_t i = 0; i < count; ++i)
      keys[static_cast<std::size_t>(at + i)] = {wide_word(w, i), static_cast<uint32_t>(at + i)};
  });
  sort_keys(keys);
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    T* p = out.data<T>();
    for (int64_t i = 0; i < n; ++i)
      p[i] = convert<T>(static_cast<int64_t>(keys[static_cast<std::size_t>(i)].index));
  });
  return TN_OK;
}
TN_KERNEL(randperm_generator, randperm, dtypes("number"));

// Weights of a row; throws unless they are a distribution from which `draws` can be taken.
template <class T>
std::vector<double> weights_of(const T* row, int64_t n, int64_t draws, bool replacement) {
  std::vector<double> w(static_cast<std::size_t>(n));
  double sum = 0;
  int64_t positive = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<double>(row[i]);
    if (!(v >= 0) || std::isinf(v))
      throw Error(TN_ERROR_VALUE, "weight ", v, " at position ", i,
                  " must be finite and not negative");
    w[static_cast<std::size_t>(i)] = v;
    sum += v;
    positive += v > 0;
  }
  if (!(sum > 0)) throw Error(TN_ERROR_VALUE, "the weights sum up to ", sum);
  if (!replacement && positive < draws) {
    throw Error(TN_ERROR_VALUE, "cannot draw ", draws, " without replacement: only ", positive,
                " weights are positive");
  }
  return w;
}

void draw_again(std::vector<double>& w, int64_t draws, PhiloxReader& words, int64_t* out) {
  for (std::size_t i = 1; i < w.size(); ++i) w[i] += w[i - 1];
  for (int64_t k = 0; k < draws; ++k) {
    const double at = philox_double(words.next64()) * w.back();
    const int64_t i = std::upper_bound(w.begin(), w.end(), at) - w.begin();
    out[k] = std::min<int64_t>(i, static_cast<int64_t>(w.size()) - 1);
  }
}

// Exponential waiting times: the first ones to arrive are a draw without replacement.
void draw_once(const std::vector<double>& w, int64_t draws, PhiloxReader& words, int64_t* out) {
  std::vector<std::pair<double, int64_t>> times(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double t = -std::log1p(-philox_double(words.next64()));
    times[i] = {w[i] > 0 ? t / w[i] : INFINITY, static_cast<int64_t>(i)};
  }
  std::partial_sort(times.begin(), times.begin() + draws, times.end());
  for (int64_t k = 0; k < draws; ++k) out[k] = times[static_cast<std::size_t>(k)].second;
}

tn_status multinomial(Call&, Tensor out, Tensor self, int64_t draws, bool replacement,
                      Generator g) {
  const int64_t n = self.size(-1), rows = self.ndim() == 2 ? self.size(0) : 1,
                per_row = 2 * (replacement ? draws : n);
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    for (int64_t r = 0; r < rows; ++r) {
      std::vector<double> w = weights_of(self.data<T>() + r * n, n, draws, replacement);
      PhiloxReader words(g.seed(), g.offset(), static_cast<uint64_t>(r * per_row));
      if (replacement)
        draw_again(w, draws, words, out.data<int64_t>() + r * draws);
      else
        draw_once(w, draws, words, out.data<int64_t>() + r * draws);
    }
  });
  return TN_OK;
}
TN_KERNEL(multinomial, multinomial, dtypes("floating").mixed_dtypes());

}  // namespace
}  // namespace tenon::cpu
