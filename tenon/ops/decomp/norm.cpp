// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalization over a batch, a layer or groups, and the gradients.
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

using OptTensor = std::optional<Tensor>;

bool given(const OptTensor& t) { return t && t->defined(); }

// All dimensions but the channels.
std::vector<int64_t> batch_dims(const Tensor& t) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  return dims;
}
// One value per channel, shaped to broadcast against t.
Tensor per_channel(const Tensor& v, const Tensor& t) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(t.dim()), 1);
  sizes[t.dim() > 1 ? 1 : 0] = t.dim() > 1 ? t.size(1) : t.size(0);
  return wide(v).reshape(sizes);
}
Tensor apply_affine(Tensor t, const OptTensor& weight, const OptTensor& bias) {
  if (given(weight)) t = t * per_channel(*weight, t);
  return given(bias) ? t + per_channel(*bias, t) : t;
}

// Statistics over `dims`, which are kept.
struct Normalized {
  Tensor x, mean, rstd, var, out;
};
Normalized normalize(const Tensor& input, const std::vector<int64_t>& dims, double eps) {
  Normalized s;
  s.x = wide(input);
  const double n = static_cast<double>(count_of(s.x, dims));
  s.mean = summed(s.x, dims, true) / n;
  const Tensor off = s.x - s.mean;
  s.var = summed(off * off, dims, true) / n;
  s.rstd = (s.var + eps).rsqrt();
  s.out = off * s.rstd;
  return s;
}

// The gradient through a normalization whose statistics are its own: g is that of the normal
// values.
Tensor normalize_backward(const Tensor& g, const Tensor& normal, const Tensor& rstd,
                          const std::vector<int64_t>& dims) {
  const double n = static_cast<double>(count_of(g, dims));
  return (g - summed(g, dims, true) / n - normal * (summed(g * normal, dims, true) / n)) * rstd;
}

}  // namespace

Three _batch_norm_train(const Tensor& input, const OptTensor& weight, const OptTensor& bias,
                        const OptTensor& running_mean, const OptTensor& running_var,
                        double momentum, double eps) {
  if (input.numel() == 0) {
    const Tensor none = full({input.dim() > 1 ? input.size(1) : 0}, 0, options_of(input));
    return {input, none, none};
  }
  const std::vector<int64_t> dims = batch_dims(input);
  const Normalized s = normalize(input, dims, eps);
  const int64_t channels = input.size(1);
  const double n = static_cast<double>(count_of(input, dims));
  const auto follow = [&](const OptTensor& running, const Tensor& now) {
    if (!given(running)) return;
    running->copy_(wide(*running) * (1 - momentum) + now.reshape({channels}) * momentum);
  };
  follow(running_mean, s.mean);
  follow(running_var, s.var * (n / (n - 1)));  // NaN for one value, as of var
  return {apply_affine(s.out, weight, bias), s.mean.reshape({channels}),
          s.rstd.reshape({channels})};
}

Tensor _batch_norm_eval(const Tensor& input, const OptTensor& weight, const OptTensor& bias,
                        const Tensor& running_mean, const Tensor& running_var, double eps) {
  const Tensor x = wide(input), rstd = (per_channel(running_var, x) + eps).rsqrt();
  return apply_affine((x - per_channel(running_mean, x)) * rstd, weight, bias);
}

Three native_batch_norm_backward(const Tensor& grad_out, const Tensor& input,
                                 const OptTensor& weight, const OptTensor& running_mean,
                                 const OptTensor& running_var, const OptTensor& save_mean,
                                 const OptTensor& save_invstd, bool train, double eps,
                                 std::array<bool, 3> mask) {
  const Tensor x = wide(input), g = wide(grad_out);
  const Tensor mean = per_channel(train ? *save_mean : *running_mean, x);
  const Tensor rstd =
      train ? per_channel(*save_invstd, x) : (per_channel(*running_var, x) + eps).rsqrt();
  const std::vector<int64_t> dims = batch_dims(x);
  const Tensor y = (x - mean) * rstd, gy = apply_affine(g, weight, std::nullopt);
  Three out;
  if (mask[0])
    std::get<0>(out) = train && x.numel() > 0 ? normalize_backward(gy, y, rstd, dims) : gy * rstd;
  if (mask[1]) std::get<1>(out) = summed(g * y, dims, false);
  if (mask[2]) std::get<2>(out) = summed(g, dims, false);
  return out;
}

