// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs of 16-bit floats to and from float.
#pragma once

#include <cstdint>

#include "tenon/sdk/half.h"

namespace tenon::cpu {

void to_float(const sdk::Half* from, float* to, int64_t n);
void to_float(const sdk::BFloat16* from, float* to, int64_t n);
void from_float(const float* from, sdk::Half* to, int64_t n);
void from_float(const float* from, sdk::BFloat16* to, int64_t n);

}  // namespace tenon::cpu
