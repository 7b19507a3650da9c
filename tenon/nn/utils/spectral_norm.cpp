// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils/spectral_norm.h"

#include "tenon/nn/extras.h"
#include "tenon/nn/functional/normalization.h"
#include "tenon/nn/modules/conv.h"
#include "tenon/nn/utils/power_iteration.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {

Tensor weight_matrix(const Tensor& weight, int64_t dim) {
  const Tensor first = dim == 0 ? weight : weight.movedim(dim, 0);
  return first.reshape({first.size(0), -1});
}

namespace {

Tensor unit(const Tensor& vector, double eps) { return vector / vector.norm().clamp_min(eps); }

}  // namespace

std::pair<Tensor, Tensor> random_directions(const Tensor& matrix, double eps) {
  NoGradGuard no_grad;
  auto direction = [&](int64_t n) { return unit(randn({n}, matrix.options()), eps); };
  Tensor u = direction(matrix.size(0));
  return {std::move(u), direction(matrix.size(1))};
}

void iterate_power(const Tensor& matrix, Tensor& u, Tensor& v, int64_t n, double eps) {
  NoGradGuard no_grad;
  const Tensor m = matrix.detach();
  for (int64_t i = 0; i < n; ++i) {
    v.copy_(unit(mv(m.t(), u), eps));
    u.copy_(unit(mv(m, v), eps));
  }
}

Tensor singular_value(const Tensor& matrix, const Tensor& u, const Tensor& v) {
  // Copies: the next iteration writes u and v.
  return dot(u.detach().clone(), mv(matrix, v.detach().clone()));
}

int64_t output_dimension(const Module& module) {
  const bool transposed = module.as<ConvTranspose1dImpl>() || module.as<ConvTranspose2dImpl>() ||
                          module.as<ConvTranspose3dImpl>();
  return transposed ? 1 : 0;
}

void check_iterations(int64_t n) {
  TENON_CHECK(n > 0, ValueError, "spectral_norm: expected n_power_iterations to be positive, got ",
              n);
}

namespace detail {

using nn::detail::ComputedTensor;
using nn::detail::ModuleAccess;

void add_spectral_norm(Module& module, const std::string& name, int64_t n_power_iterations,
                       double eps, std::optional<int64_t> dim) {
  check_iterations(n_power_iterations);
  const Tensor weight = nn::detail::free_parameter(module, name, "spectral_norm");
  const int64_t outputs = dim.value_or(output_dimension(module));
  const std::string orig = name + "_orig", u = name + "_u", v = name + "_v";
  auto [start_u, start_v] = random_directions(weight_matrix(weight.detach(), outputs), eps);
  module.register_parameter(orig, weight.detach().clone());
  module.register_buffer(u, start_u);
  module.register_buffer(v, start_v);
  ComputedTensor computed;
  computed.name = name;
  computed.kind = "spectral_norm";
  computed.moved = {orig};
  computed.moved_buffers = {u, v};
  computed.depends_on_training = true;
  computed.sources = [orig](const Module& owner) {
    return std::vector<Tensor>{ModuleAccess::parameters(owner)[orig]};
  };
  computed.compute = [=](const Module& owner) {
    const Tensor& original = ModuleAccess::parameters(owner)[orig];
    Tensor of_rows = ModuleAccess::buffers(owner)[u], of_columns = ModuleAccess::buffers(owner)[v];
    const Tensor matrix = weight_matrix(original, outputs);
    if (owner.is_training()) iterate_power(matrix, of_rows, of_columns, n_power_iterations, eps);
    return original / singular_value(matrix, of_rows, of_columns);
  };
  nn::detail::add_computed(module, std::move(computed));
}

void drop_spectral_norm(Module& module, const std::string& name) {
  nn::detail::remove_computed(module, name, "spectral_norm");
}

}  // namespace detail
}  // namespace utils
}  // namespace nn
}  // namespace tenon
