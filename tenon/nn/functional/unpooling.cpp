// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The inverse of max pooling, and max pooling at random places.
#include <cmath>
#include <vector>

#include "tenon/nn/functional/pooling.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

// The spatial size before pooling: the given one if it could have been, or else the default.
template <std::size_t D>
std::vector<int64_t> unpooled_size(const Tensor& input, const MaxUnpoolFuncOptions<D>& o) {
  TENON_CHECK(input.dim() == D + 1 || input.dim() == D + 2, ValueError, "max_unpool", D,
              "d: expected an input of ", D + 1, " or ", D + 2, " dimensions, got ", input.dim());
  std::vector<int64_t> fitting;
  for (std::size_t d = 0; d < D; ++d)
    fitting.push_back((input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D)) - 1) *
                          (*o.stride())[d] +
                      (*o.kernel_size())[d] - 2 * (*o.padding())[d]);
  if (!o.output_size()) return fitting;
  std::vector<int64_t> wanted = *o.output_size();
  if (wanted.size() == D + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  TENON_CHECK(wanted.size() == D, ValueError, "output_size should be a sequence containing ", D,
              " or ", D + 2, " elements, but it has a length of '", wanted.size(), "'");
  for (std::size_t d = 0; d < D; ++d) {
    const int64_t low = fitting[d] - (*o.stride())[d], high = fitting[d] + (*o.stride())[d];
    TENON_CHECK(low <= wanted[d] && wanted[d] <= high, ValueError, "invalid output_size ",
                IntArrayRef(wanted), " (dim ", d, " must be between ", low, " and ", high, ")");
  }
  return wanted;
}

// The spatial size of the result of fractional pooling.
template <std::size_t D>
std::vector<int64_t> fractional_size(const Tensor& input, const FractionalMaxPoolOptions<D>& o) {
  TENON_CHECK(o.output_size() || o.output_ratio(), ValueError, "fractional_max_pool", D,
              "d requires specifying either an output_size or an output_ratio");
  TENON_CHECK(!o.output_size() || !o.output_ratio(), ValueError,
              "only one of output_size and output_ratio may be specified");
  TENON_CHECK(input.dim() == D + 1 || input.dim() == D + 2, ValueError, "fractional_max_pool", D,
              "d: expected an input of ", D + 1, " or ", D + 2, " dimensions, got ", input.dim());
  if (o.output_size()) {
    const std::array<int64_t, D>& size = **o.output_size();
    return std::vector<int64_t>(size.begin(), size.end());
  }
  std::vector<int64_t> out;
  for (std::size_t d = 0; d < D; ++d) {
    const double ratio = (**o.output_ratio())[d];
    TENON_CHECK(ratio > 0 && ratio < 1, ValueError, "fractional_max_pool", D,
                "d: output_ratio must be between 0 and 1, got ", ratio);
    const int64_t size = input.size(static_cast<int64_t>(d) - static_cast<int64_t>(D));
    out.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * ratio)));
  }
  return out;
}

template <std::size_t D>
Tensor samples_of(const Tensor& input, const FractionalMaxPoolOptions<D>& o) {
  if (o._random_samples().defined()) return o._random_samples();
  const int64_t batch = input.dim() == D + 1 ? 1 : input.size(0);
  const int64_t channels = input.size(-static_cast<int64_t>(D) - 1);
  return tenon::rand({batch, channels, static_cast<int64_t>(D)},
                     input.options().requires_grad(std::nullopt));
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool1dFuncOptions& options) {
  return composite::max_unpool1d(input, indices, unpooled_size(input, options));
}

Tensor max_unpool2d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool2dFuncOptions& options) {
  return tenon::max_unpool2d(input, indices, unpooled_size(input, options));
}

Tensor max_unpool3d(const Tensor& input, const Tensor& indices,
                    const MaxUnpool3dFuncOptions& options) {
  return tenon::max_unpool3d(input, indices, unpooled_size(input, options), options.stride(),
                             options.padding());
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(
    const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  const std::vector<int64_t> size = fractional_size(input, options);
  return tenon::fractional_max_pool2d(input, options.kernel_size(), size,
                                      samples_of(input, options));
}

std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(
    const Tensor& input, const FractionalMaxPool3dFuncOptions& options) {
  const std::vector<int64_t> size = fractional_size(input, options);
  return tenon::fractional_max_pool3d(input, options.kernel_size(), size,
                                      samples_of(input, options));
}

Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, options));
}

Tensor fractional_max_pool3d(const Tensor& input, const FractionalMaxPool3dFuncOptions& options) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, options));
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
