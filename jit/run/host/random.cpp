// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random numbers that are a function of uniform ones, dropout in place, and what initializers call.
#include <cmath>
#include <random>

#include "jit/run/unboxed.h"
#include "tenon/autograd/mode.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using MaybeGenerator = std::optional<Generator>;

// Uniform on (0, 1), shaped as x.
Tensor inside_unit(const Tensor& x, const MaybeGenerator& g) {
  const NoGradGuard none;
  Tensor u = tenon::empty(x.sizes(), TensorOptions(kDouble).device(x.device()));
  return u.uniform_(0, 1, g).clamp_(0x1p-53, 1 - 0x1p-53);
}
// A new tensor, shaped as self: what a functionalized program has drawn is in one.
Tensor like(const Tensor& self) {
  return tenon::empty(self.sizes(), self.options().requires_grad(false));
}
Tensor geometric_(Tensor self, double p, const MaybeGenerator& g) {
  TENON_CHECK(p > 0 && p < 1, ValueError, "geometric_ expects p to be in (0, 1), got p=", p);
  return self.copy_((inside_unit(self, g).log() / std::log1p(-p)).ceil());
}
Tensor cauchy_(Tensor self, double median, double sigma, const MaybeGenerator& g) {
  constexpr double kPi = 3.14159265358979323846;
  return self.copy_(((inside_unit(self, g) - .5) * kPi).tan() * sigma + median);
}
Tensor log_normal_(Tensor self, double mean, double std, const MaybeGenerator& g) {
  const NoGradGuard none;
  return self.copy_(like(self).normal_(mean, std, g).exp());
}
// Drawn on the host, from a seed of the generator's.
Tensor poisson(const Tensor& self, const MaybeGenerator& g) {
  const NoGradGuard none;
  const Tensor seed = tenon::randint(INT64_MAX, {1}, g, TensorOptions(kLong));
  std::mt19937_64 engine(static_cast<uint64_t>(seed.item().to<int64_t>()));
  Tensor out = self.detach().to(kCPU).to(kDouble).clone(MemoryFormat::Contiguous);
  double* v = out.data_ptr<double>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    TENON_CHECK(v[i] >= 0, ValueError,
                "invalid Poisson rate, expected rate to be non-negative, got ", v[i]);
    v[i] = v[i] == 0 ? 0 : static_cast<double>(std::poisson_distribution<int64_t>(v[i])(engine));
  }
  return out.to(self.device()).to(self.scalar_type());
}

Tensor rrelu_(Tensor self, const Scalar& lower, const Scalar& upper, bool training,
              const MaybeGenerator& g) {
  if (!training) return self.leaky_relu_((lower.to<double>() + upper.to<double>()) / 2);
  return self.copy_(tenon::rrelu(self, lower, upper, training, g));
}

Tensor geometric(const Tensor& self, double p, const MaybeGenerator& g) {
  return geometric_(like(self), p, g);
}
Tensor cauchy(const Tensor& self, double median, double sigma, const MaybeGenerator& g) {
  return cauchy_(like(self), median, sigma, g);
}
Tensor log_normal(const Tensor& self, double mean, double std, const MaybeGenerator& g) {
  return log_normal_(like(self), mean, std, g);
}
Tensor exponential(const Tensor& self, double lambd, const MaybeGenerator& g) {
  return like(self).exponential_(lambd, g);
}
Tensor random(const Tensor& self, const MaybeGenerator& g) { return like(self).random_(g); }
Tensor random_to(const Tensor& self, int64_t to, const MaybeGenerator& g) {
  return like(self).random_(to, g);
}
Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to,
                   const MaybeGenerator& g) {
  return like(self).random_(from, to, g);
}
Tensor bernoulli(const Tensor& self, const Tensor& p, const MaybeGenerator& g) {
  return like(self).copy_(tenon::bernoulli(p.expand_as(self), g));
}

Generator make(const std::optional<Device>& device, std::optional<int64_t> seed) {
  return make_generator(device.value_or(Device(kCPU)), static_cast<uint64_t>(seed.value_or(0)));
}
Generator seed_with(Generator g, int64_t seed) {
  g.set_current_seed(static_cast<uint64_t>(seed));
  return g;
}
int64_t initial_seed(const Generator& g) { return static_cast<int64_t>(g.current_seed()); }
int64_t seed_anew(Generator g) { return static_cast<int64_t>(g.seed()); }

