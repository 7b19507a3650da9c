// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of the norms, as functions of the statistics that they are given.
#include <functional>

#include "number.h"
#include "tenon/sdk/ops/_fused_rms_norm_backward.h"
#include "tenon/sdk/ops/native_batch_norm_backward.h"
#include "tenon/sdk/ops/native_group_norm_backward.h"
#include "tenon/sdk/ops/native_layer_norm_backward.h"

namespace {

using namespace tenon::ref;
using tenon::sdk::Bools;

int64_t flat(const Index& i, Ints sizes) {
  int64_t f = 0;
  for (int64_t d = 0; d < sizes.size(); ++d) f = f * sizes[d] + i[at(d)];
  return f;
}

// One norm: the group that an element is normalized in, and the weight that scales it.
struct Norm {
  Tensor grad, input;
  OptTensor weight;
  int64_t groups, weights;
  std::function<int64_t(int64_t)> group, scale;  // of an element's flat position
  std::function<Real(int64_t)> mean, rstd;       // of a group
  bool through_statistics = true;                // they were computed from this input
  bool centered = true;                          // the mean was, and is subtracted

  Real scaled(const Index& i, int64_t f) const {
    const int64_t w = scale(f);
    return get(grad, i) * (weight.defined() ? get(weight, unravel(w, weight.sizes())) : 1);
  }
  Real normal(const Index& i, int64_t g) const { return (get(input, i) - mean(g)) * rstd(g); }
  void backward(Tensor to_input, Tensor to_weight, Tensor to_bias) const;
};

void Norm::backward(Tensor to_input, Tensor to_weight, Tensor to_bias) const {
  const Ints sizes = input.sizes();
  std::vector<Real> sum(at(groups)), product(at(groups)), by_weight(at(weights)),
      by_bias(at(weights));
  std::vector<int64_t> n(at(groups));
  each(sizes, [&](const Index& i) {
    const int64_t f = flat(i, sizes), g = group(f);
    sum[at(g)] += scaled(i, f);
    product[at(g)] += scaled(i, f) * normal(i, g);
    ++n[at(g)];
    by_weight[at(scale(f))] += get(grad, i) * normal(i, g);
    by_bias[at(scale(f))] += get(grad, i);
  });
  for (int64_t w = 0; w < weights; ++w) {
    if (to_weight.defined()) put(to_weight, unravel(w, to_weight.sizes()), by_weight[at(w)]);
    if (to_bias.defined()) put(to_bias, unravel(w, to_bias.sizes()), by_bias[at(w)]);
  }
  if (!to_input.defined()) return;
  each(sizes, [&](const Index& i) {
    const int64_t f = flat(i, sizes), g = group(f);
    Real r = scaled(i, f);
    if (through_statistics)
      r -= ((centered ? sum[at(g)] : 0) + normal(i, g) * product[at(g)]) / Real(n[at(g)]);
    put(to_input, i, r * rstd(g));
  });
}

tn_status batch(Call&, Tensor to_input, Tensor to_weight, Tensor to_bias, Tensor grad, Tensor input,
                OptTensor weight, OptTensor running_mean, OptTensor running_var, OptTensor mean,
                OptTensor rstd, bool train, double eps, Bools) {
  const int64_t channels = input.size(1);
  int64_t plane = 1;
  for (int d = 2; d < input.ndim(); ++d) plane *= input.size(d);
  auto channel = [=](int64_t f) { return f / plane % channels; };
  auto mean_of = [&](int64_t c) { return get(train ? mean : running_mean, {c}); };
  auto rstd_of = [&](int64_t c) {
    return train ? get(rstd, {c}) : 1 / std::sqrt(get(running_var, {c}) + eps);
  };
  Norm{grad, input, weight, channels, channels, channel, channel, mean_of, rstd_of, train}.backward(
      to_input, to_weight, to_bias);
  return TN_OK;
}

tn_status layer(Call&, Tensor to_input, Tensor to_weight, Tensor to_bias, Tensor grad, Tensor input,
                Ints shape, Tensor mean, Tensor rstd, OptTensor weight, OptTensor, Bools) {
  const int64_t inner = count(shape);
  auto row = [=](int64_t f) { return f / inner; };
  auto place = [=](int64_t f) { return f % inner; };
  auto mean_of = [&](int64_t r) { return get(mean, unravel(r, mean.sizes())); };
  auto rstd_of = [&](int64_t r) { return get(rstd, unravel(r, rstd.sizes())); };
  Norm{grad, input, weight, mean.numel(), inner, row, place, mean_of, rstd_of}.backward(
      to_input, to_weight, to_bias);
  return TN_OK;
}

tn_status rms(Call&, Tensor to_input, Tensor to_weight, Tensor grad, Tensor input, Ints shape,
              Tensor rstd, OptTensor weight, Bools) {
  const int64_t inner = count(shape);
  auto row = [=](int64_t f) { return f / inner; };
  auto place = [=](int64_t f) { return f % inner; };
  auto zero = [](int64_t) { return Real(0); };
  auto rstd_of = [&](int64_t r) { return get(rstd, unravel(r, rstd.sizes())); };
  const bool from_input = true, centered = false;
  Norm{grad, input, weight, rstd.numel(), inner, row, place, zero, rstd_of, from_input, centered}
      .backward(to_input, to_weight, Tensor());
  return TN_OK;
}

tn_status group(Call&, Tensor to_input, Tensor to_weight, Tensor to_bias, Tensor grad, Tensor input,
                Tensor mean, Tensor rstd, OptTensor weight, int64_t batch, int64_t channels,
                int64_t plane, int64_t groups, Bools) {
  const int64_t each_group = channels / groups * plane;
  auto group_of = [=](int64_t f) { return f / each_group; };
  auto channel = [=](int64_t f) { return f / plane % channels; };
  auto mean_of = [&](int64_t g) { return get(mean, {g / groups, g % groups}); };
  auto rstd_of = [&](int64_t g) { return get(rstd, {g / groups, g % groups}); };
  Norm{grad, input, weight, batch * groups, channels, group_of, channel, mean_of, rstd_of}.backward(
      to_input, to_weight, to_bias);
  return TN_OK;
}

}  // namespace

TN_KERNEL(native_batch_norm_backward, batch, dtypes("floating").any_strides());
TN_KERNEL(native_layer_norm_backward, layer, dtypes("floating").any_strides());
TN_KERNEL(_fused_rms_norm_backward, rms, dtypes("floating").any_strides());
TN_KERNEL(native_group_norm_backward, group, dtypes("floating").any_strides());
