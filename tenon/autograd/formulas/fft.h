// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of Fourier transforms between real and complex numbers: the conjugate transposes.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// `sizes` are those of the transforms' inputs.
Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim,
                        int64_t normalization);
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim,
                        int64_t normalization);

}  // namespace tenon::autograd::formulas
