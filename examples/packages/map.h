// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// t-SNE: points of many dimensions laid out in two, so that near ones stay near.
#pragma once

#include <tenon/tensor.h>

namespace packages {

// Of points [n, d] with n >= 3, on their device: [n, 2] there. The directions count, the lengths do
// not. The time goes with n squared. The start is drawn from the default generator.
tenon::Tensor lay_out(const tenon::Tensor& points);

}  // namespace packages
