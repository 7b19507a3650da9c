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

// What batch and instance norm of any number of dimensions share.
template <class Derived, class Options>
class TENON_API NormImplBase : public Cloneable<Derived>, public detail::NormState {
 public:
  explicit NormImplBase(int64_t num_features) : NormImplBase(Options(num_features)) {}
  explicit NormImplBase(const Options& options_) : options(options_) { NormImplBase::reset(); }
  void reset() override {
    make(*this, options.num_features(), options.affine(), options.bias(),
         options.track_running_stats());
  }
  void reset_running_stats() { reset_statistics(); }

  Options options;
};

// Normalizes each channel over the batch and the other dimensions. 1d takes [N, C] or [N, C, L].
template <std::size_t D, class Derived>
class TENON_API BatchNormImplBase : public NormImplBase<Derived, BatchNormOptions> {
 public:
  using NormImplBase<Derived, BatchNormOptions>::NormImplBase;
  using NormImplBase<Derived, BatchNormOptions>::options;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};

class TENON_API BatchNorm1dImpl : public BatchNormImplBase<1, BatchNorm1dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
};
TENON_MODULE(BatchNorm1d);

class TENON_API BatchNorm2dImpl : public BatchNormImplBase<2, BatchNorm2dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
};
TENON_MODULE(BatchNorm2d);

class TENON_API BatchNorm3dImpl : public BatchNormImplBase<3, BatchNorm3dImpl> {
 public:
  using BatchNormImplBase::BatchNormImplBase;
};
TENON_MODULE(BatchNorm3d);

// Normalizes each channel of each sample. A sample alone, without the dimension of the batch, is
// accepted.
template <std::size_t D, class Derived>
class TENON_API InstanceNormImplBase : public NormImplBase<Derived, InstanceNormOptions> {
 public:
  using NormImplBase<Derived, InstanceNormOptions>::NormImplBase;
  using NormImplBase<Derived, InstanceNormOptions>::options;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};

class TENON_API InstanceNorm1dImpl : public InstanceNormImplBase<1, InstanceNorm1dImpl> {
 public:
  using InstanceNormImplBase::InstanceNormImplBase;
};
TENON_MODULE(InstanceNorm1d);

class TENON_API InstanceNorm2dImpl : public InstanceNormImplBase<2, InstanceNorm2dImpl> {
 public:
  using InstanceNormImplBase::InstanceNormImplBase;
};
TENON_MODULE(InstanceNorm2d);

class TENON_API InstanceNorm3dImpl : public InstanceNormImplBase<3, InstanceNorm3dImpl> {
 public:
  using InstanceNormImplBase::InstanceNormImplBase;
};
TENON_MODULE(InstanceNorm3d);

}  // namespace nn
}  // namespace tenon
