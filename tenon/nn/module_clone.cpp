// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How a copy of a module that reset() has set up takes the state of the original.
#include "tenon/nn/extras.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

void Module::forget_state() {
  parameters_.clear();
  buffers_.clear();
  children_.clear();
  extras_.reset();
}

void Module::copy_state_from(const Module& other, const std::optional<Device>& device) {
  detail::ModuleAccess::copy_extras(*this, other, device);
  auto check = [&](const char* kind, std::size_t mine, std::size_t theirs) {
    TENON_CHECK(mine == theirs, ValueError, "clone: reset() of ", other.name(), " registers ", mine,
                " ", kind, ", but the module has ", theirs,
                "; register them in reset(), not in the constructor");
  };
  check("parameters", parameters_.size(), other.parameters_.size());
  check("buffers", buffers_.size(), other.buffers_.size());
  check("submodules", children_.size(), other.children_.size());
  auto copied = [&](const Tensor& t) {
    return device && t.device() != *device ? t.detach().to(*device) : t.detach().clone();
  };
  for (const auto& p : other.parameters_) {
    Tensor& mine = parameters_[p.key()];
    if (!p.value().defined()) {
      mine.reset();
    } else if (mine.defined()) {
      mine.set_data(copied(p.value()));
      mine.set_requires_grad(p.value().requires_grad());
    } else {
      mine = copied(p.value()).set_requires_grad(p.value().requires_grad());
    }
  }
  for (const auto& b : other.buffers_) {
    Tensor& mine = buffers_[b.key()];
    if (b.value().defined() && mine.defined()) {
      mine.set_data(copied(b.value()));
    } else {
      mine = b.value().defined() ? copied(b.value()) : Tensor();
    }
  }
  for (const auto& c : other.children_) {
    if (c.key() != detail::kParametrizations) children_[c.key()]->clone_(*c.value(), device);
  }
  is_training_ = other.is_training_;
}

}  // namespace nn
}  // namespace tenon
