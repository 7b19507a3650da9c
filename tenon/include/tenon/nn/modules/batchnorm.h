// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/batchnorm.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

namespace detail {

// The state that batch and instance norm share: weight and bias start as 1 and 0, running
// statistics as 0 and 1.
struct TENON_API NormState {
  Tensor weight;               // [num_features], or undefined
  Tensor bias;                 // [num_features], or undefined
  Tensor running_mean;         // [num_features], or undefined
  Tensor running_var;          // [num_features], or undefined
  Tensor num_batches_tracked;  // int64, 0-dim, or undefined

 protected:
  void make(Module& module, int64_t num_features, bool affine, bool with_bias, bool track);
  void reset_statistics();
};

TENON_API Tensor batch_norm_forward(NormState& state, const BatchNormOptions& options,
                                    bool training, const Tensor& input);
TENON_API Tensor instance_norm_forward(NormState& state, const InstanceNormOptions& options,
                                       bool training, const Tensor& input, int64_t batched_rank);

}  // namespace detail

template <class Derived>
class BatchNormImplBase : public Cloneable<Derived>, public detail::NormState {
 public:
  explicit BatchNormImplBase(const BatchNormOptions& options_) : options(options_) {}
  void reset() override {
    make(*this, options.num_features(), options.affine(), options.bias(),
         options.track_running_stats());
  }
  void reset_running_stats() { reset_statistics(); }

  BatchNormOptions options;
};

// Normalizes each channel over the batch and the other dimensions. 1d takes [N, C] or [N, C, L].
class TENON_API BatchNorm1dImpl : public BatchNormImplBase<BatchNorm1dImpl> {
 public:
  explicit BatchNorm1dImpl(int64_t num_features);
  explicit BatchNorm1dImpl(const BatchNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(BatchNorm1d);

class TENON_API BatchNorm2dImpl : public BatchNormImplBase<BatchNorm2dImpl> {
 public:
  explicit BatchNorm2dImpl(int64_t num_features);
  explicit BatchNorm2dImpl(const BatchNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(BatchNorm2d);

class TENON_API BatchNorm3dImpl : public BatchNormImplBase<BatchNorm3dImpl> {
 public:
  explicit BatchNorm3dImpl(int64_t num_features);
  explicit BatchNorm3dImpl(const BatchNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(BatchNorm3d);

template <class Derived>
class InstanceNormImplBase : public Cloneable<Derived>, public detail::NormState {
 public:
  explicit InstanceNormImplBase(const InstanceNormOptions& options_) : options(options_) {}
  void reset() override {
    make(*this, options.num_features(), options.affine(), options.bias(),
         options.track_running_stats());
  }
  void reset_running_stats() { reset_statistics(); }

  InstanceNormOptions options;
};

// Normalizes each channel of each sample. A sample alone, without the dimension of the batch, is
// accepted.
class TENON_API InstanceNorm1dImpl : public InstanceNormImplBase<InstanceNorm1dImpl> {
 public:
  explicit InstanceNorm1dImpl(int64_t num_features);
  explicit InstanceNorm1dImpl(const InstanceNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(InstanceNorm1d);

class TENON_API InstanceNorm2dImpl : public InstanceNormImplBase<InstanceNorm2dImpl> {
 public:
  explicit InstanceNorm2dImpl(int64_t num_features);
  explicit InstanceNorm2dImpl(const InstanceNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(InstanceNorm2d);

class TENON_API InstanceNorm3dImpl : public InstanceNormImplBase<InstanceNorm3dImpl> {
 public:
  explicit InstanceNorm3dImpl(int64_t num_features);
  explicit InstanceNorm3dImpl(const InstanceNormOptions& options_);
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(InstanceNorm3d);

}  // namespace nn
}  // namespace tenon
