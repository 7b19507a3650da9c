// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The shape of a convolution from the arguments of its operator.
#pragma once

#include "plugin_cpu/conv/conv.h"

namespace tenon::cpu {

// `x` is the wider side: the input, or the output of a transposed convolution. One image may lack
// the dimension of the batch.
inline Conv geometry(sdk::Tensor x, sdk::Tensor weight, sdk::Tensor y, sdk::Ints stride,
                     sdk::Ints padding, sdk::Ints dilation, int64_t groups) {
  Conv c;
  const int nd = weight.ndim() - 2, lead = 3 - nd, first = x.ndim() - nd;  // of the image
  c.batch = first == 1 ? 1 : x.size(0);
  c.channels = x.size(first - 1);
  c.filters = y.size(first - 1);
  c.groups = groups;
  for (int i = 0; i < 3; ++i) {
    const bool real = i >= lead;
    const int d = i - lead;
    const auto item = [&](sdk::Ints v) { return v[v.size() == 1 ? 0 : d]; };
    c.in[i] = real ? x.size(first + d) : 1;
    c.out[i] = real ? y.size(first + d) : 1;
    c.kernel[i] = real ? weight.size(2 + d) : 1;
    c.stride[i] = real ? item(stride) : 1;
    c.pad[i] = real ? item(padding) : 0;
    c.dilation[i] = real ? item(dilation) : 1;
  }
  return c;
}

}  // namespace tenon::cpu
