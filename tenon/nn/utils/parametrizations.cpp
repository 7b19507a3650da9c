// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils/parametrizations.h"

#include <tuple>

#include "tenon/nn/extras.h"
#include "tenon/nn/utils/power_iteration.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {
namespace parametrizations {
namespace {

using parametrize::Parametrization;

Tensor diagonal_of(const Tensor& x) { return x.diagonal(0, -2, -1); }

// The Q of a QR decomposition whose R has a diagonal above zero.
Tensor make_orthogonal(const Tensor& x) {
  const auto [reflections, tau] = geqrf(x);
  return linalg_householder_product(reflections, tau) *
         diagonal_of(reflections).sgn().unsqueeze(-2);
}

bool is_orthogonal(const Tensor& q) {
  const Tensor identity = eye(q.size(-1), q.options());
  const double eps =
      10.0 * static_cast<double>(q.size(-2)) *
      (q.scalar_type() == kDouble || q.scalar_type() == kComplexDouble ? 2.3e-16 : 1.2e-7);
  return allclose(q.mH().matmul(q), identity.expand_as(q.mH().matmul(q)), eps, eps);
}

enum class Map { MatrixExp, Cayley, Householder };

class Orthogonal final : public Parametrization {
 public:
  Orthogonal(const Tensor& weight, Map map, bool use_trivialization)
      : Parametrization("tenon::nn::utils::parametrizations::Orthogonal"),
        sizes_(weight.sizes().vec()),
        map_(map),
        use_trivialization_(use_trivialization) {}

  Tensor forward(const Tensor& input) override {
    const bool transposed = input.size(-2) < input.size(-1);
    const Tensor x = transposed ? input.mT() : input;
    Tensor q = map_ == Map::Householder ? from_reflections(x) : from_skew(x);
    if (base_.defined()) q = base_.matmul(q);
    return transposed ? q.mT() : q;
  }

  Tensor right_inverse(const Tensor& value) override {
    TENON_CHECK(value.sizes() == IntArrayRef(sizes_), ValueError, "orthogonal: expected shape ",
                IntArrayRef(sizes_), ", got ", value.sizes());
    const bool transposed = value.size(-2) < value.size(-1);
    const Tensor q = transposed ? value.mT() : value;
    if (use_trivialization_) return relative_to(q, value);
    TENON_CHECK(map_ == Map::Householder, NotImplementedError,
                "orthogonal: without use_trivialization a value cannot be assigned to the maps "
                "matrix_exp and cayley");
    auto [a, tau] = geqrf(q);
    a = a.clone();
    Tensor diagonal = diagonal_of(a);
    diagonal.copy_(where(tau.eq(0), -diagonal.sgn(), diagonal.sgn()));
    return transposed ? a.mT() : a;
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device) const override {
    auto copy = std::make_shared<Orthogonal>(tenon::empty(sizes_), map_, use_trivialization_);
    if (base_.defined()) copy->set_base(base_.detach().clone().to(device.value_or(base_.device())));
    copy->train(is_training());
    return copy;
  }

 private:
  // Of the skew part of x: exp(A), or its Cayley transform.
  Tensor from_skew(const Tensor& input) const {
    const int64_t n = input.size(-2), k = input.size(-1);
    Tensor x = input.tril();
    if (n != k) {
      auto rest = x.sizes().vec();
      rest.back() = n - k;
      x = cat({x, zeros(rest, x.options())}, -1);
    }
    const Tensor a = x - x.mH();
    Tensor q;
    if (map_ == Map::MatrixExp) {
      q = linalg_matrix_exp(a);
    } else {
      const Tensor identity = eye(n, a.options());
      q = linalg_solve(identity + a * 0.5, identity - a * 0.5);
    }
    return n == k ? q : q.narrow(-1, 0, k);
  }

  static Tensor from_reflections(const Tensor& x) {
    const Tensor a = x.tril(-1);
    const Tensor tau = 2.0 / (1.0 + (a * a.conj()).sum(-2));
    return linalg_householder_product(a, tau) * diagonal_of(x).detach().trunc().unsqueeze(-2);
  }

  // `q` becomes the base, and what stands for it is what the maps send to the identity.
  Tensor relative_to(const Tensor& q, const Tensor& value) {
    NoGradGuard no_grad;
    const int64_t n = q.size(-2), k = q.size(-1);
    if (n == k) {
      set_base(is_orthogonal(q) ? q.clone() : make_orthogonal(q));
    } else {
      auto rest = q.sizes().vec();
      rest.back() = n - k;
      set_base(make_orthogonal(cat({q, randn(rest, q.options())}, -1)));
    }
    Tensor start = zeros_like(value);
    diagonal_of(start).fill_(-1);
    return start;
  }

