// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Resampling with Lanczos' window: a product with a matrix of weights for each direction.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/core/sizes.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

double sinc_of(double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }
double lanczos(double x) { return x >= -3 && x < 3 ? sinc_of(x) * sinc_of(x / 3) : 0; }

// What each of `in` elements adds to each of `out`: [out, in].
Tensor weights_between(int64_t in, int64_t out, bool align_corners, std::optional<double> factor,
                       const TensorOptions& options) {
  double step = static_cast<double>(in) / static_cast<double>(out);
  if (align_corners)
    step = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  else if (factor && *factor > 0)
    step = 1 / *factor;
  const double reach = 3 * std::max(step, 1.0), squeeze = 1 / std::max(step, 1.0);
  std::vector<double> w(static_cast<std::size_t>(in * out), 0);
  for (int64_t i = 0; i < out; ++i) {
    const double center = step * (static_cast<double>(i) + 0.5);
    // Towards zero, as libtorch rounds: a negative bound is 0 in either case.
    const auto first = std::max<int64_t>(static_cast<int64_t>(std::trunc(center - reach + 0.5)), 0),
               end = std::min<int64_t>(static_cast<int64_t>(std::trunc(center + reach + 0.5)), in);
    double* row = w.data() + i * in;
    double sum = 0;
    for (int64_t j = first; j < end; ++j)
      sum += row[j] = lanczos((static_cast<double>(j) - center + 0.5) * squeeze);
    for (int64_t j = first; j < end && sum != 0; ++j) row[j] /= sum;
  }
  return tenon::tensor(w, TensorOptions(kDouble)).view({out, in}).to(options);
}

struct Weights {
  Tensor rows, columns;
};
Weights weights_of(IntArrayRef in, IntArrayRef out, bool align_corners,
                   std::optional<double> scales_h, std::optional<double> scales_w,
                   const TensorOptions& options) {
  for (const int64_t n : {in[2], in[3], out[0], out[1]})
    TENON_CHECK(n > 0, ValueError,
                "_upsample_lanczos2d_aa: Input and output sizes should be greater than 0, but got "
                "input ",
                in, " and output ", out);
  const int64_t most = (core::Size(in[2]) * out[0] + core::Size(in[3]) * out[1])
                           .get("_upsample_lanczos2d_aa", "the number of weights");
  core::check_room("_upsample_lanczos2d_aa", "weights", most, sizeof(double));
  return {weights_between(in[2], out[0], align_corners, scales_h, options),
          weights_between(in[3], out[1], align_corners, scales_w, options)};
}

}  // namespace

Tensor _upsample_lanczos2d_aa(const Tensor& self, IntArrayRef output_size, bool align_corners,
                              std::optional<double> scales_h, std::optional<double> scales_w) {
  TENON_CHECK(self.dim() == 4, ValueError,
              "_upsample_lanczos2d_aa: It is expected input_size equals to 4, but got size ",
              self.dim());
  const Tensor x = wide(self);
  const Weights w = weights_of(self.sizes(), output_size, align_corners, scales_h, scales_w,
                               x.options().requires_grad(false));
  return rounded(tenon::matmul(w.rows, tenon::matmul(x, w.columns.t())), self);
}
Tensor _upsample_lanczos2d_aa_vec(const Tensor& input, OptionalIntArrayRef output_size,
                                  bool align_corners, std::optional<ArrayRef<double>> factors) {
  TENON_CHECK(output_size.has_value() != factors.has_value(), ValueError,
              "_upsample_lanczos2d_aa: Must specify exactly one of output_size and scale_factors");
  if (output_size) return tenon::_upsample_lanczos2d_aa(input, *output_size, align_corners);
  TENON_CHECK(factors->size() == 2 && input.dim() == 4, ValueError,
              "_upsample_lanczos2d_aa: expected 2 scale_factors and 4 dimensions");
  std::vector<int64_t> size;
  for (int64_t d = 0; d < 2; ++d)
    size.push_back(static_cast<int64_t>(static_cast<double>(input.size(d + 2)) *
                                        (*factors)[static_cast<std::size_t>(d)]));
  return tenon::_upsample_lanczos2d_aa(input, size, align_corners, (*factors)[0], (*factors)[1]);
}
Tensor _upsample_lanczos2d_aa_backward(const Tensor& grad, IntArrayRef output_size,
                                       IntArrayRef input_size, bool align_corners,
                                       std::optional<double> scales_h,
                                       std::optional<double> scales_w) {
  TENON_CHECK(input_size.size() == 4 && grad.dim() == 4, ValueError,
              "_upsample_lanczos2d_aa_backward: expected 4 sizes and dimensions");
  const Tensor g = wide(grad);
  const Weights w = weights_of(input_size, output_size, align_corners, scales_h, scales_w,
                               g.options().requires_grad(false));
  return rounded(tenon::matmul(w.rows.t(), tenon::matmul(g, w.columns)), grad);
}

}  // namespace tenon::composite
