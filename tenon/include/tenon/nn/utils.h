// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Helpers on lists of parameters.
#pragma once

#include <vector>

#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace utils {

// Scales all gradients by one factor so that the norm of them together is at most max_norm, and
// returns the norm before. The norm type may be infinity. error_if_nonfinite: a norm that is nan or
// infinite is an error.
TENON_API double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                                 double norm_type = 2.0, bool error_if_nonfinite = false);
TENON_API double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2.0,
                                 bool error_if_nonfinite = false);
// Limits every element of every gradient to [-clip_value, clip_value].
TENON_API void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
TENON_API void clip_grad_value_(Tensor parameter, double clip_value);

// All elements in one vector, and back from it: vector_to_parameters copies the values.
TENON_API Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
TENON_API void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace utils
}  // namespace nn
}  // namespace tenon
