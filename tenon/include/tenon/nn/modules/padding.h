// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/padding.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

template <std::size_t D, class Derived>
class TENON_API ReflectionPadImpl : public Cloneable<Derived> {
 public:
  explicit ReflectionPadImpl(ExpandingArray<D * 2> padding)
      : ReflectionPadImpl(ReflectionPadOptions<D>(padding)) {}
  explicit ReflectionPadImpl(const ReflectionPadOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReflectionPadOptions<D> options;
};

class TENON_API ReflectionPad1dImpl : public ReflectionPadImpl<1, ReflectionPad1dImpl> {
 public:
  using ReflectionPadImpl::ReflectionPadImpl;
};
TENON_MODULE(ReflectionPad1d);

class TENON_API ReflectionPad2dImpl : public ReflectionPadImpl<2, ReflectionPad2dImpl> {
 public:
  using ReflectionPadImpl::ReflectionPadImpl;
};
TENON_MODULE(ReflectionPad2d);

class TENON_API ReflectionPad3dImpl : public ReflectionPadImpl<3, ReflectionPad3dImpl> {
 public:
  using ReflectionPadImpl::ReflectionPadImpl;
};
TENON_MODULE(ReflectionPad3d);

template <std::size_t D, class Derived>
class TENON_API ReplicationPadImpl : public Cloneable<Derived> {
 public:
  explicit ReplicationPadImpl(ExpandingArray<D * 2> padding)
      : ReplicationPadImpl(ReplicationPadOptions<D>(padding)) {}
  explicit ReplicationPadImpl(const ReplicationPadOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ReplicationPadOptions<D> options;
};

class TENON_API ReplicationPad1dImpl : public ReplicationPadImpl<1, ReplicationPad1dImpl> {
 public:
  using ReplicationPadImpl::ReplicationPadImpl;
};
TENON_MODULE(ReplicationPad1d);

class TENON_API ReplicationPad2dImpl : public ReplicationPadImpl<2, ReplicationPad2dImpl> {
 public:
  using ReplicationPadImpl::ReplicationPadImpl;
};
TENON_MODULE(ReplicationPad2d);

class TENON_API ReplicationPad3dImpl : public ReplicationPadImpl<3, ReplicationPad3dImpl> {
 public:
  using ReplicationPadImpl::ReplicationPadImpl;
};
TENON_MODULE(ReplicationPad3d);

template <std::size_t D, class Derived>
class TENON_API ZeroPadImpl : public Cloneable<Derived> {
 public:
  explicit ZeroPadImpl(ExpandingArray<D * 2> padding) : ZeroPadImpl(ZeroPadOptions<D>(padding)) {}
  explicit ZeroPadImpl(const ZeroPadOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ZeroPadOptions<D> options;
};

class TENON_API ZeroPad1dImpl : public ZeroPadImpl<1, ZeroPad1dImpl> {
 public:
  using ZeroPadImpl::ZeroPadImpl;
};
TENON_MODULE(ZeroPad1d);

class TENON_API ZeroPad2dImpl : public ZeroPadImpl<2, ZeroPad2dImpl> {
 public:
  using ZeroPadImpl::ZeroPadImpl;
};
TENON_MODULE(ZeroPad2d);

class TENON_API ZeroPad3dImpl : public ZeroPadImpl<3, ZeroPad3dImpl> {
 public:
  using ZeroPadImpl::ZeroPadImpl;
};
TENON_MODULE(ZeroPad3d);

template <std::size_t D, class Derived>
class TENON_API CircularPadImpl : public Cloneable<Derived> {
 public:
  explicit CircularPadImpl(ExpandingArray<D * 2> padding)
      : CircularPadImpl(CircularPadOptions<D>(padding)) {}
  explicit CircularPadImpl(const CircularPadOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CircularPadOptions<D> options;
};

class TENON_API CircularPad1dImpl : public CircularPadImpl<1, CircularPad1dImpl> {
 public:
  using CircularPadImpl::CircularPadImpl;
};
TENON_MODULE(CircularPad1d);

class TENON_API CircularPad2dImpl : public CircularPadImpl<2, CircularPad2dImpl> {
 public:
  using CircularPadImpl::CircularPadImpl;
};
TENON_MODULE(CircularPad2d);

class TENON_API CircularPad3dImpl : public CircularPadImpl<3, CircularPad3dImpl> {
 public:
  using CircularPadImpl::CircularPadImpl;
};
TENON_MODULE(CircularPad3d);

template <std::size_t D, class Derived>
class TENON_API ConstantPadImpl : public Cloneable<Derived> {
 public:
  ConstantPadImpl(ExpandingArray<D * 2> padding, double value)
      : ConstantPadImpl(ConstantPadOptions<D>(padding, value)) {}
  explicit ConstantPadImpl(const ConstantPadOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  ConstantPadOptions<D> options;
};

class TENON_API ConstantPad1dImpl : public ConstantPadImpl<1, ConstantPad1dImpl> {
 public:
  using ConstantPadImpl::ConstantPadImpl;
};
TENON_MODULE(ConstantPad1d);

class TENON_API ConstantPad2dImpl : public ConstantPadImpl<2, ConstantPad2dImpl> {
 public:
  using ConstantPadImpl::ConstantPadImpl;
};
TENON_MODULE(ConstantPad2d);

class TENON_API ConstantPad3dImpl : public ConstantPadImpl<3, ConstantPad3dImpl> {
 public:
  using ConstantPadImpl::ConstantPadImpl;
};
TENON_MODULE(ConstantPad3d);

}  // namespace nn
}  // namespace tenon
