// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// igamma, igammac, polygamma and frexp.
#include "plugin_cuda/device/pointwise.cuh"
#include "tenon/sdk/ops/frexp.h"
#include "tenon/sdk/ops/igamma.h"
#include "tenon/sdk/ops/igammac.h"
#include "tenon/sdk/ops/polygamma.h"
#include "tenon/sdk/special.h"

namespace tenon::cuda::pw {
namespace {

template <int kIn, int kScalars>
struct Plain {
  static constexpr int kInputs = kIn, kParams = kScalars;
  static constexpr bool kMask = false, kOutBool = false;
  static constexpr Guard kGuard = Guard::None;
};
template <bool kUpper>
struct IncompleteGamma : Plain<2, 0> {
  template <class T, class P>
  static TN_HD T apply(T a, T x, const P&) {
    const double epsilon = std::is_same_v<T, double> ? 1e-16 : 1e-10;
    return static_cast<T>(sdk::math::incomplete_gamma(static_cast<double>(a),
                                                      static_cast<double>(x), kUpper, epsilon));
  }
};
struct Polygamma : Plain<1, 1> {
  template <class T, class P>
  static TN_HD T apply(T x, const P& p) {
    return static_cast<T>(sdk::math::polygamma(static_cast<int64_t>(p[0]), x));
  }
};

template <bool kUpper>
tn_status incomplete_gamma(sdk::Call& call, Tensor out, Tensor self, Tensor other) {
  return run<IncompleteGamma<kUpper>>(call, Floating{}, out, {self, other}, {});
}
tn_status polygamma(sdk::Call& call, Tensor out, int64_t n, Tensor self) {
  if (n > 1 << 24) return TN_DECLINED;  // float cannot represent it
  return run<Polygamma>(call, Floating{}, out, {self}, {n});
}

template <class C>
__global__ void split(char* mantissa, int32_t* exponent, const char* in, Code code, int64_t n) {
  const int64_t item = code_bytes(code);
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const C v = load<C>(in + i * item, code);
    int e = 0;
    const C m = v - v == C(0) ? std::frexp(v, &e) : v;
    store(mantissa + i * item, code, m);
    exponent[i] = e;
  }
}
tn_status frexp(sdk::Call& call, Tensor mantissa, Tensor exponent, Tensor self) {
  const int64_t n = self.numel();
  if (n == 0) return TN_OK;
  const Code code = code_of(self.dtype());
  if (code == Code::F64) {
    launch<split<double>>(call, shape_for(call, n), mantissa.data<char>(), exponent.data<int32_t>(),
                          self.data<char>(), code, n);
  } else {
    launch<split<float>>(call, shape_for(call, n), mantissa.data<char>(), exponent.data<int32_t>(),
                         self.data<char>(), code, n);
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(igamma, incomplete_gamma<false>,
          dtypes("floating").any_strides().broadcasts().inplace("0=0,0=1").capture_safe());
TN_KERNEL(igammac, incomplete_gamma<true>,
          dtypes("floating").any_strides().broadcasts().inplace("0=0,0=1").capture_safe());
TN_KERNEL(polygamma, polygamma,
          dtypes("floating").any_strides().broadcasts().inplace("0=1").capture_safe());
TN_KERNEL(frexp_Tensor, frexp, dtypes("floating").capture_safe());

}  // namespace tenon::cuda::pw
