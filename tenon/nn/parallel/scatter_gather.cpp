// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/parallel/scatter_gather.h"

#include "tenon/autograd/comm.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace parallel {
namespace detail {

void check_same_size(std::size_t size, std::size_t first, const char* what) {
  TENON_CHECK(size == first, ValueError, "gather: the ", what,
              " of all replicas must have the same number of elements, got ", first, " and ", size);
}

void missing_key() { throw ValueError("gather: the maps of all replicas must have the same keys"); }

PieceCount::PieceCount(std::size_t devices, int64_t dim)
    : devices_(devices), pieces_(devices), dim_(dim) {
  TENON_CHECK(devices > 0, ValueError, "scatter: expected at least one device");
}

void PieceCount::add(const Tensor& t) {
  const int64_t size = t.size(dim_);
  if (!size_) {
    size_ = size;
    pieces_ = t.chunk(static_cast<int64_t>(devices_), dim_).size();
  }
  TENON_CHECK(size == *size_, ValueError,
              "scatter: all tensors of an input must have the batch's size along dim ", dim_,
              ", got ", *size_, " and ", size);
}

void scatter_into(const std::vector<Tensor*>& tensors, const std::vector<Device>& devices,
                  int64_t dim) {
  if (!tensors.front()->defined()) return;
  const auto pieces = autograd::Scatter(devices, std::nullopt, dim).apply({*tensors.front()});
  for (std::size_t i = 0; i < pieces.size(); ++i) *tensors[i] = pieces[i];
}

void gather_into_first(const std::vector<Tensor*>& tensors, Device device, int64_t dim) {
  std::vector<Tensor> parts;
  for (const Tensor* t : tensors)
    if (t->defined()) parts.push_back(*t);
  if (parts.empty()) return;
  TENON_CHECK(parts.size() == tensors.size(), ValueError, "gather: a tensor is undefined in ",
              tensors.size() - parts.size(), " of ", tensors.size(), " replicas");
  *tensors.front() = autograd::Gather(device, dim).apply(std::move(parts)).front();
}

}  // namespace detail
}  // namespace parallel
}  // namespace nn
}  // namespace tenon
