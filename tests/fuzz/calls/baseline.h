/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The interface through which fuzz_calls calls libtorch, in a separate module: the names of both
 * libraries would clash.
 */
#ifndef TENON_FUZZ_CALLS_BASELINE_H_
#define TENON_FUZZ_CALLS_BASELINE_H_

#include "tenon/abi/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct baseline_arg {
  const char* name; /* as in the schema */
  tn_value value;   /* tensors lie on the host */
} baseline_arg;

/* Row-major; a scalar is a tensor without dimensions. */
typedef struct baseline_tensor {
  tn_dtype dtype;
  int32_t ndim;
  int64_t sizes[64];
  uint64_t bytes;
  void* data;
  int is_scalar;
} baseline_tensor;

enum {
  BASELINE_OK = 0,
  BASELINE_REFUSED = 1,
  BASELINE_UNKNOWN = 2 /* no such operator there, or not with these arguments */
};
enum { BASELINE_MAX_RESULTS = 64 };

typedef struct baseline_result {
  int status;
  char text[512]; /* of a refusal */
  int n;
  baseline_tensor tensors[BASELINE_MAX_RESULTS];
} baseline_result;

/* Calls aten's operator of this name and overload. */
typedef void (*baseline_call_fn)(const char* name, const char* overload, const baseline_arg* args,
                                 int n, baseline_result* out);
typedef void (*baseline_release_fn)(baseline_result* result);

#ifdef __cplusplus
}
#endif
#endif /* TENON_FUZZ_CALLS_BASELINE_H_ */
