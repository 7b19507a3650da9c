// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Helpers of indexing operators.
#pragma once

#include <vector>

#include "tenon/sdk/view.h"

namespace tenon::sdk {

// Broadcasts `shape`, in place, with the shape of an index tensor.
inline void broadcast_index(std::vector<int64_t>& shape, const Tensor& t) {
  while (static_cast<int>(shape.size()) < t.ndim()) shape.insert(shape.begin(), 1);
  for (int d = 0; d < t.ndim(); ++d) {
    int64_t& s = shape[shape.size() - static_cast<std::size_t>(t.ndim() - d)];
    if (t.size(d) == 1 || t.size(d) == s) continue;
    if (s != 1) {
      throw Error(TN_ERROR_INDEX, "the shapes of the index tensors do not broadcast: ",
                  Ints(shape.data(), static_cast<int64_t>(shape.size())), " and ", t.sizes());
    }
    s = t.size(d);
  }
}

}  // namespace tenon::sdk
