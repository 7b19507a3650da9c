// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_reduce and prim_scan: the grid has one element per line, its first. A line has `n` elements at a stride of `step`
// in the argument (operand 1) and of `out_step` in the result (operand 0).
typedef COMPUTE(X) C;

#if KIND(X) == 3
#define NAN_OF(v) isnan(v)
#else
#define NAN_OF(v) 0
#endif
#if CODE <= 1
typedef SUM(X) A;
#elif CODE == 6 || CODE == 7
typedef uchar A;
#else
typedef C A;
#endif

A start_of(C v) { return CODE >= 6 ? (A)(v != 0) : (A)v; }

A joined(A a, A b) {
#if CODE == 0
  return ADD(X, a, b);
#elif CODE == 1
  return MULTIPLY(X, a, b);
#elif CODE == 2
  return NAN_OF(a) || a > b ? a : b;
#elif CODE == 3
  return NAN_OF(a) || a < b ? a : b;
#elif CODE == 6
  return a | b;
#elif CODE == 7
  return a & b;
#else
  return a;  // argmax and argmin are computed in reduce_of
#endif
}

#ifdef KERNEL_reduce
__kernel void reduce_of(Grid g, __global char* y, __global const char* x, long n, long step) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[2];
  locate(&g, i, 2, at);
  __global const MEMORY(X)* line = AT(X, x, 1);
#if CODE == 4 || CODE == 5
  long best = 0;
  for (long k = 1; k < n; ++k) {
    const C a = LOAD(X, line, at[1] + best * step), b = LOAD(X, line, at[1] + k * step);
    if (!NAN_OF(a) && (NAN_OF(b) || (CODE == 4 ? b > a : b < a))) best = k;
  }
  AT(long, y, 0)[at[0]] = best;
#else
  A acc = CODE == 1 ? 1 : CODE == 7;
  if (n > 0) acc = start_of(LOAD(X, line, at[1]));
  for (long k = 1; k < n; ++k) acc = joined(acc, start_of(LOAD(X, line, at[1] + k * step)));
  STORE(Y, AT(Y, y, 0), at[0], acc);
#endif
}
#endif

#ifdef KERNEL_reduce_group
// One work-group per line, for few long lines. Not for argmax and argmin.
__kernel void reduce_group_of(Grid g, __global char* y, __global const char* x, long n, long step) {
  __local A part[64];
  const long i = get_group_id(0);
  const int me = get_local_id(0);
  long at[2];
  locate(&g, i, 2, at);
  __global const MEMORY(X)* line = AT(X, x, 1);
  A acc = start_of(LOAD(X, line, at[1] + me * step));
  for (long k = me + 64; k < n; k += 64) acc = joined(acc, start_of(LOAD(X, line, at[1] + k * step)));
  part[me] = acc;
  for (int half_of = 32; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < half_of) part[me] = joined(part[me], part[me + half_of]);
  }
  if (me == 0) STORE(Y, AT(Y, y, 0), at[0], part[0]);
}
#endif

#ifdef KERNEL_scan
__kernel void scan_of(Grid g, __global char* y, __global const char* x, long n, long step, long out_step) {
  const long i = get_global_id(0);
  if (i >= g.n || n == 0) return;
  long at[2];
  locate(&g, i, 2, at);
  __global const MEMORY(X)* line = AT(X, x, 1);
  A acc = start_of(LOAD(X, line, at[1]));
  STORE(Y, AT(Y, y, 0), at[0], acc);
  for (long k = 1; k < n; ++k) {
    acc = joined(acc, start_of(LOAD(X, line, at[1] + k * step)));
    STORE(Y, AT(Y, y, 0), at[0] + k * out_step, acc);
  }
}
#endif
