// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Variance and mean in one pass.
#include "plugin_cuda/device/reduce.cuh"
#include "tenon/sdk/ops/var.h"
#include "tenon/sdk/ops/var_mean.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

struct Moments {
  double sum, squares;
};

// Sums of differences from the first element of the row, in double: a mean far from zero costs no
// precision.
struct Variance {
  using Acc = Moments;
  double correction;
  bool with_mean;
  TN_DEVICE Moments identity(double) const { return {0, 0}; }
  TN_DEVICE Moments reduce(Moments a, double v, int64_t, double first) const {
    const double d = v - first;
    return {a.sum + d, a.squares + d * d};
  }
  TN_DEVICE Moments combine(const Moments& a, const Moments& b) const {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  TN_DEVICE void store(const Moments& a, double first, int64_t count, const Place& p) const {
    const double n = static_cast<double>(count), mean = a.sum / n, free = n - correction;
    double squares = a.squares - a.sum * mean;
    if (squares < 0) squares = 0;
    cuda::store(p.at[0], p.code[0], squares / (free > 0 ? free : 0.0));
    if (with_mean) cuda::store(p.at[1], p.code[1], first + mean);
  }
};

double correction_of(const std::optional<Scalar>& c) { return c ? c->to<double>() : 1.0; }

tn_status var_mean(Call& call, Tensor var, Tensor mean, Tensor self, std::optional<Ints> dim,
                   std::optional<Scalar> correction, bool) {
  const Tensor results[2] = {var, mean};
  return reduce<double>(call, results, 2, self, dim_mask(dim, self.ndim()),
                        Variance{correction_of(correction), true});
}
tn_status var(Call& call, Tensor out, Tensor self, std::optional<Ints> dim,
              std::optional<Scalar> correction, bool) {
  return reduce<double>(call, &out, 1, self, dim_mask(dim, self.ndim()),
                        Variance{correction_of(correction), false});
}

}  // namespace

TN_KERNEL(var_correction, var,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(var_mean_correction, var_mean,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
