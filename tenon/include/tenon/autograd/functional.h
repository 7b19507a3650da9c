// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products with Jacobians and Hessians, and these themselves, by the names of
// torch.autograd.functional.
//
// A function gets inputs of its own, which share memory with those that are given, and returns
// tensors. What it does not depend on gives zeros. Results have no history unless create_graph is
// true; the function's values neither.
#pragma once

#include <functional>
#include <utility>

#include "tenon/autograd.h"

namespace tenon::autograd::functional {

using Multivariate = std::function<variable_list(const variable_list& inputs)>;
using Univariate = std::function<Tensor(const Tensor& input)>;

// The values of f, and v^T J: one tensor per input. `v` is shaped like the outputs; it may be left
// out if there is one output with one element.
TENON_API std::pair<variable_list, variable_list> vjp(const Multivariate& f,
                                                      const variable_list& inputs,
                                                      const variable_list& v = {},
                                                      bool create_graph = false);
// The values of f, and J v: one tensor per output. `v` is shaped like the inputs. Costs two
// backward passes (see forward_ad.h).
TENON_API std::pair<variable_list, variable_list> jvp(const Multivariate& f,
                                                      const variable_list& inputs,
                                                      const variable_list& v,
                                                      bool create_graph = false);
// Of a function with one result of one element: its value, and v^T H or H v, shaped like the
// inputs. vhp is the cheaper one; they are equal where H is symmetric.
TENON_API std::pair<Tensor, variable_list> vhp(const Multivariate& f, const variable_list& inputs,
                                               const variable_list& v, bool create_graph = false);
TENON_API std::pair<Tensor, variable_list> hvp(const Multivariate& f, const variable_list& inputs,
                                               const variable_list& v, bool create_graph = false);
// [output][input], of shape output.sizes() + input.sizes(). One backward pass per element of an
// output.
TENON_API std::vector<variable_list> jacobian(const Multivariate& f, const variable_list& inputs,
                                              bool create_graph = false);
// [input][input], of a function as for vhp.
TENON_API std::vector<variable_list> hessian(const Multivariate& f, const variable_list& inputs,
                                             bool create_graph = false);

// The same of a function of one tensor.
TENON_API std::pair<Tensor, Tensor> vjp(const Univariate& f, const Tensor& input,
                                        const Tensor& v = {}, bool create_graph = false);
TENON_API std::pair<Tensor, Tensor> jvp(const Univariate& f, const Tensor& input, const Tensor& v,
                                        bool create_graph = false);
TENON_API std::pair<Tensor, Tensor> vhp(const Univariate& f, const Tensor& input, const Tensor& v,
                                        bool create_graph = false);
TENON_API std::pair<Tensor, Tensor> hvp(const Univariate& f, const Tensor& input, const Tensor& v,
                                        bool create_graph = false);
TENON_API Tensor jacobian(const Univariate& f, const Tensor& input, bool create_graph = false);
TENON_API Tensor hessian(const Univariate& f, const Tensor& input, bool create_graph = false);

}  // namespace tenon::autograd::functional
