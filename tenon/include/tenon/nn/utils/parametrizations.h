// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The parametrizations of torch.nn.utils.parametrizations. Each returns its argument, a holder or a
// shared_ptr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/nn/utils/parametrize.h"

namespace tenon {
namespace nn {
namespace utils {
namespace parametrizations {

namespace detail {
TENON_API void add_orthogonal(Module& module, const std::string& name,
                              std::optional<std::string> orthogonal_map, bool use_trivialization);
TENON_API void add_weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim);
TENON_API void add_spectral_norm(Module& module, const std::string& name,
                                 int64_t n_power_iterations, double eps,
                                 std::optional<int64_t> dim);
}  // namespace detail

// A matrix, or a batch of them, with orthonormal columns, or rows if they are fewer.
// orthogonal_map: "matrix_exp", "cayley" or "householder"; by default the first for square and
// complex matrices, else the last. use_trivialization: relative to the orthogonal matrix that is
// next to the present value (Lezcano-Casado, 2019). ValueError: fewer than two dimensions, another
// map.
template <class M>
M orthogonal(M module, const std::string& name = "weight",
             std::optional<std::string> orthogonal_map = std::nullopt,
             bool use_trivialization = true) {
  detail::add_orthogonal(*module, name, std::move(orthogonal_map), use_trivialization);
  return module;
}

// utils::weight_norm as a parametrization: original0 has the lengths, original1 the directions.
template <class M>
M weight_norm(M module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  detail::add_weight_norm(*module, name, dim);
  return module;
}

// utils::spectral_norm as a parametrization. It starts with 15 iterations; a vector is divided by
// its norm.
template <class M>
M spectral_norm(M module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                double eps = 1e-12, std::optional<int64_t> dim = std::nullopt) {
  detail::add_spectral_norm(*module, name, n_power_iterations, eps, dim);
  return module;
}

}  // namespace parametrizations
}  // namespace utils
}  // namespace nn
}  // namespace tenon
