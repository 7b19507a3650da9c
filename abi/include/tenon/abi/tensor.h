/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A borrowed view of a tensor. Its first 48 bytes are bit for bit a DLTensor. */
#ifndef TENON_ABI_TENSOR_H_
#define TENON_ABI_TENSOR_H_

#include "tenon/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DLPack's {code, bits, lanes}. bool is {6, 8, 1}. A custom dtype is {id, 8 * size, 1}, id from 64.
 */
typedef struct tn_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} tn_dtype;

enum {
  TN_INT = 0,
  TN_UINT = 1,
  TN_FLOAT = 2,
  TN_BFLOAT = 4,
  TN_COMPLEX = 5,
  TN_BOOL = 6,
  TN_FLOAT8_E4M3FN = 10,
  TN_FLOAT8_E4M3FNUZ = 11,
  TN_FLOAT8_E5M2 = 12,
  TN_FLOAT8_E5M2FNUZ = 13,
  TN_FLOAT8_E8M0FNU = 14,
  TN_DTYPE_FOREIGN = 64
};

/* DLPack's device numbers; types from TN_DEVICE_FOREIGN were assigned to a name when its plugin
 * registered. */
typedef struct tn_device {
  int32_t type;
  int32_t index;
} tn_device;

enum { TN_CPU = 1, TN_CUDA = 2, TN_CUDA_HOST = 3, TN_OPENCL = 4, TN_DEVICE_FOREIGN = 0x1000 };

/* Layout 0 is strided. Others were assigned to a name at registration (from 64). */
enum { TN_STRIDED = 0, TN_LAYOUT_FOREIGN = 64 };

enum {
  /* The bytes may change without being counted: other code owns them, or holds a pointer to write
   * through. */
  TN_STORAGE_EXPOSED = 1u << 0,
  /* Private pages of a mapped file. While `writes` is 0 and EXPOSED is not set they are as the file
   * has them: who keeps a packed copy may give them back to the system (madvise, MADV_DONTNEED),
   * and they are read again when they are touched. */
  TN_STORAGE_FILE_PAGES = 1u << 1
};

/* What a plugin may see of a storage. Owned by core. `writes` counts every write of core and of
 * kernels, so that a kernel may cache what it derives from the bytes (packed weights) under {id,
 * writes}, unless `flags` has TN_STORAGE_EXPOSED; then the bytes must be read at each call. An id
 * is never reused. */
typedef struct tn_storage {
  uint64_t id;
  uint64_t writes;
  uint64_t bytes;
  uint32_t flags;
  uint32_t reserved;
} tn_storage;

enum {
  TN_TENSOR_CONTIGUOUS = 1u << 0, /* row-major without gaps */
  TN_TENSOR_READ_ONLY = 1u << 1,
  /* some elements share memory (a stride of 0 with a size above 1) */
  TN_TENSOR_OVERLAPPING = 1u << 2,
  TN_TENSOR_OPAQUE = 1u << 3,   /* data is a handle: no arithmetic on it */
  TN_TENSOR_PINNED = 1u << 4,   /* host memory that a device reads directly */
  TN_TENSOR_COMPONENT = 1u << 5 /* a component of another tensor; core uses its bits from 16 on */
};

/* Bit TN_LAYOUT_FLAG + i is flag i of tn_ext_layout.flags, of a tensor with a layout other than
 * strided. */
enum { TN_LAYOUT_FLAG = 16 };

/* Sizes and strides count elements; strides are never null when ndim > 0. For a layout other than
 * strided, data points to the components (an array of tn_tensor) and strides is null. */
typedef struct tn_tensor {
  void* data; /* handle of the storage's memory; the first element is byte_offset bytes further */
  tn_device device;
  int32_t ndim;
  tn_dtype dtype;
  const int64_t* sizes;
  const int64_t* strides;
  uint64_t byte_offset;
  uint32_t layout;
  uint32_t flags;
  const tn_storage* storage;
} tn_tensor;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_TENSOR_H_ */
