// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// copy (X to Y), where and fill (Y), arange (Y) and prim_philox.

#ifdef KERNEL_copy
// Floats are converted to integers through long.
#if KIND(X) == 3 && KIND(Y) != 3 && KIND(Y) != 0
#define CONVERT(v) ((v) >= -0x1p63f && (v) < 0x1p63f ? (long)(v) : 0)
#else
#define CONVERT(v) (v)
#endif
__kernel void copy_of(Grid g, __global char* y, __global const char* x) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[2];
  locate(&g, i, 2, at);
  const COMPUTE(X) v = LOAD(X, AT(X, x, 1), at[1]);
  STORE(Y, AT(Y, y, 0), at[0], CONVERT(v));
}
#endif

#ifdef KERNEL_where
__kernel void where_of(Grid g, __global char* y, __global const char* c, __global const char* a,
                       __global const char* b) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[4];
  locate(&g, i, 4, at);
  AT(Y, y, 0)[at[0]] = (c + g.base[1])[at[1]] ? AT(Y, a, 2)[at[2]] : AT(Y, b, 3)[at[3]];
}
#endif

#ifdef KERNEL_fill
// The pattern is an element's bits.
__kernel void fill_of(Grid g, __global char* y, MEMORY(Y) value) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[1];
  locate(&g, i, 1, at);
  AT(Y, y, 0)[at[0]] = value;
}
#endif

#ifdef KERNEL_arange
#if KIND(Y) == 3
typedef wide Step;
#else
typedef ulong Step;
#endif
__kernel void arange_of(Grid g, __global char* y, Step start, Step step) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[1];
  locate(&g, i, 1, at);
  STORE(Y, AT(Y, y, 0), at[0], start + step * (Step)i);
}
#endif

#ifdef KERNEL_philox
// Philox 4x32-10: one block of four words per work-item.
__kernel void philox_of(Grid g, __global char* y, ulong seed, ulong offset) {
  const long block = get_global_id(0), first = 4 * block;
  if (first >= g.n) return;
  const ulong counter = offset + (ulong)block;
  uint4 c = (uint4)((uint)counter, (uint)(counter >> 32), 0, 0);
  uint k0 = (uint)seed, k1 = (uint)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint n0 = mul_hi(0xCD9E8D57u, c.z) ^ c.y ^ k0, n2 = mul_hi(0xD2511F53u, c.x) ^ c.w ^ k1;
    c = (uint4)(n0, 0xCD9E8D57u * c.z, n2, 0xD2511F53u * c.x);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const uint w[4] = {c.x, c.y, c.z, c.w};
  __global uint* out = (__global uint*)(y + g.base[0]);
  for (int k = 0; k < 4 && first + k < g.n; ++k) out[first + k] = w[k];
}
#endif
