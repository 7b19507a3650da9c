// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/pooling.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

class TENON_API AvgPool1dImpl : public Cloneable<AvgPool1dImpl> {
 public:
  explicit AvgPool1dImpl(ExpandingArray<1> kernel_size);
  explicit AvgPool1dImpl(const AvgPool1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AvgPool1dOptions options;
};
TENON_MODULE(AvgPool1d);

class TENON_API AvgPool2dImpl : public Cloneable<AvgPool2dImpl> {
 public:
  explicit AvgPool2dImpl(ExpandingArray<2> kernel_size);
  explicit AvgPool2dImpl(const AvgPool2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AvgPool2dOptions options;
};
TENON_MODULE(AvgPool2d);

class TENON_API AvgPool3dImpl : public Cloneable<AvgPool3dImpl> {
 public:
  explicit AvgPool3dImpl(ExpandingArray<3> kernel_size);
  explicit AvgPool3dImpl(const AvgPool3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AvgPool3dOptions options;
};
TENON_MODULE(AvgPool3d);

class TENON_API MaxPool1dImpl : public Cloneable<MaxPool1dImpl> {
 public:
  explicit MaxPool1dImpl(ExpandingArray<1> kernel_size);
  explicit MaxPool1dImpl(const MaxPool1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  MaxPool1dOptions options;
};
TENON_MODULE(MaxPool1d);

class TENON_API MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
 public:
  explicit MaxPool2dImpl(ExpandingArray<2> kernel_size);
  explicit MaxPool2dImpl(const MaxPool2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  MaxPool2dOptions options;
};
TENON_MODULE(MaxPool2d);

class TENON_API MaxPool3dImpl : public Cloneable<MaxPool3dImpl> {
 public:
  explicit MaxPool3dImpl(ExpandingArray<3> kernel_size);
  explicit MaxPool3dImpl(const MaxPool3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  MaxPool3dOptions options;
};
TENON_MODULE(MaxPool3d);

class TENON_API AdaptiveAvgPool1dImpl : public Cloneable<AdaptiveAvgPool1dImpl> {
 public:
  explicit AdaptiveAvgPool1dImpl(ExpandingArray<1> output_size);
  explicit AdaptiveAvgPool1dImpl(const AdaptiveAvgPool1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AdaptiveAvgPool1dOptions options;
};
TENON_MODULE(AdaptiveAvgPool1d);

class TENON_API AdaptiveAvgPool2dImpl : public Cloneable<AdaptiveAvgPool2dImpl> {
 public:
  explicit AdaptiveAvgPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size);
  explicit AdaptiveAvgPool2dImpl(const AdaptiveAvgPool2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AdaptiveAvgPool2dOptions options;
};
TENON_MODULE(AdaptiveAvgPool2d);

class TENON_API AdaptiveAvgPool3dImpl : public Cloneable<AdaptiveAvgPool3dImpl> {
 public:
  explicit AdaptiveAvgPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size);
  explicit AdaptiveAvgPool3dImpl(const AdaptiveAvgPool3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  AdaptiveAvgPool3dOptions options;
};
TENON_MODULE(AdaptiveAvgPool3d);

class TENON_API AdaptiveMaxPool1dImpl : public Cloneable<AdaptiveMaxPool1dImpl> {
 public:
  explicit AdaptiveMaxPool1dImpl(ExpandingArray<1> output_size);
  explicit AdaptiveMaxPool1dImpl(const AdaptiveMaxPool1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  AdaptiveMaxPool1dOptions options;
};
TENON_MODULE(AdaptiveMaxPool1d);

class TENON_API AdaptiveMaxPool2dImpl : public Cloneable<AdaptiveMaxPool2dImpl> {
 public:
  explicit AdaptiveMaxPool2dImpl(ExpandingArrayWithOptionalElem<2> output_size);
  explicit AdaptiveMaxPool2dImpl(const AdaptiveMaxPool2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  AdaptiveMaxPool2dOptions options;
};
TENON_MODULE(AdaptiveMaxPool2d);

class TENON_API AdaptiveMaxPool3dImpl : public Cloneable<AdaptiveMaxPool3dImpl> {
 public:
  explicit AdaptiveMaxPool3dImpl(ExpandingArrayWithOptionalElem<3> output_size);
  explicit AdaptiveMaxPool3dImpl(const AdaptiveMaxPool3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);

  AdaptiveMaxPool3dOptions options;
};
TENON_MODULE(AdaptiveMaxPool3d);

class TENON_API LPPool1dImpl : public Cloneable<LPPool1dImpl> {
 public:
  LPPool1dImpl(double norm_type, ExpandingArray<1> kernel_size);
  explicit LPPool1dImpl(const LPPool1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LPPool1dOptions options;
};
TENON_MODULE(LPPool1d);

class TENON_API LPPool2dImpl : public Cloneable<LPPool2dImpl> {
 public:
  LPPool2dImpl(double norm_type, ExpandingArray<2> kernel_size);
  explicit LPPool2dImpl(const LPPool2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LPPool2dOptions options;
};
TENON_MODULE(LPPool2d);

class TENON_API LPPool3dImpl : public Cloneable<LPPool3dImpl> {
 public:
  LPPool3dImpl(double norm_type, ExpandingArray<3> kernel_size);
  explicit LPPool3dImpl(const LPPool3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LPPool3dOptions options;
};
TENON_MODULE(LPPool3d);

}  // namespace nn
}  // namespace tenon
