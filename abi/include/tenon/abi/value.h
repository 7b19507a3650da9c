/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A 16-byte tagged value: the form in which all arguments and results cross the boundary. */
#ifndef TENON_ABI_VALUE_H_
#define TENON_ABI_VALUE_H_

#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Unknown tags make a kernel decline. An absent optional is NONE, which differs from an empty list.
 */
typedef uint32_t tn_tag;
enum {
  TN_TAG_NONE = 0,
  TN_TAG_I64 = 1,
  TN_TAG_F64 = 2,
  TN_TAG_BOOL = 3,    /* u.i64 is 0 or 1 */
  TN_TAG_COMPLEX = 4, /* u.f64s points to {real, imaginary} */
  TN_TAG_DTYPE = 5,
  TN_TAG_DEVICE = 6,
  TN_TAG_LAYOUT = 7,       /* u.i64 */
  TN_TAG_STR = 8,          /* u.str, len bytes */
  TN_TAG_I64_LIST = 9,     /* u.i64s, len entries */
  TN_TAG_F64_LIST = 10,    /* u.f64s */
  TN_TAG_BOOL_LIST = 11,   /* u.bools, one byte each */
  TN_TAG_SCALAR_LIST = 12, /* u.values, each I64, F64, BOOL or COMPLEX */
  TN_TAG_TENSOR = 13,      /* u.tensor */
  TN_TAG_TENSOR_LIST = 14, /* u.tensors, null for an absent entry of Tensor?[] */
  TN_TAG_GENERATOR = 15,   /* u.generator */
  TN_TAG_OPAQUE = 16       /* u.ptr, meaning known to caller and kernel alone */
};

/* A reserved range of a Philox 4x32-10 stream. Core reserves the range before the call; a kernel
 * never advances it. Word w of the stream is lane w % 4 of the block at counter offset + w / 4.
 * While a graph is captured state_ptr is not null: it points to two 64-bit words of device memory,
 * read when the graph runs: the seed, and what is to be added to `offset`, so that each launch
 * draws new random values. */
typedef struct tn_generator {
  uint64_t seed;
  uint64_t offset;
  const void* state_ptr;
} tn_generator;

typedef struct tn_value {
  tn_tag tag;
  uint32_t len;
  union {
    int64_t i64;
    double f64;
    tn_dtype dtype;
    tn_device device;
    const char* str;
    const int64_t* i64s;
    const double* f64s;
    const uint8_t* bools;
    const struct tn_value* values;
    const tn_tensor* tensor;
    const tn_tensor* const* tensors;
    const tn_generator* generator;
    void* ptr;
  } u;
} tn_value;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_VALUE_H_ */
