// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/dropout.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Zeroes elements with probability p and scales the rest by 1 / (1 - p); does nothing in
// evaluation.
class TENON_API DropoutImpl : public Cloneable<DropoutImpl> {
 public:
  explicit DropoutImpl(double p);
  explicit DropoutImpl(const DropoutOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  DropoutOptions options;
};
TENON_MODULE(Dropout);

// The same for whole channels of [N, C, L].
class TENON_API Dropout1dImpl : public Cloneable<Dropout1dImpl> {
 public:
  explicit Dropout1dImpl(double p);
  explicit Dropout1dImpl(const Dropout1dOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  Dropout1dOptions options;
};
TENON_MODULE(Dropout1d);

// The same for whole channels of [N, C, H, W].
class TENON_API Dropout2dImpl : public Cloneable<Dropout2dImpl> {
 public:
  explicit Dropout2dImpl(double p);
  explicit Dropout2dImpl(const Dropout2dOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  Dropout2dOptions options;
};
TENON_MODULE(Dropout2d);

// The same for whole channels of [N, C, D, H, W].
class TENON_API Dropout3dImpl : public Cloneable<Dropout3dImpl> {
 public:
  explicit Dropout3dImpl(double p);
  explicit Dropout3dImpl(const Dropout3dOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  Dropout3dOptions options;
};
TENON_MODULE(Dropout3d);

// Dropout that keeps mean and variance of what selu gives.
class TENON_API AlphaDropoutImpl : public Cloneable<AlphaDropoutImpl> {
 public:
  explicit AlphaDropoutImpl(double p);
  explicit AlphaDropoutImpl(const AlphaDropoutOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  AlphaDropoutOptions options;
};
TENON_MODULE(AlphaDropout);

// The same for whole channels.
class TENON_API FeatureAlphaDropoutImpl : public Cloneable<FeatureAlphaDropoutImpl> {
 public:
  explicit FeatureAlphaDropoutImpl(double p);
  explicit FeatureAlphaDropoutImpl(const FeatureAlphaDropoutOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  FeatureAlphaDropoutOptions options;
};
TENON_MODULE(FeatureAlphaDropout);

}  // namespace nn
}  // namespace tenon
