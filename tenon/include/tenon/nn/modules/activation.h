// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/activation.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

class TENON_API ELUImpl : public Cloneable<ELUImpl> {
 public:
  explicit ELUImpl(const ELUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  ELUOptions options;
};
TENON_MODULE(ELU);

class TENON_API SELUImpl : public Cloneable<SELUImpl> {
 public:
  explicit SELUImpl(const SELUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  SELUOptions options;
};
TENON_MODULE(SELU);

class TENON_API GLUImpl : public Cloneable<GLUImpl> {
 public:
  explicit GLUImpl(const GLUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  GLUOptions options;
};
TENON_MODULE(GLU);

class TENON_API GELUImpl : public Cloneable<GELUImpl> {
 public:
  explicit GELUImpl(const GELUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  GELUOptions options;
};
TENON_MODULE(GELU);

class TENON_API HardshrinkImpl : public Cloneable<HardshrinkImpl> {
 public:
  explicit HardshrinkImpl(const HardshrinkOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  HardshrinkOptions options;
};
TENON_MODULE(Hardshrink);

class TENON_API HardtanhImpl : public Cloneable<HardtanhImpl> {
 public:
  explicit HardtanhImpl(const HardtanhOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  HardtanhOptions options;
};
TENON_MODULE(Hardtanh);

class TENON_API LeakyReLUImpl : public Cloneable<LeakyReLUImpl> {
 public:
  explicit LeakyReLUImpl(const LeakyReLUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  LeakyReLUOptions options;
};
TENON_MODULE(LeakyReLU);

class TENON_API ReLUImpl : public Cloneable<ReLUImpl> {
 public:
  explicit ReLUImpl(const ReLUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  ReLUOptions options;
};
TENON_MODULE(ReLU);

class TENON_API ReLU6Impl : public Cloneable<ReLU6Impl> {
 public:
  explicit ReLU6Impl(const ReLU6Options& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  ReLU6Options options;
};
TENON_MODULE(ReLU6);

class TENON_API RReLUImpl : public Cloneable<RReLUImpl> {
 public:
  explicit RReLUImpl(const RReLUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  RReLUOptions options;
};
TENON_MODULE(RReLU);

class TENON_API CELUImpl : public Cloneable<CELUImpl> {
 public:
  explicit CELUImpl(const CELUOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  CELUOptions options;
};
TENON_MODULE(CELU);

class TENON_API SoftplusImpl : public Cloneable<SoftplusImpl> {
 public:
  explicit SoftplusImpl(const SoftplusOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  SoftplusOptions options;
};
TENON_MODULE(Softplus);

class TENON_API SoftshrinkImpl : public Cloneable<SoftshrinkImpl> {
 public:
  explicit SoftshrinkImpl(const SoftshrinkOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  SoftshrinkOptions options;
};
TENON_MODULE(Softshrink);

class TENON_API HardswishImpl : public Cloneable<HardswishImpl> {
 public:
  explicit HardswishImpl(const HardswishOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  HardswishOptions options;
};
TENON_MODULE(Hardswish);

class TENON_API HardsigmoidImpl : public Cloneable<HardsigmoidImpl> {
 public:
  explicit HardsigmoidImpl(const HardsigmoidOptions& options_ = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  HardsigmoidOptions options;
};
TENON_MODULE(Hardsigmoid);

class TENON_API SoftmaxImpl : public Cloneable<SoftmaxImpl> {
 public:
  explicit SoftmaxImpl(int64_t dim);
  explicit SoftmaxImpl(const SoftmaxOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  SoftmaxOptions options;
};
TENON_MODULE(Softmax);

class TENON_API SoftminImpl : public Cloneable<SoftminImpl> {
 public:
  explicit SoftminImpl(int64_t dim);
  explicit SoftminImpl(const SoftminOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  SoftminOptions options;
};
TENON_MODULE(Softmin);

class TENON_API LogSoftmaxImpl : public Cloneable<LogSoftmaxImpl> {
 public:
  explicit LogSoftmaxImpl(int64_t dim);
  explicit LogSoftmaxImpl(const LogSoftmaxOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  LogSoftmaxOptions options;
};
TENON_MODULE(LogSoftmax);

class TENON_API ThresholdImpl : public Cloneable<ThresholdImpl> {
 public:
  ThresholdImpl(double threshold, double value);
  explicit ThresholdImpl(const ThresholdOptions& options_);
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;

  ThresholdOptions options;
};
TENON_MODULE(Threshold);

// One learned slope for negative values, or one per channel (dimension 1).
class TENON_API PReLUImpl : public Cloneable<PReLUImpl> {
 public:
  explicit PReLUImpl(const PReLUOptions& options_ = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;

  PReLUOptions options;
  Tensor weight;
};
TENON_MODULE(PReLU);

// Softmax over the channels of [N, C, H, W] or [C, H, W].
class TENON_API Softmax2dImpl : public Cloneable<Softmax2dImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Softmax2d);

class TENON_API LogSigmoidImpl : public Cloneable<LogSigmoidImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(LogSigmoid);

class TENON_API SigmoidImpl : public Cloneable<SigmoidImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Sigmoid);

class TENON_API SiLUImpl : public Cloneable<SiLUImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(SiLU);

class TENON_API MishImpl : public Cloneable<MishImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Mish);

class TENON_API SoftsignImpl : public Cloneable<SoftsignImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Softsign);

class TENON_API TanhImpl : public Cloneable<TanhImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Tanh);

class TENON_API TanhshrinkImpl : public Cloneable<TanhshrinkImpl> {
 public:
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TENON_MODULE(Tanhshrink);

}  // namespace nn
}  // namespace tenon
