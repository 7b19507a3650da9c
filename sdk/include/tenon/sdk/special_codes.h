// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The special functions by their codes of tenon/abi/primitives.h, computed in double on host and
// device. A kernel for several of them is one switch.
#pragma once

#include "tenon/abi/primitives.h"
#include "tenon/sdk/bessel.h"
#include "tenon/sdk/polynomials.h"
#include "tenon/sdk/special.h"

namespace tenon::sdk::math {

TN_HD inline bool is_special_unary(int64_t code) {
  return code > TN_UNARY_I0 && code <= TN_UNARY_AIRY_AI;
}
TN_HD inline bool is_special_binary(int64_t code) {
  return code > TN_BINARY_SHIFT_RIGHT && code <= TN_BINARY_LEGENDRE_POLYNOMIAL_P;
}

// Of a code for which is_special_unary holds.
TN_HD inline double special_unary(int64_t code, double x) {
  switch (code) {
    case TN_UNARY_ERFCX:
      return erfcx(x);
    case TN_UNARY_ENTR:
      return entr(x);
    case TN_UNARY_LOG_NDTR:
      return log_ndtr(x);
    case TN_UNARY_NDTRI:
      return ndtri(x);
    case TN_UNARY_I0E:
      return i0e(x);
    case TN_UNARY_I1:
      return i1(x);
    case TN_UNARY_I1E:
      return i1e(x);
    case TN_UNARY_MODIFIED_BESSEL_K0:
      return modified_bessel_k0(x);
    case TN_UNARY_MODIFIED_BESSEL_K1:
      return modified_bessel_k1(x);
    case TN_UNARY_SCALED_MODIFIED_BESSEL_K0:
      return scaled_modified_bessel_k0(x);
    case TN_UNARY_SCALED_MODIFIED_BESSEL_K1:
      return scaled_modified_bessel_k1(x);
    case TN_UNARY_BESSEL_J0:
      return bessel_j0(x);
    case TN_UNARY_BESSEL_J1:
      return bessel_j1(x);
    case TN_UNARY_BESSEL_Y0:
      return bessel_y0(x);
    case TN_UNARY_BESSEL_Y1:
      return bessel_y1(x);
    case TN_UNARY_SPHERICAL_BESSEL_J0:
      return spherical_bessel_j0(x);
    default:
      return airy_ai(x);
  }
}

// Of a code for which is_special_binary holds.
TN_HD inline double special_binary(int64_t code, double a, double b) {
  switch (code) {
    case TN_BINARY_XLOG1PY:
      return xlog1py(a, b);
    case TN_BINARY_ZETA:
      return zeta(a, b);
    case TN_BINARY_CHEBYSHEV_POLYNOMIAL_T:
      return chebyshev_polynomial('T', a, b);
    case TN_BINARY_CHEBYSHEV_POLYNOMIAL_U:
      return chebyshev_polynomial('U', a, b);
    case TN_BINARY_CHEBYSHEV_POLYNOMIAL_V:
      return chebyshev_polynomial('V', a, b);
    case TN_BINARY_CHEBYSHEV_POLYNOMIAL_W:
      return chebyshev_polynomial('W', a, b);
    case TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_T:
      return shifted_chebyshev_polynomial('T', a, b);
    case TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_U:
      return shifted_chebyshev_polynomial('U', a, b);
    case TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_V:
      return shifted_chebyshev_polynomial('V', a, b);
    case TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_W:
      return shifted_chebyshev_polynomial('W', a, b);
    case TN_BINARY_HERMITE_POLYNOMIAL_H:
      return hermite_polynomial(2, a, b);
    case TN_BINARY_HERMITE_POLYNOMIAL_HE:
      return hermite_polynomial(1, a, b);
    case TN_BINARY_LAGUERRE_POLYNOMIAL_L:
      return laguerre_polynomial(a, b);
    default:
      return legendre_polynomial(a, b);
  }
}

}  // namespace tenon::sdk::math
