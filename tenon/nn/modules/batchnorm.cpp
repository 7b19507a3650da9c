// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/batchnorm.h"

#include <ostream>

#include "tenon/nn/functional/normalization.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace detail {

void NormState::make(Module& module, int64_t num_features, bool affine, bool with_bias,
                     bool track) {
  weight =
      module.register_parameter("weight", affine ? tenon::ones({num_features}) : Tensor(), affine);
  with_bias = with_bias && affine;
  bias = module.register_parameter("bias", with_bias ? tenon::zeros({num_features}) : Tensor(),
                                   with_bias);
  running_mean =
      module.register_buffer("running_mean", track ? tenon::zeros({num_features}) : Tensor());
  running_var =
      module.register_buffer("running_var", track ? tenon::ones({num_features}) : Tensor());
  num_batches_tracked = module.register_buffer(
      "num_batches_tracked", track ? tenon::zeros({}, TensorOptions().dtype(kLong)) : Tensor());
}

void NormState::reset_statistics() {
  if (!running_mean.defined()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

Tensor batch_norm_forward(NormState& s, const BatchNormOptions& options, bool training,
                          const Tensor& input) {
  std::optional<double> momentum = options.momentum();
  if (training && s.num_batches_tracked.defined()) {
    s.num_batches_tracked.add_(1);
    // Without a momentum every batch weighs the same.
    if (!momentum) momentum = 1.0 / static_cast<double>(s.num_batches_tracked.item<int64_t>());
  }
  const bool of_batch = training || !s.running_mean.defined();
  return functional::batch_norm(input, s.running_mean, s.running_var,
                                functional::BatchNormFuncOptions()
                                    .weight(s.weight)
                                    .bias(s.bias)
                                    .training(of_batch)
                                    .momentum(momentum.value_or(0.0))
                                    .eps(options.eps()));
}

Tensor instance_norm_forward(NormState& s, const InstanceNormOptions& options, bool training,
                             const Tensor& input, int64_t batched_rank) {
  const bool single = input.dim() == batched_rank - 1;
  TENON_CHECK(single || input.dim() == batched_rank, ValueError, "InstanceNorm", batched_rank - 2,
              "d: expected ", batched_rank - 1, "-D or ", batched_rank, "-D input, got ",
              input.dim(), "-D");
  const Tensor result =
      functional::instance_norm(single ? input.unsqueeze(0) : input,
                                functional::InstanceNormFuncOptions()
                                    .running_mean(s.running_mean)
                                    .running_var(s.running_var)
                                    .weight(s.weight)
                                    .bias(s.bias)
                                    .use_input_stats(training || !options.track_running_stats())
                                    .momentum(options.momentum())
                                    .eps(options.eps()));
  return single ? result.squeeze(0) : result;
}

namespace {

template <class Options, class Momentum>
void print(std::ostream& stream, const char* name, const Options& options,
           const Momentum& momentum) {
  stream << std::boolalpha << "tenon::nn::" << name << "(" << options.num_features()
         << ", eps=" << options.eps() << ", momentum=" << momentum
         << ", affine=" << options.affine()
         << ", track_running_stats=" << options.track_running_stats() << ")";
}

void check_rank(const char* name, const Tensor& input, int64_t low, int64_t high) {
  const bool ok = input.dim() >= low && input.dim() <= high;
  TENON_CHECK(ok, ValueError, name, ": expected ",
              low == high ? core::join(low) : core::join(low, "-D or ", high), "-D input, got ",
              input.dim(), "-D");
}

}  // namespace
}  // namespace detail

BatchNorm1dImpl::BatchNorm1dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
BatchNorm1dImpl::BatchNorm1dImpl(int64_t num_features)
    : BatchNorm1dImpl(BatchNormOptions(num_features)) {}
Tensor BatchNorm1dImpl::forward(const Tensor& input) {
  detail::check_rank("BatchNorm1d", input, 2, 3);
  return detail::batch_norm_forward(*this, options, is_training(), input);
}
void BatchNorm1dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "BatchNorm1d", options,
                options.momentum() ? core::join(*options.momentum()) : "none");
}
InstanceNorm1dImpl::InstanceNorm1dImpl(const InstanceNormOptions& options_)
    : InstanceNormImplBase(options_) {
  reset();
}
InstanceNorm1dImpl::InstanceNorm1dImpl(int64_t num_features)
    : InstanceNorm1dImpl(InstanceNormOptions(num_features)) {}
Tensor InstanceNorm1dImpl::forward(const Tensor& input) {
  return detail::instance_norm_forward(*this, options, is_training(), input, 3);
}
void InstanceNorm1dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "InstanceNorm1d", options, options.momentum());
}

BatchNorm2dImpl::BatchNorm2dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
BatchNorm2dImpl::BatchNorm2dImpl(int64_t num_features)
    : BatchNorm2dImpl(BatchNormOptions(num_features)) {}
Tensor BatchNorm2dImpl::forward(const Tensor& input) {
  detail::check_rank("BatchNorm2d", input, 4, 4);
  return detail::batch_norm_forward(*this, options, is_training(), input);
}
void BatchNorm2dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "BatchNorm2d", options,
                options.momentum() ? core::join(*options.momentum()) : "none");
}
InstanceNorm2dImpl::InstanceNorm2dImpl(const InstanceNormOptions& options_)
    : InstanceNormImplBase(options_) {
  reset();
}
InstanceNorm2dImpl::InstanceNorm2dImpl(int64_t num_features)
    : InstanceNorm2dImpl(InstanceNormOptions(num_features)) {}
Tensor InstanceNorm2dImpl::forward(const Tensor& input) {
  return detail::instance_norm_forward(*this, options, is_training(), input, 4);
}
void InstanceNorm2dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "InstanceNorm2d", options, options.momentum());
}

BatchNorm3dImpl::BatchNorm3dImpl(const BatchNormOptions& options_) : BatchNormImplBase(options_) {
  reset();
}
BatchNorm3dImpl::BatchNorm3dImpl(int64_t num_features)
    : BatchNorm3dImpl(BatchNormOptions(num_features)) {}
Tensor BatchNorm3dImpl::forward(const Tensor& input) {
  detail::check_rank("BatchNorm3d", input, 5, 5);
  return detail::batch_norm_forward(*this, options, is_training(), input);
}
void BatchNorm3dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "BatchNorm3d", options,
                options.momentum() ? core::join(*options.momentum()) : "none");
}
InstanceNorm3dImpl::InstanceNorm3dImpl(const InstanceNormOptions& options_)
    : InstanceNormImplBase(options_) {
  reset();
}
InstanceNorm3dImpl::InstanceNorm3dImpl(int64_t num_features)
    : InstanceNorm3dImpl(InstanceNormOptions(num_features)) {}
Tensor InstanceNorm3dImpl::forward(const Tensor& input) {
  return detail::instance_norm_forward(*this, options, is_training(), input, 5);
}
void InstanceNorm3dImpl::pretty_print(std::ostream& stream) const {
  detail::print(stream, "InstanceNorm3d", options, options.momentum());
}

}  // namespace nn
}  // namespace tenon
