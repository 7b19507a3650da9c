// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/padding.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

class TENON_API ReflectionPad1dImpl : public Cloneable<ReflectionPad1dImpl> {
 public:
  explicit ReflectionPad1dImpl(ExpandingArray<2> padding);
  explicit ReflectionPad1dImpl(const ReflectionPad1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReflectionPad1dOptions options;
};
TENON_MODULE(ReflectionPad1d);

class TENON_API ReflectionPad2dImpl : public Cloneable<ReflectionPad2dImpl> {
 public:
  explicit ReflectionPad2dImpl(ExpandingArray<4> padding);
  explicit ReflectionPad2dImpl(const ReflectionPad2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReflectionPad2dOptions options;
};
TENON_MODULE(ReflectionPad2d);

class TENON_API ReflectionPad3dImpl : public Cloneable<ReflectionPad3dImpl> {
 public:
  explicit ReflectionPad3dImpl(ExpandingArray<6> padding);
  explicit ReflectionPad3dImpl(const ReflectionPad3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReflectionPad3dOptions options;
};
TENON_MODULE(ReflectionPad3d);

class TENON_API ReplicationPad1dImpl : public Cloneable<ReplicationPad1dImpl> {
 public:
  explicit ReplicationPad1dImpl(ExpandingArray<2> padding);
  explicit ReplicationPad1dImpl(const ReplicationPad1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReplicationPad1dOptions options;
};
TENON_MODULE(ReplicationPad1d);

class TENON_API ReplicationPad2dImpl : public Cloneable<ReplicationPad2dImpl> {
 public:
  explicit ReplicationPad2dImpl(ExpandingArray<4> padding);
  explicit ReplicationPad2dImpl(const ReplicationPad2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReplicationPad2dOptions options;
};
TENON_MODULE(ReplicationPad2d);

class TENON_API ReplicationPad3dImpl : public Cloneable<ReplicationPad3dImpl> {
 public:
  explicit ReplicationPad3dImpl(ExpandingArray<6> padding);
  explicit ReplicationPad3dImpl(const ReplicationPad3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReplicationPad3dOptions options;
};
TENON_MODULE(ReplicationPad3d);

class TENON_API ZeroPad1dImpl : public Cloneable<ZeroPad1dImpl> {
 public:
  explicit ZeroPad1dImpl(ExpandingArray<2> padding);
  explicit ZeroPad1dImpl(const ZeroPad1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ZeroPad1dOptions options;
};
TENON_MODULE(ZeroPad1d);

class TENON_API ZeroPad2dImpl : public Cloneable<ZeroPad2dImpl> {
 public:
  explicit ZeroPad2dImpl(ExpandingArray<4> padding);
  explicit ZeroPad2dImpl(const ZeroPad2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ZeroPad2dOptions options;
};
TENON_MODULE(ZeroPad2d);

class TENON_API ZeroPad3dImpl : public Cloneable<ZeroPad3dImpl> {
 public:
  explicit ZeroPad3dImpl(ExpandingArray<6> padding);
  explicit ZeroPad3dImpl(const ZeroPad3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ZeroPad3dOptions options;
};
TENON_MODULE(ZeroPad3d);

class TENON_API CircularPad1dImpl : public Cloneable<CircularPad1dImpl> {
 public:
  explicit CircularPad1dImpl(ExpandingArray<2> padding);
  explicit CircularPad1dImpl(const CircularPad1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CircularPad1dOptions options;
};
TENON_MODULE(CircularPad1d);

class TENON_API CircularPad2dImpl : public Cloneable<CircularPad2dImpl> {
 public:
  explicit CircularPad2dImpl(ExpandingArray<4> padding);
  explicit CircularPad2dImpl(const CircularPad2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CircularPad2dOptions options;
};
TENON_MODULE(CircularPad2d);

class TENON_API CircularPad3dImpl : public Cloneable<CircularPad3dImpl> {
 public:
  explicit CircularPad3dImpl(ExpandingArray<6> padding);
  explicit CircularPad3dImpl(const CircularPad3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CircularPad3dOptions options;
};
TENON_MODULE(CircularPad3d);

class TENON_API ConstantPad1dImpl : public Cloneable<ConstantPad1dImpl> {
 public:
  ConstantPad1dImpl(ExpandingArray<2> padding, double value);
  explicit ConstantPad1dImpl(const ConstantPad1dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ConstantPad1dOptions options;
};
TENON_MODULE(ConstantPad1d);

class TENON_API ConstantPad2dImpl : public Cloneable<ConstantPad2dImpl> {
 public:
  ConstantPad2dImpl(ExpandingArray<4> padding, double value);
  explicit ConstantPad2dImpl(const ConstantPad2dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ConstantPad2dOptions options;
};
TENON_MODULE(ConstantPad2d);

class TENON_API ConstantPad3dImpl : public Cloneable<ConstantPad3dImpl> {
 public:
  ConstantPad3dImpl(ExpandingArray<6> padding, double value);
  explicit ConstantPad3dImpl(const ConstantPad3dOptions& options_);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ConstantPad3dOptions options;
};
TENON_MODULE(ConstantPad3d);

}  // namespace nn
}  // namespace tenon
