// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/dropout.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

template <class Derived>
class TENON_API DropoutImplBase : public Cloneable<Derived> {
 public:
  explicit DropoutImplBase(double p) : DropoutImplBase(DropoutOptions(p)) {}
  explicit DropoutImplBase(const DropoutOptions& options_ = {});
  void reset() override {}

  DropoutOptions options;
};

// Zeroes elements with probability p and scales the rest by 1 / (1 - p); does nothing in
// evaluation.
class TENON_API DropoutImpl : public DropoutImplBase<DropoutImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Dropout);

// The same for whole channels of [N, C, L].
class TENON_API Dropout1dImpl : public DropoutImplBase<Dropout1dImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Dropout1d);

// The same for whole channels of [N, C, H, W].
class TENON_API Dropout2dImpl : public DropoutImplBase<Dropout2dImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Dropout2d);

// The same for whole channels of [N, C, D, H, W].
class TENON_API Dropout3dImpl : public DropoutImplBase<Dropout3dImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Dropout3d);

// Dropout that keeps mean and variance of what selu gives.
class TENON_API AlphaDropoutImpl : public DropoutImplBase<AlphaDropoutImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(AlphaDropout);

// The same for whole channels.
class TENON_API FeatureAlphaDropoutImpl : public DropoutImplBase<FeatureAlphaDropoutImpl> {
 public:
  using DropoutImplBase::DropoutImplBase;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(FeatureAlphaDropout);

}  // namespace nn
}  // namespace tenon
