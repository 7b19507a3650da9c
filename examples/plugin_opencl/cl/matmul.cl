// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// bmm without CLBlast: integers, 16-bit floats, small products. Operands: result, and the arguments with a
// stride of 0 along the result's dimensions that they lack.
__kernel void matmul_of(Grid g, __global char* y, __global const char* a, __global const char* b, long n, long a_step,
                        long b_step) {
  const long i = get_global_id(0);
  if (i >= g.n) return;
  long at[3];
  locate(&g, i, 3, at);
  SUM(X) sum = 0;
  for (long k = 0; k < n; ++k) {
    sum += (SUM(X))LOAD(X, AT(X, a, 1), at[1] + k * a_step) * (SUM(X))LOAD(X, AT(X, b, 2), at[2] + k * b_step);
  }
  STORE(X, AT(X, y, 0), at[0], sum);
}
