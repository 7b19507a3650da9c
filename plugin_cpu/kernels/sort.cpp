// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sort over slices of a dimension, stable in both orders. Long slices are sorted by radix, which
// does not depend on the values.
#include "tenon/sdk/ops/sort.h"

#include "plugin_cpu/rowwise/slices.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status sort(Call&, Tensor values, Tensor indices, Tensor self, std::optional<bool>, int64_t dim,
               bool descending) {
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    each_slice<T>(values, indices, self, dim,
                  [&](char* const* p, const int64_t* s, int64_t n, auto& keys) {
                    read_keys<T>(p[2], s[2], n, descending, keys);
                    sort_keys(keys);
                    write_sorted<T>(p, s, keys.data(), n);
                  });
  });
  return TN_OK;
}
TN_KERNEL(sort_stable, sort, dtypes("all").any_strides());

}  // namespace
}  // namespace tenon::cpu
