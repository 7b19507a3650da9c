// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_unary: Y is X, or boolean for the codes from 64 on.
typedef COMPUTE(X) C;

#if KIND(X) == 3
#ifdef FP64
// Winitzki's closed form (2008), then Halley steps.
C erfinv(C a) {
  const double x = a, size = fabs(x);
  if (!(size < 1)) return size == 1 ? a * (C)INFINITY : (C)NAN;
  const double w = -log1p(-size * size), k = 2 / (M_PI * 0.147) - 0.5 * w;
  double y = w < 1e-3 ? size * 0.886226925452758 : sqrt(sqrt(k * k + w / 0.147) - k);
  for (int i = 0; i < 4; ++i) {
    const double e = y < 0.5 ? erf(y) - size : (1 - size) - erfc(y);
    const double u = e / (M_2_SQRTPI * exp(-y * y));
    y -= u / (1 + y * u);
  }
  return (C)copysign(y, x);
}

// Reflection for negative numbers, recurrence up to 10, then the asymptotic series.
C digamma(C a) {
  double x = a, r = 0;
  if (x == 0) return copysign((C)INFINITY, -a);
  if (x < 0) {
    if (x == floor(x)) return (C)NAN;
    r = -M_PI / tan(M_PI * (x - floor(x)));
    x = 1 - x;
  }
  while (x < 10) {
    r -= 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return (C)(r + log(x) - 0.5 / x - tail);
}

// The power series below 20, where all terms are positive, then Hankel's.
C bessel_i0(C a) {
  const double x = fabs((double)a);
  double sum = 1, term = 1;
  if (x < 20) {
    const double q = x * x / 4;
    for (int k = 1; k < 200 && term > sum * 1e-17; ++k) sum += term *= q / ((double)k * k);
    return (C)sum;
  }
  for (int k = 1; k < 20; ++k) sum += term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
  return (C)(exp(x) / sqrt(2 * M_PI * x) * sum);
}
#else
#define erfinv(a) ((C)NAN)
#define digamma(a) ((C)NAN)
#define bessel_i0(a) ((C)NAN)
#endif

C unary(C a) {
  switch (CODE) {
    case 0: return -a;
    case 1: return fabs(a);
    case 2: return (C)(a > 0) - (C)(a < 0);
    case 3: return floor(a);
    case 4: return ceil(a);
    case 5: return rint(a);
    case 6: return trunc(a);
    case 8: return sqrt(a);
    case 9: return 1 / sqrt(a);
    case 10: return 1 / a;
    case 11: return exp(a);
    case 12: return exp2(a);
    case 13: return expm1(a);
    case 14: return log(a);
    case 15: return log2(a);
    case 16: return log10(a);
    case 17: return log1p(a);
    case 18: return sin(a);
    case 19: return cos(a);
    case 20: return tan(a);
    case 21: return asin(a);
    case 22: return acos(a);
    case 23: return atan(a);
    case 24: return sinh(a);
    case 25: return cosh(a);
    case 26: return tanh(a);
    case 27: return asinh(a);
    case 28: return acosh(a);
    case 29: return atanh(a);
    case 30: return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
    case 31: return erf(a);
    case 32: return erfc(a);
    case 33: return erfinv(a);
    case 34: return lgamma(a);
    case 35: return digamma(a);
    case 36: return bessel_i0(a);
    case 64: return a == 0;
    case 65: return isnan(a);
    case 66: return isinf(a);
    case 67: return isfinite(a);
    default: return signbit(a) != 0;
  }
}
#else
C unary(C a) {
  switch (CODE) {
    case 0: return -a;
    case 1: return a < 0 ? -a : a;
    case 2: return (a > 0) - (a < 0);
    case 7: return KIND(X) == 0 ? !a : (C)~a;
    case 64: return a == 0;
    case 65:
    case 66: return 0;
    case 67: return 1;
    case 68: return a < 0;
    default: return a;  // rounding of integers
  }
}
#endif

__kernel void unary_of(Grid g, __global char* y, __global const char* x) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[2];
  locate(&g, i, 2, at);
  STORE(Y, AT(Y, y, 0), at[0], unary(LOAD(X, AT(X, x, 1), at[1])));
}
