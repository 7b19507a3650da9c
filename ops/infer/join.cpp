// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The shape of a concatenation.
#include <algorithm>

#include "tenon/core/error.h"
#include "tenon/core/infer.h"

namespace tenon::core {

TENON_INFER(cat) {
  int n = c.list_size(0);
  if (n == 0) fail<ValueError>(c, "expected a non-empty list of tensors");
  // A vector without elements joins anything: it stands for "nothing yet".
  auto skipped = [](const TensorImpl& t) { return t.ndim() == 1 && t.numel == 0; };
  const TensorImpl* first = nullptr;
  ScalarType dtype = c.promoted({0});
  for (int k = 0; k < n; ++k) {
    const TensorImpl& t = *c.list_tensor(0, k);
    if (t.ndim() == 0) fail<ValueError>(c, "0-dim tensor at position ", k, " cannot be joined; use stack");
    if (!first || (skipped(*first) && !skipped(t))) first = &t;
  }
  int dim = c.dim(c.integer(1), first->ndim());
  int64_t sizes[kMaxDims];
  std::copy(first->sizes().begin(), first->sizes().end(), sizes);
  sizes[dim] = 0;
  for (int k = 0; k < n; ++k) {
    const TensorImpl& t = *c.list_tensor(0, k);
    if (skipped(t)) continue;
    bool fits = t.ndim() == first->ndim();
    for (int d = 0; fits && d < t.ndim(); ++d) fits = d == dim || t.size(d) == sizes[d];
    if (!fits) {
      fail<ValueError>(c, "the tensor at position ", k, " of shape ", text(t.sizes()), " does not fit ",
                       text(first->sizes()), " outside of dimension ", dim);
    }
    sizes[dim] = c.take(Size(sizes[dim]) + t.size(dim));
  }
  c.compute = dtype;
  c.cast(0);
  c.set(0, {sizes, static_cast<std::size_t>(first->ndim())}, dtype);
}

}  // namespace tenon::core
