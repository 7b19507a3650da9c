// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/parallel/sparse_gradients.h"

#include "distributed/group/sparse.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::distributed {
namespace {

struct Rows {
  Tensor indices, values;
};

Rows rows_of(const Tensor& gradient, const Tensor& parameter) {
  if (!gradient.defined()) {
    std::vector<int64_t> sizes = parameter.sizes().vec();
    sizes[0] = 0;
    const TensorOptions options = parameter.options().requires_grad(false);
    return {empty({1, 0}, options.dtype(kLong)), empty(sizes, options)};
  }
  TENON_CHECK(gradient.sparse_dim() == 1, Error, "DistributedDataParallel: a sparse gradient has ",
              gradient.sparse_dim(), " sparse dimensions, expected 1");
  const Tensor rows = gradient.coalesce();
  return {rows._indices(), rows._values()};
}

}  // namespace

Tensor average_rows(const Comm& comm, const Tensor& gradient, const Tensor& parameter,
                    int divisor) {
  const Rows mine = rows_of(gradient, parameter);
  std::vector<int64_t> counts;
  for (const auto& count : comm.all_gather_numbers({mine.values.size(0)}))
    counts.push_back(count[0]);
  return sum_elements(
      mine.indices, mine.values.div(divisor), parameter.sizes(), counts,
      [&](const Tensor& out, const Tensor& in) { comm.all_gather(out, in).wait(); });
}

}  // namespace tenon::distributed
