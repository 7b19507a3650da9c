// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/utils/weight_norm.h"

#include "tenon/nn/extras.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace utils {
namespace detail {

using nn::detail::ComputedTensor;
using nn::detail::ModuleAccess;

void add_weight_norm(Module& module, const std::string& name, std::optional<int64_t> dim) {
  const Tensor weight = nn::detail::free_parameter(module, name, "weight_norm");
  const int64_t along = dim.value_or(-1);
  const std::string g = name + "_g", v = name + "_v";
  module.register_parameter(g, norm_except_dim(weight.detach(), 2, along));
  module.register_parameter(v, weight.detach().clone());
  auto of = [](const Module& owner, const std::string& key) {
    return ModuleAccess::parameters(owner)[key];
  };
  ComputedTensor computed;
  computed.name = name;
  computed.kind = "weight_norm";
  computed.moved = {g, v};
  computed.sources = [of, g, v](const Module& owner) {
    return std::vector<Tensor>{of(owner, g), of(owner, v)};
  };
  computed.compute = [of, g, v, along](const Module& owner) {
    return _weight_norm(of(owner, v), of(owner, g), along);
  };
  nn::detail::add_computed(module, std::move(computed));
}

void drop_weight_norm(Module& module, const std::string& name) {
  nn::detail::remove_computed(module, name, "weight_norm");
}

}  // namespace detail
}  // namespace utils
}  // namespace nn
}  // namespace tenon
