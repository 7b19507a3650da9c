// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Weight normalization (Salimans and Kingma, 2016): weight = g * v / |v|, where g has a length for
// each slice of the weight along `dim` and v the directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {
namespace utils {

namespace detail {
TENON_API void add_weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim);
TENON_API void drop_weight_norm(Module& module, const std::string& name);
}  // namespace detail

// Parameter `name` gives way to NAME_g and NAME_v, which are trained instead; the module's member
// of that name is computed from them whenever they have been written (Module::update_computed).
// Without dim there is one length for the whole weight. Returns its argument, a holder or a
// shared_ptr. ValueError: no such parameter, or one that has a weight_norm already.
template <class M>
M weight_norm(M module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  detail::add_weight_norm(*module, name, dim);
  return module;
}
// The parameter is back, with the value that it has now. ValueError without a weight_norm.
template <class M>
M remove_weight_norm(M module, const std::string& name = "weight") {
  detail::drop_weight_norm(*module, name);
  return module;
}

}  // namespace utils
}  // namespace nn
}  // namespace tenon
