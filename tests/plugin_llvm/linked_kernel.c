/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A kernel as an object file has one: constants, and a call of a helper. */
#include <stdint.h>

int64_t tn_test_helper(int64_t v);

static const int64_t kTable[4] = {10, 20, 30, 40};

void tn_kernel(const int64_t* numbers, const double* reals, void* const* arrays, void* report,
               int64_t first, int64_t last) {
  int64_t* out = arrays[0];
  (void)reals;
  (void)report;
  for (int64_t i = first; i < last; ++i) out[i] = tn_test_helper(kTable[i & 3] + numbers[0]);
}