namespace {

std::vector<int64_t> last_dims(const Tensor& t, std::size_t n) {
  std::vector<int64_t> dims;
  for (int64_t d = t.dim() - static_cast<int64_t>(n); d < t.dim(); ++d) dims.push_back(d);
  return dims;
}
std::vector<int64_t> first_dims(const Tensor& t, std::size_t last) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < t.dim() - static_cast<int64_t>(last); ++d) dims.push_back(d);
  return dims;
}
Tensor sum_first(const Tensor& t, std::size_t last) {
  const std::vector<int64_t> dims = first_dims(t, last);
  return dims.empty() ? t : summed(t, dims, false);
}

}  // namespace

Three native_layer_norm(const Tensor& input, IntArrayRef shape, const OptTensor& weight,
                        const OptTensor& bias, double eps) {
  Normalized s = normalize(input, last_dims(input, shape.size()), eps);
  if (given(weight)) s.out = s.out * wide(*weight);
  if (given(bias)) s.out = s.out + wide(*bias);
  return {s.out, s.mean, s.rstd};
}

Three native_layer_norm_backward(const Tensor& grad_out, const Tensor& input, IntArrayRef shape,
                                 const Tensor& mean, const Tensor& rstd, const OptTensor& weight,
                                 const OptTensor&, std::array<bool, 3> mask) {
  const Tensor g = wide(grad_out), r = wide(rstd), y = (wide(input) - wide(mean)) * r;
  Three out;
  if (mask[0]) {
    const Tensor gy = given(weight) ? g * wide(*weight) : g;
    std::get<0>(out) = normalize_backward(gy, y, r, last_dims(input, shape.size()));
  }
  if (mask[1]) std::get<1>(out) = sum_first(g * y, shape.size());
  if (mask[2]) std::get<2>(out) = sum_first(g, shape.size());
  return out;
}

Both _fused_rms_norm(const Tensor& input, IntArrayRef shape, const OptTensor& weight,
                     std::optional<double> eps) {
  const std::vector<int64_t> dims = last_dims(input, shape.size());
  const Tensor x = wide(input);
  const double n = static_cast<double>(count_of(x, dims));
  const Tensor rstd =
      (summed(x * x, dims, true) / n + composite::eps_or_default(eps, x.scalar_type())).rsqrt();
  Tensor out = x * rstd;
  if (given(weight)) out = out * wide(*weight);
  return {out, rstd};
}

Both _fused_rms_norm_backward(const Tensor& grad_out, const Tensor& input, IntArrayRef shape,
                              const Tensor& rstd, const OptTensor& weight,
                              std::array<bool, 2> mask) {
  const std::vector<int64_t> dims = last_dims(input, shape.size());
  const Tensor g = wide(grad_out), y = wide(input) * wide(rstd);
  Both out;
  if (mask[0]) {
    const Tensor gy = given(weight) ? g * wide(*weight) : g;
    const double n = static_cast<double>(count_of(y, dims));
    std::get<0>(out) = (gy - y * (summed(gy * y, dims, true) / n)) * wide(rstd);
  }
  if (mask[1]) std::get<1>(out) = sum_first(g * y, shape.size());
  return out;
}

namespace {

struct Groups {
  int64_t n, channels, plane, groups;
  std::vector<int64_t> sizes() const { return {n, groups, channels / groups, plane}; }
  Tensor grouped(const Tensor& t) const { return wide(t).reshape(sizes()); }
  Tensor channel(const Tensor& v) const {
    return wide(v).reshape({1, groups, channels / groups, 1});
  }
  Tensor statistic(const Tensor& v) const { return wide(v).reshape({n, groups, 1, 1}); }
};

}  // namespace

Three native_group_norm(const Tensor& input, const OptTensor& weight, const OptTensor& bias,
                        int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  const Groups s{N, C, HxW, group};
  Normalized a = normalize(s.grouped(input), {2, 3}, eps);
  if (given(weight)) a.out = a.out * s.channel(*weight);
  if (given(bias)) a.out = a.out + s.channel(*bias);
  return {a.out.reshape(input.sizes()), a.mean.reshape({N, group}), a.rstd.reshape({N, group})};
}

Three native_group_norm_backward(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& rstd, const OptTensor& weight, int64_t N, int64_t C,
                                 int64_t HxW, int64_t group, std::array<bool, 3> mask) {
  const Groups s{N, C, HxW, group};
  const Tensor g = s.grouped(grad_out), r = s.statistic(rstd),
               y = (s.grouped(input) - s.statistic(mean)) * r;
  Three out;
  if (mask[0]) {
    const Tensor gy = given(weight) ? g * s.channel(*weight) : g;
    std::get<0>(out) = normalize_backward(gy, y, r, {2, 3}).reshape(input.sizes());
  }
  if (mask[1]) std::get<1>(out) = summed(g * y, {0, 3}, false).reshape({C});
  if (mask[2]) std::get<2>(out) = summed(g, {0, 3}, false).reshape({C});
  return out;
}

}  // namespace tenon::decomp
