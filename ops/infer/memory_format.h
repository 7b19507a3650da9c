// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Results whose channels are the innermost dimension in memory.
#pragma once

#include "tenon/core/infer.h"

namespace tenon::core {

// Output k, which is set: strides with channels innermost. ValueError unless it has `ndim`
// dimensions.
inline void set_channels_last(Infer& c, int k, int ndim) {
  OutMeta& o = c.out[k];
  if (o.ndim != ndim)
    fail<ValueError>(c, "a channels-last memory format needs ", ndim, " dimensions, got ", o.ndim);
  // unsigned: of sizes without elements it may wrap, and others are refused where memory is made
  uint64_t stride = 1;
  auto next = [&](int d) {
    o.strides[d] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(o.sizes[d] > 0 ? o.sizes[d] : 1);
  };
  next(1);
  for (int d = ndim - 1; d >= 2; --d) next(d);
  next(0);
  o.has_strides = true;
}

// Whether the elements lie so, and not row-major as well. A dimension of size 1 counts by its
// stride, as in torch: a picture of channels innermost that unsqueeze(0) made a batch of has 3 for
// the batch's, and results of it are row-major.
inline bool is_channels_last(const TensorImpl& t) {
  const int n = t.ndim();
  if ((n != 4 && n != 5) || t.composite() || t.contiguous() || t.numel == 0) return false;
  int64_t expected = 1;
  const auto fits = [&](int d) {
    const int64_t stride = t.strides()[static_cast<std::size_t>(d)];
    const bool ok = stride == expected || (t.size(d) == 1 && (d == 1 || stride > expected));
    expected *= t.size(d);
    return ok;
  };
  if (!fits(1)) return false;
  for (int d = n - 1; d >= 2; --d) {
    if (!fits(d)) return false;
  }
  return fits(0);
}

// Output k, which is set and has as many dimensions, lies as `like` does.
inline void keep_format(Infer& c, int k, const TensorImpl& like) {
  if (is_channels_last(like)) set_channels_last(c, k, like.ndim());
}

}  // namespace tenon::core