  void set_base(const Tensor& base) {
    if (base_.defined()) {
      base_.copy_(base);
    } else {
      base_ = register_buffer("base", base.contiguous());
    }
  }

  std::vector<int64_t> sizes_;
  Map map_;
  bool use_trivialization_;
  Tensor base_;
};

class WeightNorm final : public Parametrization {
 public:
  explicit WeightNorm(int64_t dim)
      : Parametrization("tenon::nn::utils::parametrizations::WeightNorm"), dim_(dim) {}
  Tensor forward(const Tensor&) override {
    throw ValueError("weight_norm: expected two tensors, the lengths and the directions");
  }
  Tensor forward_all(const std::vector<Tensor>& originals) override {
    return _weight_norm(originals.at(1), originals.at(0), dim_);
  }
  std::vector<Tensor> right_inverse_all(const Tensor& weight) override {
    return {norm_except_dim(weight, 2, dim_), weight};
  }

 private:
  int64_t dim_;
};

class SpectralNorm final : public Parametrization {
 public:
  SpectralNorm(const Tensor& weight, int64_t n_power_iterations, double eps, int64_t dim)
      : SpectralNorm(n_power_iterations, eps, dim) {
    if (weight.dim() == 1) return;
    const Tensor matrix = weight_matrix(weight.detach(), dim);
    auto [u, v] = random_directions(matrix, eps);
    u_ = register_buffer("_u", u);
    v_ = register_buffer("_v", v);
    iterate_power(matrix, u_, v_, 15, eps);
  }

  Tensor forward(const Tensor& weight) override {
    if (!u_.defined()) return weight / weight.norm().clamp_min(eps_);
    const Tensor matrix = weight_matrix(weight, dim_);
    if (is_training()) iterate_power(matrix, u_, v_, n_, eps_);
    return weight / singular_value(matrix, u_, v_);
  }
  Tensor right_inverse(const Tensor& value) override { return value; }

  std::shared_ptr<Module> clone(const std::optional<Device>& device) const override {
    std::shared_ptr<SpectralNorm> copy(new SpectralNorm(n_, eps_, dim_));
    if (u_.defined()) {
      const Device to = device.value_or(u_.device());
      copy->u_ = copy->register_buffer("_u", u_.detach().clone().to(to));
      copy->v_ = copy->register_buffer("_v", v_.detach().clone().to(to));
    }
    copy->train(is_training());
    return copy;
  }

 private:
  SpectralNorm(int64_t n, double eps, int64_t dim)
      : Parametrization("tenon::nn::utils::parametrizations::SpectralNorm"),
        n_(n),
        dim_(dim),
        eps_(eps) {}
  int64_t n_, dim_;
  double eps_;
  Tensor u_, v_;
};

Map map_of(const std::optional<std::string>& name, const Tensor& weight) {
  if (!name) {
    const bool by_exp = weight.size(-2) == weight.size(-1) || weight.is_complex();
    return by_exp ? Map::MatrixExp : Map::Householder;
  }
  if (*name == "matrix_exp") return Map::MatrixExp;
  if (*name == "cayley") return Map::Cayley;
  TENON_CHECK(*name == "householder", ValueError,
              "orthogonal: expected orthogonal_map to be matrix_exp, cayley or householder, got '",
              *name, "'");
  TENON_CHECK(!weight.is_complex(), ValueError,
              "orthogonal: the map householder does not take complex tensors");
  return Map::Householder;
}

}  // namespace

namespace detail {

void add_orthogonal(Module& module, const std::string& name,
                    std::optional<std::string> orthogonal_map, bool use_trivialization) {
  const Tensor weight = nn::detail::free_parameter(module, name, "orthogonal");
  TENON_CHECK(weight.dim() >= 2, ValueError,
              "orthogonal: expected a matrix or a batch of matrices, got ", weight.dim(),
              " dimensions");
  parametrize::register_parametrization(
      module, name,
      std::make_shared<Orthogonal>(weight, map_of(orthogonal_map, weight), use_trivialization),
      /*unsafe=*/true);
}

void add_weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim) {
  parametrize::register_parametrization(module, name,
                                        std::make_shared<WeightNorm>(dim.value_or(-1)),
                                        /*unsafe=*/true);
}

void add_spectral_norm(Module& module, const std::string& name, int64_t n_power_iterations,
                       double eps, std::optional<int64_t> dim) {
  check_iterations(n_power_iterations);
  const Tensor weight = nn::detail::free_parameter(module, name, "spectral_norm");
  const int64_t outputs = dim.value_or(output_dimension(module));
  parametrize::register_parametrization(
      module, name, std::make_shared<SpectralNorm>(weight, n_power_iterations, eps, outputs));
}

}  // namespace detail
}  // namespace parametrizations
}  // namespace utils
}  // namespace nn
}  // namespace tenon
