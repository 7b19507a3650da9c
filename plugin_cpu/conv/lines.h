// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin_cpu/conv/conv.h"

namespace tenon::cpu {

// The copy of an image: [channels][lines][stride][columns / stride].
struct PaddedImage {
  int64_t lines, columns;  // of a channel; of one remainder by the stride
  int64_t line, channel;   // floats between lines and between channels
  explicit PaddedImage(const Conv& c)
      : lines((c.out[1] - 1) * c.stride[1] + (c.kernel[1] - 1) * c.dilation[1] + 1),
        columns(c.out[2] + (c.kernel[2] - 1) * c.dilation[2] / c.stride[2]),
        line(columns * c.stride[2]),
        channel(lines * line) {}
};

// float32, in two dimensions and one group, with few channels, as the first layer of a network for
// pictures; `finish` has a row for each filter of the first image. False: another case.
bool conv_forward_lines(const Conv& c, const float* x, const float* w, const Finish& finish);

}  // namespace tenon::cpu
