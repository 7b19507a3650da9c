// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Compares gradients with central differences. For float64: with a shorter type the differences are
// noise.
#pragma once

#include <functional>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

struct GradcheckOptions {
  double eps = 1e-6;   // step of the differences
  double atol = 1e-5;  // |analytic - numeric| <= atol + rtol * |numeric|
  double rtol = 1e-3;
  bool raise = true;  // throw Error that names output, input and element; else return false
};

using GradcheckFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Checks the Jacobian of every floating output with respect to every input that requires a
// gradient, and shows both where they differ; that the gradient has its input's shape and dtype, is
// zero for a zero gradient of the output, and is the same again. `f` must be deterministic, must
// not write to its inputs, and must take row-major copies of them. ValueError if no input requires
// a gradient, TypeError if one that does is not float64.
//
// Of a tensor with a layout of its own the variables are the values of the elements that it holds,
// those that stand several times summed: an input is changed value by value, and what it does not
// hold stays 0 (torch calls this masked). Its gradient must have its layout, and is read at its
// elements. Of such an output the values are compared, so f must not choose its elements by the
// values of its inputs.
TENON_API bool gradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                         const GradcheckOptions& options = {});

// Checks the gradient of the gradient. `grad_outputs` are drawn from a fixed sequence if they are
// left out.
TENON_API bool gradgradcheck(const GradcheckFunction& f, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& grad_outputs = {},
                             const GradcheckOptions& options = {});

}  // namespace tenon::autograd
