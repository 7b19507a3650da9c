// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/linear.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Returns its input; takes and ignores nothing else.
class TENON_API IdentityImpl : public Cloneable<IdentityImpl> {
 public:
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(Identity);

// input W^T + b. Weight and bias start uniform within 1 / sqrt(in_features).
class TENON_API LinearImpl : public Cloneable<LinearImpl> {
 public:
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LinearOptions options;
  Tensor weight;  // [out_features, in_features]
  Tensor bias;    // [out_features], or undefined
};
TENON_MODULE(Linear);

// Merges dimensions start_dim to end_dim.
class TENON_API FlattenImpl : public Cloneable<FlattenImpl> {
 public:
  explicit FlattenImpl(const FlattenOptions& options_ = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  FlattenOptions options;
};
TENON_MODULE(Flatten);

// Splits one dimension into sizes.
class TENON_API UnflattenImpl : public Cloneable<UnflattenImpl> {
 public:
  UnflattenImpl(int64_t dim, std::vector<int64_t> sizes);
  explicit UnflattenImpl(UnflattenOptions options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  UnflattenOptions options;
};
TENON_MODULE(Unflatten);

// input1 W input2 + b. Weight and bias start uniform within 1 / sqrt(in1_features).
class TENON_API BilinearImpl : public Cloneable<BilinearImpl> {
 public:
  BilinearImpl(int64_t in1_features, int64_t in2_features, int64_t out_features);
  explicit BilinearImpl(const BilinearOptions& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  BilinearOptions options;
  Tensor weight;  // [out_features, in1_features, in2_features]
  Tensor bias;    // [out_features], or undefined
};
TENON_MODULE(Bilinear);

}  // namespace nn
}  // namespace tenon
