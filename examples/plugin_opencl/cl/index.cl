// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gather and prim_scatter: X are the elements, I the indices (int or long). An index that is out of bounds is reported.

#ifdef KERNEL_gather
// Operands: result, index, argument with a stride of 0 along the dimension.
__kernel void gather_of(Grid g, __global char* y, __global const char* index, __global const char* x, long limit,
                        long step, __global Report* word, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[3];
  locate(&g, i, 3, at);
  const long k = AT(I, index, 1)[at[1]];
  if (k < 0 || k >= limit) {
    report(word, FAILED_INDEX, op, k, limit);
    return;
  }
  AT(X, y, 0)[at[0]] = AT(X, x, 2)[at[2] + k * step];
}
#endif

#ifdef KERNEL_scatter
#if KIND(X) == 3
#define NAN_OF(v) isnan(v)
#else
#define NAN_OF(v) 0
#endif
COMPUTE(X) scattered(COMPUTE(X) a, COMPUTE(X) b) {
  switch (CODE) {
    case 0: return b;
    case 1: return ADD(X, a, b);
    case 2: return NAN_OF(a) || a > b ? a : b;
    default: return NAN_OF(a) || a < b ? a : b;
  }
}

// One work-item per line of indices along the dimension, so that no two items write to one element, and duplicate
// indices are applied in order. Operands: result with a stride of 0 along the dimension, index, source.
__kernel void scatter_of(Grid g, __global char* y, __global const char* index, __global const char* x, long n,
                         long limit, long step, long index_step, long source_step, __global Report* word, int op) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[3];
  locate(&g, i, 3, at);
  for (long j = 0; j < n; ++j) {
    const long k = AT(I, index, 1)[at[1] + j * index_step];
    if (k < 0 || k >= limit) {
      report(word, FAILED_INDEX, op, k, limit);
      return;
    }
    const long to = at[0] + k * step;
    STORE(X, AT(X, y, 0), to,
          scattered(LOAD(X, AT(X, y, 0), to), LOAD(X, AT(X, x, 2), at[2] + j * source_step)));
  }
}
#endif
