// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin_cpu/conv/conv.h"

namespace tenon::cpu {

// Neighboring tiles of outputs that are computed together; tiles are numbered over the batch.
// `stride`: between the channels of their transformed inputs, whole vectors.
struct WinogradBlock {
  int64_t first, count, stride;
};

// 3x3 windows of stride 1 over enough tiles; false: another case, and nothing was written. The
// result differs from a direct sum by rounding, and a value that is not finite makes all outputs of
// its tiles NaN.
bool conv_forward_winograd(const Conv& c, const float* x, const float* w,
                           const packed::Origin& from, float* y);

}  // namespace tenon::cpu
