// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_binary: Y is X, or boolean for the codes from 64 on.
typedef COMPUTE(X) C;

C compare(C a, C b) {
  switch (CODE) {
    case 64: return a == b;
    case 65: return a != b;
    case 66: return a < b;
    case 67: return a <= b;
    case 68: return a > b;
    case 69: return a >= b;
    case 70: return a != 0 && b != 0;
    case 71: return a != 0 || b != 0;
    default: return (a != 0) != (b != 0);
  }
}

#if KIND(X) == 3
C larger(C a, C b) { return isnan(a) || a > b ? a : b; }
C smaller(C a, C b) { return isnan(a) || a < b ? a : b; }

// From the exact remainder, so that a quotient just below an integer stays below it.
C div_floor(C a, C b) {
  if (b == 0) return a / b;
  const C m = fmod(a, b);
  C q = (a - m) / b;
  if (m != 0 && (b < 0) != (m < 0)) q -= 1;
  if (q == 0) return copysign((C)0, a / b);
  const C f = floor(q);
  return q - f > (C)0.5 ? f + 1 : f;
}

C remainder_of(C a, C b) {
  const C m = fmod(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

C logaddexp(C a, C b) {
  const C m = larger(a, b);
  return isinf(m) || isnan(m) ? m : m + log1p(exp(-fabs(a - b)));
}

// nextafter of 16-bit floats works on their bits, whose order as integers is that of the magnitudes.
#ifdef NARROW_half
#define NARROW
ushort bits_of(float v) {
  ushort u;
  vstore_half_rte(v, 0, (half*)&u);
  return u;
}
float float_of(ushort u) { return vload_half(0, (const half*)&u); }
#elif defined(NARROW_bfloat)
#define NARROW
ushort bits_of(float v) { return (ushort)(as_uint(v) >> 16); }
float float_of(ushort u) { return as_float((uint)u << 16); }
#endif
#ifdef NARROW
C next(C a, C b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return b;
  if (a == 0) return float_of(b < 0 ? 0x8001 : 1);
  return float_of(bits_of(a) + ((a < b) == (a > 0) ? 1 : -1));
}
#else
#define next(a, b) nextafter(a, b)
#endif

C binary(C a, C b) {
  switch (CODE) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return trunc(a / b);
    case 5: return div_floor(a, b);
    case 6: return remainder_of(a, b);
    case 7: return fmod(a, b);
    case 8: return pow(a, b);
    case 9: return larger(a, b);
    case 10: return smaller(a, b);
    case 11: return fmax(a, b);
    case 12: return fmin(a, b);
    case 13: return atan2(a, b);
    case 14: return hypot(a, b);
    case 15: return next(a, b);
    case 16: return copysign(a, b);
    case 17: return logaddexp(a, b);
    case 18: return isnan(b) ? b : a == 0 ? 0 : a * log(b);
    default: return compare(a, b);
  }
}
#define CHECK(a, b)
#else
C power(C a, C b) {
  if (b < 0) return a == 1 ? 1 : a == (C)-1 ? (b & 1 ? -1 : 1) : 0;
  ulong r = 1, f = a;
  for (ulong e = b; e; e >>= 1, f *= f) {
    if (e & 1) r *= f;
  }
  return (C)r;
}

ulong size_of(C a) { return a < 0 ? -(ulong)(long)a : (ulong)a; }

C gcd(C a, C b) {
  ulong x = size_of(a), y = size_of(b);
  while (y) {
    const ulong r = x % y;
    x = y;
    y = r;
  }
  return (C)x;
}

// -1 is a special case, as the negation of the lowest integer overflows.
C div_trunc(C a, C b) { return KIND(X) == 2 && b == (C)-1 ? (C)(0 - (ulong)a) : a / b; }
C fmod_of(C a, C b) { return KIND(X) == 2 && b == (C)-1 ? 0 : a % b; }
C div_floor(C a, C b) {
  const C m = fmod_of(a, b);
  return div_trunc(a, b) - (m != 0 && (a < 0) != (b < 0));
}
C remainder_of(C a, C b) {
  const C m = fmod_of(a, b);
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

C binary(C a, C b) {
  const bool logical = KIND(X) == 0;
  switch (CODE) {
    case 0: return logical ? a | b : (C)((ulong)a + (ulong)b);
    case 1: return (C)((ulong)a - (ulong)b);
    case 2: return logical ? a & b : (C)((ulong)a * (ulong)b);
    case 4: return div_trunc(a, b);
    case 5: return div_floor(a, b);
    case 6: return remainder_of(a, b);
    case 7: return fmod_of(a, b);
    case 8: return power(a, b);
    case 9:
    case 11: return a > b ? a : b;
    case 10:
    case 12: return a < b ? a : b;
    case 19: return gcd(a, b);
    case 20: return a & b;
    case 21: return a | b;
    case 22: return a ^ b;
    case 23: return (C)((ulong)a << (b & 63));
    case 24: return a >> (b & 63);
    default: return compare(a, b);
  }
}
#define CHECK(a, b)                                                          \
  if (CODE >= 4 && CODE <= 7 && b == 0) {                                    \
    report(word, FAILED, op, a, BY_ZERO);                                    \
    return;                                                                  \
  }                                                                          \
  if ((CODE == 23 || CODE == 24) && (b < 0 || (int)b >= (int)sizeof(C) * 8)) { \
    report(word, FAILED_VALUE, op, b, sizeof(C) * 8);                        \
    return;                                                                  \
  }
#endif

__kernel void binary_of(Grid g, __global char* y, __global const char* x0, __global const char* x1,
                        __global Report* word, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[3];
  locate(&g, i, 3, at);
  const C a = LOAD(X, AT(X, x0, 1), at[1]), b = LOAD(X, AT(X, x1, 2), at[2]);
  CHECK(a, b)
  STORE(Y, AT(Y, y, 0), at[0], binary(a, b));
}
