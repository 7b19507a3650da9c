// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "distributed/sharded/flat_unit.h"

#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/types.h"

namespace tenon::distributed {

FlatUnit::FlatUnit(std::string name, std::vector<Tensor> parameters, std::vector<std::string> names,
                   Comm comm)
    : name_(std::move(name)),
      parameters_(std::move(parameters)),
      names_(std::move(names)),
      comm_(std::move(comm)) {
  const NoGradGuard no_grad;
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor &p = parameters_[i], &first = parameters_[0];
    TENON_CHECK(p.scalar_type() == first.scalar_type() && p.device() == first.device() &&
                    p.layout() == kStrided,
                ValueError, "FullyShardedDataParallel: '", names_[i], "' is ",
                dtype_name(p.scalar_type()), " on ", p.device().str(), ", '", names_[0], "' ",
                dtype_name(first.scalar_type()), " on ", first.device().str(),
                "; a unit has parameters of one dtype and device, strided");
    sizes_.push_back(p.sizes().vec());
    offsets_.push_back(numel_);
    numel_ += p.numel();
    parts.push_back(p.reshape({-1}));
  }
  const int64_t ranks = comm_.size();
  padded_ = (numel_ + ranks - 1) / ranks * ranks;
  shard_ = part_of(cat(parts)).clone();
  shard_.requires_grad_();
  nothing_ = empty({0}, shard_.options().requires_grad(false));
  release();
}

Tensor FlatUnit::part_of(const Tensor& whole) const {
  const int64_t n = padded_ / comm_.size();
  Tensor padded = whole;
  if (whole.numel() < padded_) padded = cat({whole, zeros({padded_ - numel_}, whole.options())});
  return padded.narrow(0, n * comm_.rank(), n);
}

Tensor FlatUnit::whole(const Tensor& part) const {
  const Tensor out = empty({padded_}, part.options().requires_grad(false));
  comm_.all_gather(out, part.detach().contiguous()).wait();
  return out.narrow(0, 0, numel_);
}

Tensor FlatUnit::view_of(const Tensor& whole, std::size_t i) const {
  int64_t numel = 1;
  for (const int64_t s : sizes_[i]) numel *= s;
  return whole.narrow(0, offsets_[i], numel).view(sizes_[i]);
}

void FlatUnit::gather() {
  if (gathered()) return;
  const NoGradGuard no_grad;
  const Tensor all = whole(shard_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set_data(view_of(all, i));
  full_ = all;
}

void FlatUnit::release() {
  const NoGradGuard no_grad;
  full_ = Tensor();
  for (const Tensor& p : parameters_) p.set_data(nothing_);
}

void FlatUnit::keep_part() {
  const NoGradGuard no_grad;
  shard_.copy_(part_of(full_));
}

void FlatUnit::start_reduce() {
  const NoGradGuard no_grad;
  sent_ = zeros({padded_}, shard_.options().requires_grad(false));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& grad = parameters_[i].mutable_grad();
    if (!grad.defined()) continue;
    TENON_CHECK(grad.layout() == kStrided, Error, "FullyShardedDataParallel: the gradient of '",
                names_[i], "' has layout ", toString(grad.layout()), "; units take strided ones");
    view_of(sent_, i).copy_(grad);
    grad = Tensor();
  }
  sent_.div_(comm_.size());
  received_ = empty({padded_ / comm_.size()}, sent_.options());
  pending_ = comm_.reduce_scatter(received_, sent_);
}

void FlatUnit::wait_reduced() {
  const NoGradGuard no_grad;
  pending_.wait();
  pending_ = {};
  sent_ = Tensor();
  Tensor& grad = shard_.mutable_grad();
  if (grad.defined()) {
    grad.add_(received_);
  } else {
    grad = received_;
  }
  received_ = Tensor();
}

}  // namespace tenon::distributed
