// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalization: each group's mean and deviation in two passes.
#include <functional>
#include <limits>
#include <optional>

#include "number.h"
#include "tenon/sdk/ops/_batch_norm_eval.h"
#include "tenon/sdk/ops/_batch_norm_train.h"
#include "tenon/sdk/ops/_fused_rms_norm.h"
#include "tenon/sdk/ops/native_group_norm.h"
#include "tenon/sdk/ops/native_layer_norm.h"

namespace {

using namespace tenon::ref;

struct Moments {
  Real sum = 0, squares = 0;
  int64_t n = 0;
  Real mean() const { return sum / Real(n); }
  Real variance() const { return squares / Real(n); }
};

using GroupOf = std::function<int64_t(const Index&)>;

// Of every group: its sum, then its squares around the mean.
std::vector<Moments> moments(Tensor input, int64_t groups, const GroupOf& group) {
  std::vector<Moments> m(at(groups));
  each(input.sizes(), [&](const Index& i) {
    Moments& g = m[at(group(i))];
    g.sum += get(input, i);
    ++g.n;
  });
  each(input.sizes(), [&](const Index& i) {
    Moments& g = m[at(group(i))];
    const Real d = get(input, i) - g.mean();
    g.squares += d * d;
  });
  return m;
}

Real at_or(const OptTensor& t, const Index& i, Real otherwise) {
  return t.defined() ? get(t, i) : otherwise;
}
int64_t channel(const Index& i) { return i[1]; }

int64_t flat(const Index& i, Ints sizes) {
  int64_t f = 0;
  for (int64_t d = 0; d < sizes.size(); ++d) f = f * sizes[d] + i[at(d)];
  return f;
}

tn_status train(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, OptTensor weight,
                OptTensor bias, OptTensor running_mean, OptTensor running_var, double momentum,
                double eps) {
  const std::vector<Moments> m = moments(input, input.size(1), channel);
  each(out.sizes(), [&](const Index& i) {
    const Moments& g = m[at(i[1])];
    const Real x = (get(input, i) - g.mean()) / std::sqrt(g.variance() + eps);
    put(out, i, x * at_or(weight, {i[1]}, 1) + at_or(bias, {i[1]}, 0));
  });
  for (int64_t c = 0; c < input.size(1); ++c) {
    const Moments& g = m[at(c)];
    put(mean, {c}, g.mean());
    put(rstd, {c}, 1 / std::sqrt(g.variance() + eps));
    if (g.n == 0) continue;  // no estimate to add
    if (running_mean.defined()) {
      put(running_mean, {c}, (1 - Real(momentum)) * get(running_mean, {c}) + momentum * g.mean());
    }
    if (running_var.defined()) {
      const Real unbiased = g.squares / Real(g.n - 1);
      put(running_var, {c}, (1 - Real(momentum)) * get(running_var, {c}) + momentum * unbiased);
    }
  }
  return TN_OK;
}

tn_status evaluate(Call&, Tensor out, Tensor input, OptTensor weight, OptTensor bias, Tensor mean,
                   Tensor variance, double eps) {
  each(out.sizes(), [&](const Index& i) {
    const Index c = {i[1]};
    const Real x = (get(input, i) - get(mean, c)) / std::sqrt(get(variance, c) + eps);
    put(out, i, x * at_or(weight, c, 1) + at_or(bias, c, 0));
  });
  return TN_OK;
}

tn_status layer_norm(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, Ints shape,
                     OptTensor weight, OptTensor bias, double eps) {
  const int64_t inner = count(shape), rows = mean.numel();
  const Ints sizes = input.sizes();
  const std::vector<Moments> m =
      moments(input, rows, [&](const Index& i) { return flat(i, sizes) / inner; });
  each(sizes, [&](const Index& i) {
    const Moments& g = m[at(flat(i, sizes) / inner)];
    const Index own(i.end() - shape.size(), i.end());
    const Real x = (get(input, i) - g.mean()) / std::sqrt(g.variance() + eps);
    put(out, i, x * at_or(weight, own, 1) + at_or(bias, own, 0));
  });
  for (int64_t r = 0; r < rows; ++r) {
    const Index to = unravel(r, mean.sizes());
    put(mean, to, m[at(r)].mean());
    put(rstd, to, 1 / std::sqrt(m[at(r)].variance() + eps));
  }
  return TN_OK;
}

tn_status rms_norm(Call&, Tensor out, Tensor rstd, Tensor input, Ints shape, OptTensor weight,
                   std::optional<double> eps) {
  const int64_t inner = count(shape), rows = rstd.numel();
  const Ints sizes = input.sizes();
  const double epsilon = input.dtype().bits == 64 ? std::numeric_limits<double>::epsilon()
                                                  : std::numeric_limits<float>::epsilon();
  std::vector<Real> squares(at(rows));
  each(sizes, [&](const Index& i) {
    squares[at(flat(i, sizes) / inner)] += get(input, i) * get(input, i);
  });
  const auto factor = [&](int64_t row) {
    return 1 / std::sqrt(squares[at(row)] / Real(inner) + eps.value_or(epsilon));
  };
  each(sizes, [&](const Index& i) {
    const Index own(i.end() - shape.size(), i.end());
    put(out, i, get(input, i) * factor(flat(i, sizes) / inner) * at_or(weight, own, 1));
  });
  for (int64_t r = 0; r < rows; ++r) put(rstd, unravel(r, rstd.sizes()), factor(r));
  return TN_OK;
}

tn_status group_norm(Call&, Tensor out, Tensor mean, Tensor rstd, Tensor input, OptTensor weight,
                     OptTensor bias, int64_t batch, int64_t channels, int64_t plane, int64_t groups,
                     double eps) {
  const Ints sizes = input.sizes();
  const int64_t each_group = channels / groups * plane;
  const std::vector<Moments> m =
      moments(input, batch * groups, [&](const Index& i) { return flat(i, sizes) / each_group; });
  each(sizes, [&](const Index& i) {
    const int64_t f = flat(i, sizes);
    const Moments& g = m[at(f / each_group)];
    const Index c = {f / plane % channels};
    const Real x = (get(input, i) - g.mean()) / std::sqrt(g.variance() + eps);
    put(out, i, x * at_or(weight, c, 1) + at_or(bias, c, 0));
  });
  for (int64_t k = 0; k < batch * groups; ++k) {
    const Index to = {k / groups, k % groups};
    put(mean, to, m[at(k)].mean());
    put(rstd, to, 1 / std::sqrt(m[at(k)].variance() + eps));
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(_batch_norm_train, train, dtypes("floating").any_strides());
TN_KERNEL(_batch_norm_eval, evaluate, dtypes("floating").any_strides());
TN_KERNEL(native_layer_norm, layer_norm, dtypes("floating").any_strides());
TN_KERNEL(_fused_rms_norm, rms_norm, dtypes("floating").any_strides());
TN_KERNEL(native_group_norm, group_norm, dtypes("floating").any_strides());
