// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The shape of a concatenation.
#include <algorithm>

#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

TENON_INFER(cat) {
  using A = args::cat;
  int n = c.list_size(A::tensors);
  if (n == 0) fail<ValueError>(c, "expected a non-empty list of tensors");
  // A vector without elements joins anything: it stands for "nothing yet".
  auto skipped = [](const TensorImpl& t) { return t.ndim() == 1 && t.numel == 0; };
  const TensorImpl* first = nullptr;
  ScalarType dtype = c.promoted({A::tensors});
  for (int k = 0; k < n; ++k) {
    const TensorImpl& t = *c.list_tensor(A::tensors, k);
    if (t.ndim() == 0)
      fail<ValueError>(c, "0-dim tensor at position ", k, " cannot be joined; use stack");
    if (!first || (skipped(*first) && !skipped(t))) first = &t;
  }
  int dim = c.dim(c.integer(A::dim), first->ndim());
  int64_t sizes[kMaxDims];
  std::copy(first->sizes().begin(), first->sizes().end(), sizes);
  sizes[dim] = 0;
  bool all_last = true;  // else the result is row-major
  for (int k = 0; k < n; ++k) {
    const TensorImpl& t = *c.list_tensor(A::tensors, k);
    if (skipped(t)) continue;
    bool fits = t.ndim() == first->ndim();
    for (int d = 0; fits && d < t.ndim(); ++d) fits = d == dim || t.size(d) == sizes[d];
    if (!fits) {
      fail<ValueError>(c, "the tensor at position ", k, " of shape ", t.sizes(), " does not fit ",
                       first->sizes(), " outside of dimension ", dim);
    }
    sizes[dim] = c.take(Size(sizes[dim]) + t.size(dim));
    all_last = all_last && is_channels_last(t);
  }
  c.compute = dtype;
  c.cast(A::tensors);
  c.set(0, {sizes, static_cast<std::size_t>(first->ndim())}, dtype);
  if (all_last) keep_format(c, 0, *first);
}

}  // namespace tenon::core
