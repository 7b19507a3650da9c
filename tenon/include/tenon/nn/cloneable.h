// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A module class that derives from Cloneable<Itself> gets clone(); its reset() registers and
// initializes everything.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {
namespace nn {

template <class Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  virtual void reset() = 0;

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override {
    NoGradGuard no_grad;
    auto copy = std::make_shared<Derived>(static_cast<const Derived&>(*this));
    Cloneable& base = *copy;
    base.forget_state();
    base.reset();
    base.copy_state_from(*this, device);
    return copy;
  }

 private:
  // Lets a child of the copy that reset() made take the state of the original's child.
  void clone_(Module& other, const std::optional<Device>& device) override {
    auto copy = std::dynamic_pointer_cast<Derived>(other.clone(device));
    TENON_CHECK(copy != nullptr, TypeError,
                "clone: attempted to clone a submodule into one of another type");
    static_cast<Derived&>(*this) = *copy;
  }
};

}  // namespace nn
}  // namespace tenon
