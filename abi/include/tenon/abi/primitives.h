/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The codes of the primitive operators (ops/primitive.ops). A device with kernels for the thirteen
 * primitives
 *
 *   fill.Scalar  copy  where.self  gather  bmm  arange.start_step
 *   prim_unary  prim_binary  prim_reduce  prim_scan  prim_scatter  prim_argsort  prim_philox
 *
 * serves every operator that is decomposed into them. Codes are fixed and new ones are only added
 * at the end of a list: a kernel declines (TN_DECLINED) a code that it does not know, and core then
 * computes that call on the host.
 *
 * Float16 and bfloat16 are computed in float32 and rounded once. Sums and products of them, scans
 * included, accumulate in float32. Integers wrap. An index outside of its dimension is an error
 * (TN_ERROR_INDEX). */
#ifndef TENON_ABI_PRIMITIVES_H_
#define TENON_ABI_PRIMITIVES_H_

/* prim_unary(self, code). The result has self's dtype, from TN_UNARY_LOGICAL_NOT on bool. */
enum {
  TN_UNARY_NEG = 0, /* not of bool, as SUB */
  TN_UNARY_ABS = 1,
  TN_UNARY_SIGN = 2,  /* -1, 0 or 1; 0 for NaN */
  TN_UNARY_FLOOR = 3, /* returns integers unchanged, as all up to TRUNC */
  TN_UNARY_CEIL = 4,
  TN_UNARY_ROUND = 5, /* halves to even */
  TN_UNARY_TRUNC = 6,
  TN_UNARY_BITWISE_NOT = 7, /* integers; of bool the logical one */
  TN_UNARY_SQRT = 8,        /* floating dtypes only, as all up to AIRY_AI */
  TN_UNARY_RSQRT = 9,
  TN_UNARY_RECIPROCAL = 10,
  TN_UNARY_EXP = 11,
  TN_UNARY_EXP2 = 12,
  TN_UNARY_EXPM1 = 13,
  TN_UNARY_LOG = 14,
  TN_UNARY_LOG2 = 15,
  TN_UNARY_LOG10 = 16,
  TN_UNARY_LOG1P = 17,
  TN_UNARY_SIN = 18,
  TN_UNARY_COS = 19,
  TN_UNARY_TAN = 20,
  TN_UNARY_ASIN = 21,
  TN_UNARY_ACOS = 22,
  TN_UNARY_ATAN = 23,
  TN_UNARY_SINH = 24,
  TN_UNARY_COSH = 25,
  TN_UNARY_TANH = 26,
  TN_UNARY_ASINH = 27,
  TN_UNARY_ACOSH = 28,
  TN_UNARY_ATANH = 29,
  TN_UNARY_SIGMOID = 30, /* 1 / (1 + e^-x) without overflow */
  TN_UNARY_ERF = 31,
  TN_UNARY_ERFC = 32,
  TN_UNARY_ERFINV = 33,
  TN_UNARY_LGAMMA = 34, /* log |gamma(x)| */
  TN_UNARY_DIGAMMA = 35,
  TN_UNARY_I0 = 36,                 /* the modified Bessel function of order 0 */
  TN_UNARY_ERFCX = 37,              /* e^(x^2) erfc(x) */
  TN_UNARY_ENTR = 38,               /* -x log x; 0 at 0, minus infinity below */
  TN_UNARY_LOG_NDTR = 39,           /* the logarithm of the standard normal distribution function */
  TN_UNARY_NDTRI = 40,              /* the inverse of that distribution function */
  TN_UNARY_I0E = 41,                /* e^-|x| I0(x) */
  TN_UNARY_I1 = 42,                 /* the modified Bessel function of order 1 */
  TN_UNARY_I1E = 43,                /* e^-|x| I1(x) */
  TN_UNARY_MODIFIED_BESSEL_K0 = 44, /* of the second kind; infinity at 0, NaN below, as K1 */
  TN_UNARY_MODIFIED_BESSEL_K1 = 45,
  TN_UNARY_SCALED_MODIFIED_BESSEL_K0 = 46, /* e^x K0(x) */
  TN_UNARY_SCALED_MODIFIED_BESSEL_K1 = 47, /* e^x K1(x) */
  TN_UNARY_BESSEL_J0 = 48,                 /* NaN at infinity, as up to Y1 */
  TN_UNARY_BESSEL_J1 = 49,
  TN_UNARY_BESSEL_Y0 = 50, /* minus infinity at 0, NaN below, as Y1 */
  TN_UNARY_BESSEL_Y1 = 51,
  TN_UNARY_SPHERICAL_BESSEL_J0 = 52, /* sin(x) / x; 1 at 0 */
  TN_UNARY_AIRY_AI = 53,             /* NaN at infinity */
  TN_UNARY_LOGICAL_NOT = 64,         /* the result is bool, as of all below; x == 0 */
  TN_UNARY_ISNAN = 65,               /* false for integers, as ISINF */
  TN_UNARY_ISINF = 66,
  TN_UNARY_ISFINITE = 67, /* true for integers */
  TN_UNARY_SIGNBIT = 68   /* of floats the bit, -0.0 and NaN included; of integers x < 0 */
};

/* prim_binary(self, other, code). Both have one dtype and one shape, broadcast by strides of 0. The
 * result has that dtype, from TN_BINARY_EQ on bool. Of bool, ADD and MAX are `or`, MUL and MIN are
 * `and`. */
