// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sum, mean, prod, any, all, norms and variances. 16-bit floats accumulate in float32, integers in
// int64.
#include "plugin_cuda/device/reduce.cuh"

#include <cmath>
#include <limits>

#include "plugin_cuda/device/primitives.cuh"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/all.h"
#include "tenon/sdk/ops/any.h"
#include "tenon/sdk/ops/mean.h"
#include "tenon/sdk/ops/norm.h"
#include "tenon/sdk/ops/prod.h"
#include "tenon/sdk/ops/sum.h"
#include "tenon/sdk/ops/var.h"
#include "tenon/sdk/ops/var_mean.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class C>
struct Sum {
  using Acc = C;
  bool mean;
  TN_DEVICE C identity(C) const { return C(0); }
  TN_DEVICE C reduce(C a, C v, int64_t, C) const { return a + v; }
  TN_DEVICE C combine(C a, C b) const { return a + b; }
  TN_DEVICE void store(C a, C, int64_t n, const Place& p) const {
    cuda::store(p.at[0], p.code[0], mean ? a / static_cast<C>(n) : a);
  }
};

template <class C>
struct Product {
  using Acc = C;
  TN_DEVICE C identity(C) const { return C(1); }
  TN_DEVICE C reduce(C a, C v, int64_t, C) const { return a * v; }
  TN_DEVICE C combine(C a, C b) const { return a * b; }
  TN_DEVICE void store(C a, C, int64_t, const Place& p) const {
    cuda::store(p.at[0], p.code[0], a);
  }
};

// all(x) = !any(!x)
template <class C>
struct AnyOf {
  using Acc = int32_t;
  bool opposite;
  TN_DEVICE int32_t identity(C) const { return 0; }
  TN_DEVICE int32_t reduce(int32_t a, C v, int64_t, C) const {
    return a | ((v != C(0)) != opposite);
  }
  TN_DEVICE int32_t combine(int32_t a, int32_t b) const { return a | b; }
  TN_DEVICE void store(int32_t a, C, int64_t, const Place& p) const {
    write<uint8_t>(p.at[0], (a != 0) != opposite);
  }
};

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

template <template <class> class Op, class... P>
tn_status reduce_with(const Call& call, const Tensor& out, const Tensor& self, uint64_t mask,
                      P... p) {
  tn_status status = TN_OK;
  with_compute(self.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    status = reduce<C>(call, &out, 1, self, mask, Op<C>{p...});
  });
  return status;
}

uint64_t mask_of(const std::optional<Ints>& dims, const Tensor& self) {
  return dim_mask(dims, self.ndim());
}
uint64_t mask_of(int64_t dim, const Tensor& self) { return mask_of(Ints(&dim, 1), self); }

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool,
              std::optional<DType>) {
  return reduce_with<Sum>(call, out, self, mask_of(dim, self), false);
}
tn_status mean(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool,
               std::optional<DType>) {
  return reduce_with<Sum>(call, out, self, mask_of(dim, self), true);
}
tn_status prod(Call& call, Tensor out, Tensor self, std::optional<DType>) {
  return reduce_with<Product>(call, out, self, mask_of(std::nullopt, self));
}
tn_status prod_dim(Call& call, Tensor out, Tensor self, int64_t dim, bool, std::optional<DType>) {
  return reduce_with<Product>(call, out, self, mask_of(dim, self));
}

template <bool kAny>
tn_status reduce_all(Call& call, Tensor out, Tensor self) {
  return reduce_with<AnyOf>(call, out, self, mask_of(std::nullopt, self), !kAny);
}
template <bool kAny>
tn_status reduce_dim(Call& call, Tensor out, Tensor self, int64_t dim, bool) {
  return reduce_with<AnyOf>(call, out, self, mask_of(dim, self), !kAny);
}
template <bool kAny>
tn_status reduce_dims(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool) {
  // An empty list reduces no dimension: each element is tested.
  return reduce_with<AnyOf>(call, out, self, dim && dim->empty() ? 0 : mask_of(dim, self), !kAny);
}

tn_status norm(Call& call, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool) {
  const double power = p ? p->to<double>() : 2.0;
  Norm kind = Norm::Any;
  if (power == 0) kind = Norm::Zero;
  if (power == 1) kind = Norm::One;
  if (power == 2) kind = Norm::Two;
  if (std::isinf(power)) kind = power > 0 ? Norm::Max : Norm::Min;
  return reduce<double>(call, &out, 1, self, mask_of(dim, self), Magnitude{kind, power});
}

double correction_of(const std::optional<Scalar>& c) { return c ? c->to<double>() : 1.0; }

tn_status var_mean(Call& call, Tensor var, Tensor mean, Tensor self, std::optional<Ints> dim,
                   std::optional<Scalar> correction, bool) {
  const Tensor results[2] = {var, mean};
  return reduce<double>(call, results, 2, self, mask_of(dim, self),
                        Variance{correction_of(correction), true});
}
tn_status var(Call& call, Tensor out, Tensor self, std::optional<Ints> dim,
              std::optional<Scalar> correction, bool) {
  return reduce<double>(call, &out, 1, self, mask_of(dim, self),
                        Variance{correction_of(correction), false});
}

}  // namespace

tn_status reduce_values(const Call& call, const Tensor& out, const Tensor& self, int64_t dim,
                        int64_t code) {
  const uint64_t mask = mask_of(dim, self);
  switch (code) {
    case TN_REDUCE_SUM:
      return reduce_with<Sum>(call, out, self, mask, false);
    case TN_REDUCE_PROD:
      return reduce_with<Product>(call, out, self, mask);
    case TN_REDUCE_ANY:
    case TN_REDUCE_ALL:
      return reduce_with<AnyOf>(call, out, self, mask, code == TN_REDUCE_ALL);
    default:
      return TN_DECLINED;
  }
}

TN_KERNEL(sum_dim_IntList, sum,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(mean_dim, mean,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(prod, prod, dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(prod_dim_int, prod_dim,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(any, reduce_all<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(any_dim, reduce_dim<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(any_dims, reduce_dims<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all, reduce_all<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all_dim, reduce_dim<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all_dims, reduce_dims<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(norm_ScalarOpt_dim, norm,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(var_correction, var,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(var_mean_correction, var_mean,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