template <Tensor (*F)(const Tensor&, double, bool)>
Tensor in_place(Tensor self, double p, bool train) {
  return train && p > 0 ? self.copy_(F(self, p, train)) : self;
}

Tensor no_grad_uniform_(Tensor t, double a, double b, const MaybeGenerator& g) {
  const NoGradGuard none;
  return t.uniform_(a, b, g);
}
Tensor no_grad_normal_(Tensor t, double mean, double std, const MaybeGenerator& g) {
  const NoGradGuard none;
  return t.normal_(mean, std, g);
}
Tensor no_grad_fill_(Tensor t, double v) {
  const NoGradGuard none;
  return t.fill_(v);
}
Tensor no_grad_zero_(Tensor t) {
  const NoGradGuard none;
  return t.zero_();
}
Tensor normal_functional(const Tensor& self, double mean, double std, const MaybeGenerator& g) {
  return like(self).normal_(mean, std, g);
}

// Rows of a table that `indices` name, scaled down to a norm of at most max_norm.
Tensor embedding_renorm_(Tensor self, const Tensor& indices, double max_norm, double norm_type) {
  TENON_CHECK(self.dim() == 2, ValueError, "embedding_renorm_: expected a matrix, got ",
              self.sizes());
  const NoGradGuard none;
  const Tensor rows = std::get<0>(tenon::_unique2(indices.reshape({-1})));
  const Tensor values = self.index_select(0, rows);
  const Tensor norms = values.norm(norm_type, {1}, true);
  const Tensor scale = tenon::where(norms.gt(max_norm), max_norm / (norms + 1e-7), 1.0);
  return self.index_copy_(0, rows, values * scale);
}

Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm,
                        double norm_type) {
  Tensor table = self.clone();
  return jit::embedding_renorm_(table, indices, max_norm, norm_type);
}

#define DRAWS(schema, f) \
  { "aten::" schema, unboxed<f>, nullptr, true }
const HostOperator list[] = {
    DRAWS("geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)",
          geometric_),
    DRAWS("cauchy_(Tensor(a!) self, float median=0., float sigma=1., *, Generator? "
          "generator=None) -> Tensor(a!)",
          cauchy_),
    DRAWS("log_normal_(Tensor(a!) self, float mean=1., float std=2., *, Generator? "
          "generator=None) -> Tensor(a!)",
          log_normal_),
    DRAWS("geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", geometric),
    DRAWS("cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> "
          "Tensor",
          cauchy),
    DRAWS("log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> "
          "Tensor",
          log_normal),
    DRAWS("exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
          exponential),
    DRAWS("random(Tensor self, *, Generator? generator=None) -> Tensor", random),
    DRAWS("random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", random_to),
    DRAWS("random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor",
          random_from),
    DRAWS("bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
          bernoulli),
    DRAWS("Generator(*, Device? device=None, int? seed=None) -> Generator", make),
    DRAWS("manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)", seed_with),
    DRAWS("initial_seed(Generator self) -> int", initial_seed),
    DRAWS("seed(Generator(a!) self) -> int", seed_anew),
    DRAWS("poisson(Tensor self, Generator? generator=None) -> Tensor", poisson),
    DRAWS("rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool "
          "training=False, Generator? generator=None) -> Tensor(a!)",
          rrelu_),
    DRAWS("alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
          in_place<tenon::alpha_dropout>),
    DRAWS("feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
          in_place<tenon::feature_dropout>),
    DRAWS("feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
          in_place<tenon::feature_alpha_dropout>),
    DRAWS("_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> "
          "Tensor(a!)",
          no_grad_uniform_),
    DRAWS("_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) "
          "-> Tensor(a!)",
          no_grad_normal_),
    DRAWS("_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)", no_grad_fill_),
    DRAWS("_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)", no_grad_zero_),
    DRAWS("normal_functional(Tensor self, float mean=0., float std=1., *, Generator? "
          "generator=None) -> Tensor",
          normal_functional),
    DRAWS("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> "
          "Tensor(a!)",
          embedding_renorm_),
    DRAWS("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> "
          "Tensor",
          embedding_renorm),
    DRAWS("_no_grad_embedding_renorm_(Tensor(a!) weight, Tensor input, float max_norm, float "
          "norm_type) -> Tensor(a!)",
          embedding_renorm_),
};
#undef DRAWS
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
