// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <type_traits>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/pooling.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

template <std::size_t D, class Derived>
class TENON_API AvgPoolImpl : public Cloneable<Derived> {
 public:
  explicit AvgPoolImpl(ExpandingArray<D> kernel_size)
      : AvgPoolImpl(AvgPoolOptions<D>(kernel_size)) {}
  explicit AvgPoolImpl(const AvgPoolOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  AvgPoolOptions<D> options;
};

class TENON_API AvgPool1dImpl : public AvgPoolImpl<1, AvgPool1dImpl> {
 public:
  using AvgPoolImpl::AvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AvgPool1d);

class TENON_API AvgPool2dImpl : public AvgPoolImpl<2, AvgPool2dImpl> {
 public:
  using AvgPoolImpl::AvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AvgPool2d);

class TENON_API AvgPool3dImpl : public AvgPoolImpl<3, AvgPool3dImpl> {
 public:
  using AvgPoolImpl::AvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AvgPool3d);

template <std::size_t D, class Derived>
class TENON_API MaxPoolImpl : public Cloneable<Derived> {
 public:
  explicit MaxPoolImpl(ExpandingArray<D> kernel_size)
      : MaxPoolImpl(MaxPoolOptions<D>(kernel_size)) {}
  explicit MaxPoolImpl(const MaxPoolOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  MaxPoolOptions<D> options;
};

class TENON_API MaxPool1dImpl : public MaxPoolImpl<1, MaxPool1dImpl> {
 public:
  using MaxPoolImpl::MaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(MaxPool1d);

class TENON_API MaxPool2dImpl : public MaxPoolImpl<2, MaxPool2dImpl> {
 public:
  using MaxPoolImpl::MaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(MaxPool2d);

class TENON_API MaxPool3dImpl : public MaxPoolImpl<3, MaxPool3dImpl> {
 public:
  using MaxPoolImpl::MaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(MaxPool3d);

namespace detail {
// The size of a result; beyond one dimension, nullopt keeps the size of the input.
template <std::size_t D>
using AdaptiveSize =
    std::conditional_t<D == 1, ExpandingArray<1>, ExpandingArrayWithOptionalElem<D>>;
}  // namespace detail

template <std::size_t D, class Derived>
class TENON_API AdaptiveAvgPoolImpl : public Cloneable<Derived> {
 public:
  using Options = AdaptiveAvgPoolOptions<detail::AdaptiveSize<D>>;
  explicit AdaptiveAvgPoolImpl(detail::AdaptiveSize<D> output_size)
      : AdaptiveAvgPoolImpl(Options(output_size)) {}
  explicit AdaptiveAvgPoolImpl(const Options& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  Options options;
};

class TENON_API AdaptiveAvgPool1dImpl : public AdaptiveAvgPoolImpl<1, AdaptiveAvgPool1dImpl> {
 public:
  using AdaptiveAvgPoolImpl::AdaptiveAvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AdaptiveAvgPool1d);

class TENON_API AdaptiveAvgPool2dImpl : public AdaptiveAvgPoolImpl<2, AdaptiveAvgPool2dImpl> {
 public:
  using AdaptiveAvgPoolImpl::AdaptiveAvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AdaptiveAvgPool2d);

class TENON_API AdaptiveAvgPool3dImpl : public AdaptiveAvgPoolImpl<3, AdaptiveAvgPool3dImpl> {
 public:
  using AdaptiveAvgPoolImpl::AdaptiveAvgPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(AdaptiveAvgPool3d);

template <std::size_t D, class Derived>
class TENON_API AdaptiveMaxPoolImpl : public Cloneable<Derived> {
 public:
  using Options = AdaptiveMaxPoolOptions<detail::AdaptiveSize<D>>;
  explicit AdaptiveMaxPoolImpl(detail::AdaptiveSize<D> output_size)
      : AdaptiveMaxPoolImpl(Options(output_size)) {}
  explicit AdaptiveMaxPoolImpl(const Options& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  Options options;
};

class TENON_API AdaptiveMaxPool1dImpl : public AdaptiveMaxPoolImpl<1, AdaptiveMaxPool1dImpl> {
 public:
  using AdaptiveMaxPoolImpl::AdaptiveMaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(AdaptiveMaxPool1d);

class TENON_API AdaptiveMaxPool2dImpl : public AdaptiveMaxPoolImpl<2, AdaptiveMaxPool2dImpl> {
 public:
  using AdaptiveMaxPoolImpl::AdaptiveMaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(AdaptiveMaxPool2d);

class TENON_API AdaptiveMaxPool3dImpl : public AdaptiveMaxPoolImpl<3, AdaptiveMaxPool3dImpl> {
 public:
  using AdaptiveMaxPoolImpl::AdaptiveMaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(AdaptiveMaxPool3d);

template <std::size_t D, class Derived>
class TENON_API LPPoolImpl : public Cloneable<Derived> {
 public:
  LPPoolImpl(double norm_type, ExpandingArray<D> kernel_size)
      : LPPoolImpl(LPPoolOptions<D>(norm_type, kernel_size)) {}
  explicit LPPoolImpl(const LPPoolOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  LPPoolOptions<D> options;
};

class TENON_API LPPool1dImpl : public LPPoolImpl<1, LPPool1dImpl> {
 public:
  using LPPoolImpl::LPPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(LPPool1d);

class TENON_API LPPool2dImpl : public LPPoolImpl<2, LPPool2dImpl> {
 public:
  using LPPoolImpl::LPPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(LPPool2d);

class TENON_API LPPool3dImpl : public LPPoolImpl<3, LPPool3dImpl> {
 public:
  using LPPoolImpl::LPPoolImpl;
  Tensor forward(const Tensor& input);
};
TENON_MODULE(LPPool3d);

}  // namespace nn
}  // namespace tenon
