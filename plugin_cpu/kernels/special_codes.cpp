// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The special functions that have codes (tenon/sdk/special_codes.h): one loop per dtype for all of
// them. Overwritten: the outputs, which may be operands.
#include "tenon/sdk/special_codes.h"

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/special_airy_ai.h"
#include "tenon/sdk/ops/special_bessel_j0.h"
#include "tenon/sdk/ops/special_bessel_j1.h"
#include "tenon/sdk/ops/special_bessel_y0.h"
#include "tenon/sdk/ops/special_bessel_y1.h"
#include "tenon/sdk/ops/special_chebyshev_polynomial_t.h"
#include "tenon/sdk/ops/special_chebyshev_polynomial_u.h"
#include "tenon/sdk/ops/special_chebyshev_polynomial_v.h"
#include "tenon/sdk/ops/special_chebyshev_polynomial_w.h"
#include "tenon/sdk/ops/special_entr.h"
#include "tenon/sdk/ops/special_erfcx.h"
#include "tenon/sdk/ops/special_hermite_polynomial_h.h"
#include "tenon/sdk/ops/special_hermite_polynomial_he.h"
#include "tenon/sdk/ops/special_i0e.h"
#include "tenon/sdk/ops/special_i1.h"
#include "tenon/sdk/ops/special_i1e.h"
#include "tenon/sdk/ops/special_laguerre_polynomial_l.h"
#include "tenon/sdk/ops/special_legendre_polynomial_p.h"
#include "tenon/sdk/ops/special_log_ndtr.h"
#include "tenon/sdk/ops/special_modified_bessel_k0.h"
#include "tenon/sdk/ops/special_modified_bessel_k1.h"
#include "tenon/sdk/ops/special_ndtri.h"
#include "tenon/sdk/ops/special_scaled_modified_bessel_k0.h"
#include "tenon/sdk/ops/special_scaled_modified_bessel_k1.h"
#include "tenon/sdk/ops/special_shifted_chebyshev_polynomial_t.h"
#include "tenon/sdk/ops/special_shifted_chebyshev_polynomial_u.h"
#include "tenon/sdk/ops/special_shifted_chebyshev_polynomial_v.h"
#include "tenon/sdk/ops/special_shifted_chebyshev_polynomial_w.h"
#include "tenon/sdk/ops/special_spherical_bessel_j0.h"
#include "tenon/sdk/ops/special_xlog1py.h"
#include "tenon/sdk/ops/special_zeta.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr int64_t kGrain = 512;

template <class T>
T narrow(double v) {
  return static_cast<T>(static_cast<compute_t<T>>(v));
}

tn_status compute(int64_t code, const Tensor& out, const Tensor& self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = narrow<T>(math::special_unary(code, static_cast<double>(in[i])));
    });
  });
  return TN_OK;
}

// An operand: a tensor, or a number in place of each element.
struct Operand {
  const char* data = nullptr;
  double number = 0;
  Operand(const Tensor& t) : data(t.data<char>()) {}
  Operand(const Scalar& s) : number(s.to<double>()) {}
  template <class T>
  double at(int64_t i) const {
    return data ? static_cast<double>(reinterpret_cast<const T*>(data)[i]) : number;
  }
};

tn_status compute(int64_t code, const Tensor& out, const Operand& a, const Operand& b) {
  dispatch_floating(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    T* to = out.data<T>();
    parallel_for(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = narrow<T>(math::special_binary(code, a.at<T>(i), b.at<T>(i)));
    });
  });
  return TN_OK;
}

template <int64_t code>
tn_status unary(Call&, Tensor out, Tensor self) {
  return compute(code, out, self);
}
template <int64_t code>
tn_status tensors(Call&, Tensor out, Tensor a, Tensor b) {
  return compute(code, out, a, b);
}
template <int64_t code>
tn_status number_first(Call&, Tensor out, Scalar a, Tensor b) {
  return compute(code, out, a, b);
}
template <int64_t code>
tn_status number_last(Call&, Tensor out, Tensor a, Scalar b) {
  return compute(code, out, a, b);
}

}  // namespace

#define UNARY(name, code) \
  TN_KERNEL(special_##name, unary<TN_UNARY_##code>, dtypes("floating").inplace("0=0"));
#define BINARY(name, code, first, last)                                                        \
  TN_KERNEL(special_##name, tensors<TN_BINARY_##code>, dtypes("floating").inplace("0=0,0=1")); \
  TN_KERNEL(special_##name##_##first, number_first<TN_BINARY_##code>,                          \
            dtypes("floating").inplace("0=1"));                                                \
  TN_KERNEL(special_##name##_##last, number_last<TN_BINARY_##code>,                            \
            dtypes("floating").inplace("0=0"));

UNARY(erfcx, ERFCX)
UNARY(entr, ENTR)
UNARY(log_ndtr, LOG_NDTR)
UNARY(ndtri, NDTRI)
UNARY(i0e, I0E)
UNARY(i1, I1)
UNARY(i1e, I1E)
UNARY(modified_bessel_k0, MODIFIED_BESSEL_K0)
UNARY(modified_bessel_k1, MODIFIED_BESSEL_K1)
UNARY(scaled_modified_bessel_k0, SCALED_MODIFIED_BESSEL_K0)
UNARY(scaled_modified_bessel_k1, SCALED_MODIFIED_BESSEL_K1)
UNARY(bessel_j0, BESSEL_J0)
UNARY(bessel_j1, BESSEL_J1)
UNARY(bessel_y0, BESSEL_Y0)
UNARY(bessel_y1, BESSEL_Y1)
UNARY(spherical_bessel_j0, SPHERICAL_BESSEL_J0)
UNARY(airy_ai, AIRY_AI)

BINARY(xlog1py, XLOG1PY, self_scalar, other_scalar)
BINARY(zeta, ZETA, self_scalar, other_scalar)
BINARY(chebyshev_polynomial_t, CHEBYSHEV_POLYNOMIAL_T, x_scalar, n_scalar)
BINARY(chebyshev_polynomial_u, CHEBYSHEV_POLYNOMIAL_U, x_scalar, n_scalar)
BINARY(chebyshev_polynomial_v, CHEBYSHEV_POLYNOMIAL_V, x_scalar, n_scalar)
BINARY(chebyshev_polynomial_w, CHEBYSHEV_POLYNOMIAL_W, x_scalar, n_scalar)
BINARY(shifted_chebyshev_polynomial_t, SHIFTED_CHEBYSHEV_POLYNOMIAL_T, x_scalar, n_scalar)
BINARY(shifted_chebyshev_polynomial_u, SHIFTED_CHEBYSHEV_POLYNOMIAL_U, x_scalar, n_scalar)
BINARY(shifted_chebyshev_polynomial_v, SHIFTED_CHEBYSHEV_POLYNOMIAL_V, x_scalar, n_scalar)
BINARY(shifted_chebyshev_polynomial_w, SHIFTED_CHEBYSHEV_POLYNOMIAL_W, x_scalar, n_scalar)
BINARY(hermite_polynomial_h, HERMITE_POLYNOMIAL_H, x_scalar, n_scalar)
BINARY(hermite_polynomial_he, HERMITE_POLYNOMIAL_HE, x_scalar, n_scalar)
BINARY(laguerre_polynomial_l, LAGUERRE_POLYNOMIAL_L, x_scalar, n_scalar)
BINARY(legendre_polynomial_p, LEGENDRE_POLYNOMIAL_P, x_scalar, n_scalar)

}  // namespace tenon::cpu
