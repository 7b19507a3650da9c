/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What fuzz_calls asks libtorch, through a module of its own: the names of both libraries must not meet. */
#ifndef TENON_FUZZ_CALLS_PEER_H_
#define TENON_FUZZ_CALLS_PEER_H_

#include "tenon/abi/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct peer_arg {
  const char* name; /* as in the schema */
  tn_value value;   /* tensors lie on the host */
} peer_arg;

/* Row-major; a number is a tensor without dimensions. */
typedef struct peer_tensor {
  tn_dtype dtype;
  int32_t ndim;
  int64_t sizes[64];
  uint64_t bytes;
  void* data;
  int is_number;
} peer_tensor;

enum { PEER_OK = 0, PEER_REFUSED = 1, PEER_UNKNOWN = 2 /* no such operator there, or not with these arguments */ };
enum { PEER_MAX_RESULTS = 64 };

typedef struct peer_result {
  int status;
  char text[512]; /* of a refusal */
  int n;
  peer_tensor tensors[PEER_MAX_RESULTS];
} peer_result;

/* Calls aten's operator of this name and overload. */
typedef void (*peer_call_fn)(const char* name, const char* overload, const peer_arg* args, int n, peer_result* out);
typedef void (*peer_release_fn)(peer_result* result);

#ifdef __cplusplus
}
#endif
#endif /* TENON_FUZZ_CALLS_PEER_H_ */
