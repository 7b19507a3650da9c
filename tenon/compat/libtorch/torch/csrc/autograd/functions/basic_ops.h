// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

namespace tenon::autograd {

// Its arguments as they are; their gradients are undefined.
struct UndefinedGrad {
  struct Call : Function<Call> {
    static variable_list forward(AutogradContext*, const variable_list& inputs) {
      variable_list out;
      for (const Variable& v : inputs) out.push_back(v.clone());
      return out;
    }
    static variable_list backward(AutogradContext*, variable_list grads) {
      return variable_list(grads.size());
    }
  };
  variable_list apply(const variable_list& inputs) const { return Call::apply(inputs); }
  variable_list operator()(const variable_list& inputs) const { return apply(inputs); }
};

}  // namespace tenon::autograd
