// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_argsort: one pass of a merge sort. Operand 1 holds the keys. `from` and `to` are contiguous rows of `n`
// positions; runs of `width` are sorted, and each work-item merges two.
#if KIND(X) == 3
bool before(COMPUTE(X) a, COMPUTE(X) b) {
  return DESCENDING ? (isnan(a) ? !isnan(b) : a > b) : (isnan(b) ? !isnan(a) : a < b);
}
#else
bool before(COMPUTE(X) a, COMPUTE(X) b) { return DESCENDING ? a > b : a < b; }
#endif

__kernel void merge_of(Grid g, __global const char* keys, long step, long n, long width, __global const long* from,
                       ulong from_base, __global long* to, ulong to_base) {
  const long pairs = (n + 2 * width - 1) / (2 * width), item = get_global_id(0);
  if (item >= g.n * pairs) return;
  const long row = item / pairs, begin = item % pairs * 2 * width;
  const long middle = min(begin + width, n), end = min(begin + 2 * width, n);
  long at[2];
  locate(&g, row, 2, at);
  __global const MEMORY(X)* x = AT(X, keys, 1);
  from += from_base / 8 + row * n;
  to += to_base / 8 + row * n;
  long a = begin, b = middle;
  for (long k = begin; k < end; ++k) {
    const long i = width == 1 ? a : from[min(a, n - 1)], j = width == 1 ? b : from[min(b, n - 1)];
    const bool second =
        a >= middle || (b < end && before(LOAD(X, x, at[1] + j * step), LOAD(X, x, at[1] + i * step)));
    to[k] = second ? j : i;
    if (second)
      ++b;
    else
      ++a;
  }
}
