// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements at the ends of what a dtype holds.
#pragma once

#include "call.h"

namespace tenon::fuzz {

double wild_real(ScalarType dtype, const Wild& how, Random& random);
int64_t wild_integer(ScalarType dtype, const Wild& how, Random& random);
// Of a floating dtype: the largest finite number, the distance from 1 to the next, the smallest
// above 0.
double largest(ScalarType dtype);
double unit(ScalarType dtype);
double smallest(ScalarType dtype);

}  // namespace tenon::fuzz
