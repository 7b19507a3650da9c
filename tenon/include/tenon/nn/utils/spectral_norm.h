// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Spectral normalization (Miyato and others, 2018): the weight divided by its largest singular
// value, which power iteration estimates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {
namespace utils {

namespace detail {
TENON_API void add_spectral_norm(Module& module, const std::string& name,
                                 int64_t n_power_iterations, double eps,
                                 std::optional<int64_t> dim);
TENON_API void drop_spectral_norm(Module& module, const std::string& name);
}  // namespace detail

// Parameter `name` gives way to NAME_orig; NAME_u and NAME_v are buffers with the singular vectors.
// In training each new value of the weight is followed by n_power_iterations, as in the paper: two
// calls with the same weight use the same estimate. dim: the dimension that counts the weight's
// outputs, by default 1 for transposed convolutions, else 0. Returns its argument, a holder or a
// shared_ptr. ValueError: no such parameter, one that has a spectral_norm already, or no iteration.
template <class M>
M spectral_norm(M module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                double eps = 1e-12, std::optional<int64_t> dim = std::nullopt) {
  detail::add_spectral_norm(*module, name, n_power_iterations, eps, dim);
  return module;
}
// The parameter is back, with the value that it has now. ValueError without a spectral_norm.
template <class M>
M remove_spectral_norm(M module, const std::string& name = "weight") {
  detail::drop_spectral_norm(*module, name);
  return module;
}

}  // namespace utils
}  // namespace nn
}  // namespace tenon
