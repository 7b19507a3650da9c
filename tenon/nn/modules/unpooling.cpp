// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/unpooling.h"

#include <ostream>

#include "tenon/nn/functional/pooling.h"
#include "tenon/nn/modules/shown_namespace.h"

namespace tenon {
namespace nn {

namespace {

template <std::size_t D>
functional::MaxUnpoolFuncOptions<D> call_options(
    const MaxUnpoolOptions<D>& o, const std::optional<std::vector<int64_t>>& output_size) {
  return functional::MaxUnpoolFuncOptions<D>(o.kernel_size())
      .stride(o.stride())
      .padding(o.padding())
      .output_size(output_size);
}

}  // namespace

template <std::size_t D, class Derived>
void MaxUnpoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MaxUnpool" << D
         << "d(kernel_size=" << options.kernel_size() << ", stride=" << options.stride()
         << ", padding=" << options.padding() << ")";
}
template class MaxUnpoolImpl<1, MaxUnpool1dImpl>;
template class MaxUnpoolImpl<2, MaxUnpool2dImpl>;
template class MaxUnpoolImpl<3, MaxUnpool3dImpl>;

Tensor MaxUnpool1dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool1d(input, indices, call_options(options, output_size));
}
Tensor MaxUnpool2dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool2d(input, indices, call_options(options, output_size));
}
Tensor MaxUnpool3dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  return functional::max_unpool3d(input, indices, call_options(options, output_size));
}

template <std::size_t D, class Derived>
void FractionalMaxPoolImpl<D, Derived>::reset() {
  _random_samples = this->register_buffer("_random_samples", options._random_samples());
  TENON_CHECK(options.output_size() || options.output_ratio(), ValueError, "FractionalMaxPool", D,
              "d requires specifying either an output size, or a pooling ratio");
  TENON_CHECK(!options.output_size() || !options.output_ratio(), ValueError,
              "only one of output_size and output_ratio may be specified");
  if (!options.output_ratio()) return;
  for (const double ratio : **options.output_ratio())
    TENON_CHECK(ratio > 0 && ratio < 1, ValueError, "output_ratio must be between 0 and 1 (got ",
                ratio, ")");
}
template <std::size_t D, class Derived>
void FractionalMaxPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "FractionalMaxPool" << D << "d()";
}
template class FractionalMaxPoolImpl<2, FractionalMaxPool2dImpl>;
template class FractionalMaxPoolImpl<3, FractionalMaxPool3dImpl>;

Tensor FractionalMaxPool2dImpl::forward(const Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  FractionalMaxPool2dOptions call = options;
  call._random_samples(_random_samples);
  return functional::fractional_max_pool2d_with_indices(input, call);
}
Tensor FractionalMaxPool3dImpl::forward(const Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  FractionalMaxPool3dOptions call = options;
  call._random_samples(_random_samples);
  return functional::fractional_max_pool3d_with_indices(input, call);
}

}  // namespace nn
}  // namespace tenon
