// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// pow with a scalar exponent; squares, roots and inverses have kernels of their own.
#include "plugin_cuda/device/pointwise.cuh"
#include "tenon/sdk/ops/pow.h"

namespace tenon::cuda::pw {
namespace {

struct Unary {
  static constexpr int kInputs = 1, kParams = 0;
  static constexpr bool kMask = false, kOutBool = false;
  static constexpr Guard kGuard = Guard::None;
};
struct Same : Unary {
  template <class T, class P>
  static TN_HD T apply(T a, const P&) {
    return a;
  }
};
struct Square : Unary {
  template <class T, class P>
  static TN_HD T apply(T a, const P&) {
    return static_cast<T>(a * a);
  }
};
struct Root : Unary {
  template <class T, class P>
  static TN_HD T apply(T a, const P&) {
    return sdk::math::sqrt(a);
  }
};
struct InverseRoot : Unary {
  template <class T, class P>
  static TN_HD T apply(T a, const P&) {
    return T(1) / sdk::math::sqrt(a);
  }
};
struct Inverse : Unary {
  template <class T, class P>
  static TN_HD T apply(T a, const P&) {
    return T(1) / a;
  }
};
struct Power : Unary {
  static constexpr int kParams = 1;
  template <class T, class P>
  static TN_HD T apply(T a, const P& p) {
    return sdk::math::pow(a, p[0]);
  }
};

tn_status pow_scalar(sdk::Call& call, Tensor out, Tensor self, Scalar exponent) {
  const double e = exponent.to<double>();
  if (e == 1) return run<Same>(call, All{}, out, {self}, {});
  if (e == 2) return run<Square>(call, Number{}, out, {self}, {});
  if (sdk::is_floating(self.dtype())) {
    if (e == 0.5) return run<Root>(call, Floating{}, out, {self}, {});
    if (e == -0.5) return run<InverseRoot>(call, Floating{}, out, {self}, {});
    if (e == -1) return run<Inverse>(call, Floating{}, out, {self}, {});
  }
  return run<Power>(call, All{}, out, {self}, {exponent});
}

}  // namespace

TN_KERNEL(pow_Tensor_Scalar, pow_scalar,
          dtypes("all").any_strides().broadcasts().inplace("0=0").capture_safe());

}  // namespace tenon::cuda::pw
