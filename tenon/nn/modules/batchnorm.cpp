// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/batchnorm.h"

#include <ostream>

#include "tenon/nn/functional/normalization.h"
#include "tenon/nn/modules/shown_namespace.h"
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

template <std::size_t D, class Options, class Momentum>
void print_options(std::ostream& stream, const char* family, const Options& options,
                   const Momentum& momentum) {
  stream << std::boolalpha << detail::shown_namespace() << family << D << "d("
         << options.num_features() << ", eps=" << options.eps() << ", momentum=" << momentum
         << ", affine=" << options.affine()
         << ", track_running_stats=" << options.track_running_stats() << ")";
}

template <std::size_t D>
void check_rank(const Tensor& input) {
  constexpr int64_t high = D + 2, low = D == 1 ? 2 : high;
  const bool ok = input.dim() >= low && input.dim() <= high;
  TENON_CHECK(ok, ValueError, "BatchNorm", D, "d: expected ",
              low == high ? core::join(low) : core::join(low, "-D or ", high), "-D input, got ",
              input.dim(), "-D");
}

}  // namespace
}  // namespace detail

template <std::size_t D, class Derived>
Tensor BatchNormImplBase<D, Derived>::forward(const Tensor& input) {
  detail::check_rank<D>(input);
  return detail::batch_norm_forward(*this, options, this->is_training(), input);
}
template <std::size_t D, class Derived>
void BatchNormImplBase<D, Derived>::pretty_print(std::ostream& stream) const {
  detail::print_options<D>(stream, "BatchNorm", options,
                           options.momentum() ? core::join(*options.momentum()) : "none");
}
template class BatchNormImplBase<1, BatchNorm1dImpl>;
template class BatchNormImplBase<2, BatchNorm2dImpl>;
template class BatchNormImplBase<3, BatchNorm3dImpl>;

template <std::size_t D, class Derived>
Tensor InstanceNormImplBase<D, Derived>::forward(const Tensor& input) {
  return detail::instance_norm_forward(*this, options, this->is_training(), input, D + 2);
}
template <std::size_t D, class Derived>
void InstanceNormImplBase<D, Derived>::pretty_print(std::ostream& stream) const {
  detail::print_options<D>(stream, "InstanceNorm", options, options.momentum());
}
template class InstanceNormImplBase<1, InstanceNorm1dImpl>;
template class InstanceNormImplBase<2, InstanceNorm2dImpl>;
template class InstanceNormImplBase<3, InstanceNorm3dImpl>;

}  // namespace nn
}  // namespace tenon
