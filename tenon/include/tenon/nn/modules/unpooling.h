// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The inverse of max pooling, and max pooling at random places; the formulas are in
// nn/functional/pooling.h.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/options/pooling.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

template <std::size_t D, class Derived>
class TENON_API MaxUnpoolImpl : public Cloneable<Derived> {
 public:
  explicit MaxUnpoolImpl(ExpandingArray<D> kernel_size)
      : MaxUnpoolImpl(MaxUnpoolOptions<D>(kernel_size)) {}
  explicit MaxUnpoolImpl(const MaxUnpoolOptions<D>& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  MaxUnpoolOptions<D> options;
};

class TENON_API MaxUnpool1dImpl : public MaxUnpoolImpl<1, MaxUnpool1dImpl> {
 public:
  using MaxUnpoolImpl::MaxUnpoolImpl;
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const std::optional<std::vector<int64_t>>& output_size = std::nullopt);

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TENON_MODULE(MaxUnpool1d);

class TENON_API MaxUnpool2dImpl : public MaxUnpoolImpl<2, MaxUnpool2dImpl> {
 public:
  using MaxUnpoolImpl::MaxUnpoolImpl;
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const std::optional<std::vector<int64_t>>& output_size = std::nullopt);

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TENON_MODULE(MaxUnpool2d);

class TENON_API MaxUnpool3dImpl : public MaxUnpoolImpl<3, MaxUnpool3dImpl> {
 public:
  using MaxUnpoolImpl::MaxUnpoolImpl;
  Tensor forward(const Tensor& input, const Tensor& indices,
                 const std::optional<std::vector<int64_t>>& output_size = std::nullopt);

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(std::optional<std::vector<int64_t>>())})
};
TENON_MODULE(MaxUnpool3d);

template <std::size_t D, class Derived>
class TENON_API FractionalMaxPoolImpl : public Cloneable<Derived> {
 public:
  explicit FractionalMaxPoolImpl(ExpandingArray<D> kernel_size)
      : FractionalMaxPoolImpl(FractionalMaxPoolOptions<D>(kernel_size)) {}
  explicit FractionalMaxPoolImpl(FractionalMaxPoolOptions<D> options_)
      : options(std::move(options_)) {
    FractionalMaxPoolImpl::reset();
  }
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  FractionalMaxPoolOptions<D> options;
  Tensor _random_samples;  // a buffer, or undefined
};

class TENON_API FractionalMaxPool2dImpl : public FractionalMaxPoolImpl<2, FractionalMaxPool2dImpl> {
 public:
  using FractionalMaxPoolImpl::FractionalMaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(FractionalMaxPool2d);

class TENON_API FractionalMaxPool3dImpl : public FractionalMaxPoolImpl<3, FractionalMaxPool3dImpl> {
 public:
  using FractionalMaxPoolImpl::FractionalMaxPoolImpl;
  Tensor forward(const Tensor& input);
  std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);
};
TENON_MODULE(FractionalMaxPool3d);

}  // namespace nn
}  // namespace tenon