enum {
  TN_BINARY_ADD = 0,
  TN_BINARY_SUB = 1,
  TN_BINARY_MUL = 2,
  TN_BINARY_DIV = 3, /* floating dtypes only */
  /* rounded to zero. Integers, also below: a zero divisor is an error; lowest / -1 wraps */
  TN_BINARY_DIV_TRUNC = 4,
  TN_BINARY_DIV_FLOOR = 5, /* rounded down; of floats from the exact remainder, a / 0 as DIV */
  TN_BINARY_REMAINDER = 6, /* the sign of the divisor */
  TN_BINARY_FMOD = 7,      /* the sign of the dividend */
  TN_BINARY_POW = 8,  /* integers: wraps; a negative exponent gives 0, of 1 and -1 the true power */
  TN_BINARY_MAX = 9,  /* NaN wins */
  TN_BINARY_MIN = 10, /* NaN wins */
  TN_BINARY_FMAX = 11,  /* NaN loses */
  TN_BINARY_FMIN = 12,  /* NaN loses */
  TN_BINARY_ATAN2 = 13, /* floating dtypes only, as all up to XLOGY; self is y */
  TN_BINARY_HYPOT = 14,
  TN_BINARY_NEXTAFTER = 15,
  TN_BINARY_COPYSIGN = 16,
  TN_BINARY_LOGADDEXP = 17,
  TN_BINARY_XLOGY = 18,       /* NaN where other is NaN, else 0 where self is 0 */
  TN_BINARY_GCD = 19,         /* integers, never negative; gcd(0, 0) is 0 */
  TN_BINARY_BITWISE_AND = 20, /* integers and bool */
  TN_BINARY_BITWISE_OR = 21,
  TN_BINARY_BITWISE_XOR = 22,
  /* integers; a count outside of [0, bits) is an error, as SHIFT_RIGHT */
  TN_BINARY_SHIFT_LEFT = 23,
  TN_BINARY_SHIFT_RIGHT = 24, /* keeps the sign */
  /* NaN where other is NaN, else 0 where self is 0. Floating dtypes only, as all up to
     LEGENDRE_POLYNOMIAL_P */
  TN_BINARY_XLOG1PY = 25,
  TN_BINARY_ZETA = 26, /* Hurwitz' zeta(self, other) */
  /* of degree other at self, as all below: a fraction is cut off, a negative degree gives 0 */
  TN_BINARY_CHEBYSHEV_POLYNOMIAL_T = 27,
  TN_BINARY_CHEBYSHEV_POLYNOMIAL_U = 28,
  TN_BINARY_CHEBYSHEV_POLYNOMIAL_V = 29,
  TN_BINARY_CHEBYSHEV_POLYNOMIAL_W = 30,
  TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_T = 31,
  TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_U = 32,
  TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_V = 33,
  TN_BINARY_SHIFTED_CHEBYSHEV_POLYNOMIAL_W = 34,
  TN_BINARY_HERMITE_POLYNOMIAL_H = 35,
  TN_BINARY_HERMITE_POLYNOMIAL_HE = 36,
  TN_BINARY_LAGUERRE_POLYNOMIAL_L = 37,
  TN_BINARY_LEGENDRE_POLYNOMIAL_P = 38,
  TN_BINARY_EQ = 64, /* the result is bool, as of all below; NaN compares false, and true by NE */
  TN_BINARY_NE = 65,
  TN_BINARY_LT = 66,
  TN_BINARY_LE = 67,
  TN_BINARY_GT = 68,
  TN_BINARY_GE = 69,
  TN_BINARY_LOGICAL_AND = 70, /* of x != 0 */
  TN_BINARY_LOGICAL_OR = 71,
  TN_BINARY_LOGICAL_XOR = 72
};

/* prim_reduce(self, dim, code) and, up to MIN, prim_scan(self, dim, code), which includes the
 * element itself. A reduced dimension keeps size 1. The result has self's dtype, ARGMAX and ARGMIN
 * give int64, ANY and ALL bool. Of an empty dimension SUM is 0, PROD 1, ANY false, ALL true; core
 * refuses the others. */
enum {
  TN_REDUCE_SUM = 0,
  TN_REDUCE_PROD = 1,
  TN_REDUCE_MAX = 2, /* NaN wins, as in all up to ARGMIN */
  TN_REDUCE_MIN = 3,
  TN_REDUCE_ARGMAX = 4, /* the first of equal elements */
  TN_REDUCE_ARGMIN = 5,
  TN_REDUCE_ANY = 6, /* of x != 0; NaN is true */
  TN_REDUCE_ALL = 7
};

/* prim_scatter(self, dim, index, src, code): a copy of self in which, as in gather, element [..,
 * index[p], ..] takes src[p]. self and src have one dtype; index is int32 or int64, no larger than
 * src in any dimension nor, but for dim, than self. */
enum {
  TN_SCATTER_SET = 0, /* of elements with one destination any one stays */
  TN_SCATTER_ADD = 1, /* all of them count; of bool `or` */
  TN_SCATTER_MAX = 2, /* NaN wins */
  TN_SCATTER_MIN = 3,
  TN_SCATTER_MUL = 4 /* as ADD */
};

/* prim_argsort(self, descending): int64 positions along the last dimension, stable; NaN counts as
 * the greatest.
 *
 * prim_philox(size, generator): int32, element i of the row-major result is word i of the range
 * that core reserved (tn_generator: lane i % 4 of the Philox 4x32-10 block at counter offset + i /
 * 4, key seed). */

#endif
