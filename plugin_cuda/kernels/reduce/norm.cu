// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Vector norms.
#include <cmath>
#include <limits>

#include "plugin_cuda/device/reduce.cuh"
#include "tenon/sdk/ops/norm.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

enum class Norm { Zero, One, Two, Max, Min, Any };

// In double: the square of a float does not overflow there.
struct Magnitude {
  using Acc = double;
  Norm kind;
  double p;
  TN_DEVICE double identity(double) const {
    return kind == Norm::Min ? std::numeric_limits<double>::infinity() : 0;
  }
  TN_DEVICE double reduce(double a, double v, int64_t, double) const {
    const double x = std::fabs(v);
    switch (kind) {
      case Norm::Zero:
        return a + (x != 0);
      case Norm::One:
        return a + x;
      case Norm::Two:
        return a + x * x;
      case Norm::Any:
        return a + std::pow(x, p);
      default:
        return combine(a, x);
    }
  }
  TN_DEVICE double combine(double a, double b) const {
    if (kind == Norm::Max) return a > b || a != a ? a : b;
    if (kind == Norm::Min) return a < b || a != a ? a : b;
    return a + b;
  }
  TN_DEVICE void store(double a, double, int64_t, const Place& place) const {
    const double r = kind == Norm::Two ? std::sqrt(a) : kind == Norm::Any ? std::pow(a, 1 / p) : a;
    cuda::store(place.at[0], place.code[0], r);
  }
};

tn_status norm(Call& call, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool) {
  const double power = p ? p->to<double>() : 2.0;
  Norm kind = Norm::Any;
  if (power == 0) kind = Norm::Zero;
  if (power == 1) kind = Norm::One;
  if (power == 2) kind = Norm::Two;
  if (std::isinf(power)) kind = power > 0 ? Norm::Max : Norm::Min;
  return reduce<double>(call, &out, 1, self, dim_mask(dim, self.ndim()), Magnitude{kind, power});
}

}  // namespace

TN_KERNEL(norm_ScalarOpt_dim, norm,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
