// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/group/sparse.h"

#include <algorithm>

#include "tenon/autograd/mode.h"
#include "tenon/distributed/functions.h"
#include "tenon/ops.h"

namespace tenon::distributed {
namespace {

// The elements of all ranks one after the other. The parts are equal, padded to the longest.
Tensor gather_parts(const Tensor& mine, const std::vector<int64_t>& counts, Gather gather) {
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<int64_t> sizes = mine.sizes().vec();
  sizes[0] = most;
  const Tensor padded = zeros(sizes, mine.options());
  padded.narrow(0, 0, mine.size(0)).copy_(mine);
  sizes.insert(sizes.begin(), static_cast<int64_t>(counts.size()));
  const Tensor all = empty(sizes, mine.options());
  gather(all.view({-1}), padded.view({-1}));
  std::vector<Tensor> parts;
  for (std::size_t r = 0; r < counts.size(); ++r)
    parts.push_back(all[static_cast<int64_t>(r)].narrow(0, 0, counts[r]));
  return cat(parts);
}

// What must be the same on all ranks: "float32 [6, 2], 1 of its dimensions sparse".
std::string shape_text(const Tensor& t) {
  return core::join(core::dtype_info(t.scalar_type()).name, " ", t.sizes(), ", ",
                    static_cast<long>(t.sparse_dim()), " of its dimensions sparse");
}

}  // namespace

Tensor sum_elements(const Tensor& indices, const Tensor& values, IntArrayRef sizes,
                    const std::vector<int64_t>& counts, Gather gather) {
  const Tensor all = gather_parts(indices.t(), counts, gather).t();
  return sparse_coo_tensor(all, gather_parts(values, counts, gather), sizes).coalesce();
}

Tensor all_reduce_sparse(const Tensor& tensor, ReduceOp op, const ProcessGroupPtr& group) {
  TENON_CHECK(tensor.defined() && tensor.is_sparse(), ValueError,
              "all_reduce_sparse: the tensor is not sparse (COO)");
  TENON_CHECK(op == ReduceOp::SUM || op == ReduceOp::AVG, NotImplementedError,
              "all_reduce_sparse: has sum and avg, not ", text(op));
  const NoGradGuard no_grad;
  const Tensor mine = tensor.detach().coalesce();
  const std::string shape = shape_text(mine);
  const std::vector<std::string> all =
      all_gather_object(core::join(static_cast<long>(mine._values().size(0)), " ", shape), group);
  std::vector<int64_t> counts;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::string theirs = all[r].substr(all[r].find(' ') + 1);
    if (theirs != shape)
      throw DistributedError(core::join("all_reduce_sparse: rank ", r, " has ", theirs,
                                        "; expected ", shape, " as on rank ", get_rank(group)),
                             {static_cast<int>(r)});
    counts.push_back(std::stoll(all[r]));
  }
  const auto gather = [&](const Tensor& out, const Tensor& in) {
    all_gather_into_tensor(out, in, group);
  };
  Tensor sum = sum_elements(mine._indices(), mine._values(), mine.sizes(), counts, gather);
  if (op == ReduceOp::AVG) sum._values().div_(get_world_size(group));
  return sum;
}

}  // namespace tenon::distributed
