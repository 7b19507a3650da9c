// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/comm.h"

#include <algorithm>

#include "tenon/ops.h"
#include "tenon/runtime/log.h"

namespace tenon::autograd {

Scatter::Scatter(std::vector<Device> devices, std::optional<std::vector<int64_t>> chunk_sizes,
                 int64_t dim)
    : devices_(std::move(devices)), chunk_sizes_(std::move(chunk_sizes)), dim_(dim) {
  TENON_CHECK(!devices_.empty(), ValueError, "Scatter: expected at least one device");
  TENON_CHECK(!chunk_sizes_ || chunk_sizes_->size() == devices_.size(), ValueError,
              "Scatter: chunk_sizes has ", chunk_sizes_->size(), " sizes for ", devices_.size(),
              " devices");
}

std::vector<Tensor> Scatter::apply(std::vector<Tensor> inputs) const {
  TENON_CHECK(inputs.size() == 1, ValueError, "Scatter: expected one tensor, got ", inputs.size());
  const Tensor& input = inputs[0];
  std::vector<Tensor> pieces = chunk_sizes_
                                   ? input.split_with_sizes(*chunk_sizes_, dim_)
                                   : input.chunk(static_cast<int64_t>(devices_.size()), dim_);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    pieces[i] = pieces[i].to(devices_[i], /*non_blocking=*/true);
  return pieces;
}

std::vector<Tensor> Gather::apply(std::vector<Tensor> inputs) const {
  TENON_CHECK(!inputs.empty(), ValueError, "Gather: expected at least one tensor");
  const bool all_scalars =
      std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.dim() == 0; });
  if (all_scalars && dim_ == 0)
    warn("user",
         "Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
         "unsqueeze and return a vector.");
  for (Tensor& t : inputs) {
    t = t.to(destination_device_);
    if (all_scalars) t = t.unsqueeze(0);
  }
  return {cat(inputs, all_scalars ? 0 : dim_)};
}

}  // namespace tenon::autograd
