// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random factories over the in-place operators, and dropout.
#include <cmath>
#include <vector>

#include "tenon/batching/level.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/factory.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using batching::empty_like_to_draw;
using batching::empty_to_draw;
using Gen = std::optional<Generator>;

TensorOptions integer_options(const TensorOptions& o) {
  return plain(o).dtype(o.has_dtype() ? o.dtype() : kLong);
}

void check_p(const char* op, double p) {
  TENON_CHECK(p >= 0 && p <= 1, ValueError, op, ": argument 'p' must be in [0, 1], got ", p);
}

// One value for each channel of each sample.
std::vector<int64_t> channel_shape(const char* op, const Tensor& t) {
  TENON_CHECK(t.dim() >= 2, ValueError, op, ": expected at least 2 dimensions, got ", t.dim());
  std::vector<int64_t> shape(static_cast<std::size_t>(t.dim()), 1);
  shape[0] = t.size(0);
  shape[1] = t.size(1);
  return shape;
}

Tensor keep_noise(const Tensor& input, IntArrayRef shape, double p) {
  const TensorOptions real = plain(input.options()).dtype(toRealValueType(input.scalar_type()));
  return empty_to_draw(shape, real).bernoulli_(1 - p);
}

// Dropped elements become the value that selu saturates at; the rest is moved so that mean and
// variance stay.
Tensor alpha_drop(const Tensor& input, const Tensor& keep, double p) {
  constexpr double alpha = 1.7580993408473766;
  if (p == 1) return input.mul(0);
  double a = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Tensor shift = keep.sub(1).mul(alpha * a).add(alpha * a * p);
  return input.mul(keep.mul(a)).add(shift);
}

}  // namespace

Tensor rand_generator(IntArrayRef size, const Gen& g, const TensorOptions& o) {
  if (!isComplexType(o.dtype())) return empty_to_draw(size, plain(o)).uniform_(0, 1, g);
  std::vector<int64_t> parts(size.begin(), size.end());
  parts.push_back(2);
  const TensorOptions real = plain(o).dtype(toRealValueType(o.dtype()));
  return view_as_complex(empty_to_draw(parts, real).uniform_(0, 1, g));
}
Tensor rand(IntArrayRef size, const TensorOptions& o) { return tenon::rand(size, Gen(), o); }
Tensor rand_like(const Tensor& self, const TensorOptions& o, std::optional<MemoryFormat> f) {
  const ScalarType dtype = o.has_dtype() ? o.dtype() : self.scalar_type();
  if (isComplexType(dtype)) return tenon::rand(self.sizes(), self.options().merge_in(o));
  return empty_like_to_draw(self, plain(o), f).uniform_(0, 1);
}
Tensor randn_generator(IntArrayRef size, const Gen& g, const TensorOptions& o) {
  if (!isComplexType(o.dtype())) return empty_to_draw(size, plain(o)).normal_(0, 1, g);
  // Parts of variance 1/2 each.
  std::vector<int64_t> parts(size.begin(), size.end());
  parts.push_back(2);
  const TensorOptions real = plain(o).dtype(toRealValueType(o.dtype()));
  return view_as_complex(empty_to_draw(parts, real).normal_(0, std::sqrt(0.5), g));
}
Tensor randn(IntArrayRef size, const TensorOptions& o) { return tenon::randn(size, Gen(), o); }
Tensor randn_like(const Tensor& self, const TensorOptions& o, std::optional<MemoryFormat> f) {
  const ScalarType dtype = o.has_dtype() ? o.dtype() : self.scalar_type();
  if (isComplexType(dtype)) return tenon::randn(self.sizes(), self.options().merge_in(o));
  return empty_like_to_draw(self, plain(o), f).normal_(0, 1);
}

Tensor randint_low_generator(int64_t low, int64_t high, IntArrayRef size, const Gen& g,
                             const TensorOptions& o) {
  return empty_to_draw(size, integer_options(o)).random_(low, std::optional<int64_t>(high), g);
}
Tensor randint_low(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& o) {
  return tenon::randint(low, high, size, Gen(), o);
}
Tensor randint_generator(int64_t high, IntArrayRef size, const Gen& g, const TensorOptions& o) {
  return tenon::randint(0, high, size, g, o);
}
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& o) {
  return tenon::randint(0, high, size, Gen(), o);
}
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& o,
                    std::optional<MemoryFormat> f) {
  return tenon::randint_like(self, 0, high, o, f);
}
Tensor randint_like_low_dtype(const Tensor& self, int64_t low, int64_t high, const TensorOptions& o,
                              std::optional<MemoryFormat> f) {
  return empty_like_to_draw(self, plain(o), f).random_(low, std::optional<int64_t>(high));
}
Tensor randperm(int64_t n, const TensorOptions& o) { return tenon::randperm(n, Gen(), o); }

Tensor normal_float_float(double mean, double std, IntArrayRef size, const Gen& g,
                          const TensorOptions& o) {
  return empty_to_draw(size, plain(o)).normal_(mean, std, g);
}
Tensor normal_Tensor_float(const Tensor& mean, double std, const Gen& g) {
  return empty_like_to_draw(mean).normal_(0, std, g).add_(mean.detach());
}
Tensor normal_float_Tensor(double mean, const Tensor& std, const Gen& g) {
  return empty_like_to_draw(std).normal_(0, 1, g).mul_(std.detach()).add_(mean);
}
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, const Gen& g) {
  Tensor noise =
      empty_to_draw(tenon::broadcast_tensors({mean, std})[0].sizes(), plain(mean.options()));
  return noise.normal_(0, 1, g).mul_(std.detach()).add_(mean.detach());
}

Tensor bernoulli_p(const Tensor& self, double p, const Gen& g) {
  return empty_like_to_draw(self).bernoulli_(p, g);
}

Tensor dropout(const Tensor& input, double p, bool train) {
  check_p("dropout", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  if (p == 1) return input.mul(0);
  return std::get<0>(native_dropout(input, p, true));
}
Tensor dropout_(const Tensor& self, double p, bool train) {
  check_p("dropout_", p);
  if (!train || p == 0 || self.numel() == 0) return self;
  return self.mul_(p == 1 ? tenon::zeros_like(self)
                          : keep_noise(self, self.sizes(), p).div_(1 - p));
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  check_p("feature_dropout", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  if (p == 1) return input.mul(0);
  return input.mul(keep_noise(input, channel_shape("feature_dropout", input), p).div_(1 - p));
}
Tensor alpha_dropout(const Tensor& input, double p, bool train) {
  check_p("alpha_dropout", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  return alpha_drop(input, keep_noise(input, input.sizes(), p), p);
}
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) {
  check_p("feature_alpha_dropout", p);
  if (!train || p == 0 || input.numel() == 0) return input;
  return alpha_drop(input, keep_noise(input, channel_shape("feature_alpha_dropout", input), p), p);
}

}  // namespace tenon::composite
