/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Status codes, strings and extension nodes, which every other header of the ABI uses.
 *
 * Conventions of all headers in this folder (their rules are in abi/RULES.md):
 *  1. C11 and C++17; nothing is included but stdint.h and stddef.h.
 *  2. Every table and every struct that crosses a boundary by pointer starts with its size, set
 * with sizeof by the side that fills it. A reader tests a field with TN_HAS before it touches it;
 * nobody compares sizes or versions for equality.
 *  3. Structs grow at the end only. tn_value, tn_tensor, tn_dtype, tn_device and tn_str never grow.
 *  4. Text is tn_str: UTF-8, length given, not terminated. It is borrowed for the duration of the
 * call unless its declaration says otherwise.
 *  5. Whoever allocates frees, through the table that allocated. Arguments of a call are borrowed.
 *  6. A function that can fail returns tn_status. Functions that release something cannot fail.
 *  7. No C++ exception and no longjmp crosses a boundary.
 *  8. A memory location is {handle, byte offset}. Only a device without TN_DEVICE_OPAQUE lets one
 * add the two. */
#ifndef TENON_ABI_BASE_H_
#define TENON_ABI_BASE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABI these headers describe. The major number is part of the entry symbol's name (plugin.h); a
 * minor only appends. 0 means: not frozen yet, both sides must come from one release. */
#define TN_ABI_MAJOR 1
#define TN_ABI_MINOR 0

/* The oldest minor that a plugin runs with. Define it before the first include to require a newer
 * one. */
#ifndef TN_ABI_TARGET_MINOR
#define TN_ABI_TARGET_MINOR 0
#endif

/* True when the struct that `p` points to is large enough to hold `field`. Needs a first field
 * `struct_size`. */
#define TN_HAS(p, type, field) \
  ((p)->struct_size >= offsetof(type, field) + sizeof(((type*)0)->field))

/* TN_DECLINED is a result, not an error: the kernel has had no side effects, and core tries the
 * next fallback. */
typedef int32_t tn_status;
enum {
  TN_OK = 0,
  TN_DECLINED = 1,
  TN_ERROR = 2,             /* tenon::Error */
  TN_ERROR_INDEX = 3,       /* tenon::IndexError */
  TN_ERROR_TYPE = 4,        /* tenon::TypeError */
  TN_ERROR_VALUE = 5,       /* tenon::ValueError */
  TN_ERROR_UNSUPPORTED = 6, /* tenon::NotImplementedError */
  TN_ERROR_MEMORY = 7,      /* tenon::OutOfMemoryError */
  TN_ERROR_BACKEND = 8,     /* tenon::BackendError: the device or a library below it failed */
  TN_NO_DEVICE = 9 /* from tn_plugin.init: no device of this kind is present; no error is shown */
};

typedef struct tn_str {
  const char* ptr;
  size_t len;
} tn_str;

/* One node of an extension chain. Unknown ids are skipped. The high 16 bits of an id name the
 * vendor (0: Tenon). */
typedef struct tn_ext {
  size_t struct_size;
  uint32_t id;
  uint32_t minor;
  const struct tn_ext* next;
} tn_ext;

enum {
  TN_EXT_PROFILER = 1,
  TN_EXT_GRAPH_CAPTURE = 2,
  TN_EXT_RNG = 3,
  TN_EXT_LAYOUT = 4,
  TN_EXT_DTYPE = 5,
  TN_EXT_COLLECTIVE = 6,
  TN_EXT_DLPACK = 7,
  TN_EXT_IPC = 8,
  TN_EXT_JIT_COMPILE = 9,
  TN_EXT_UNIFIED_MEMORY = 10,
  TN_EXT_ONNX = 11
};

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_BASE_H_ */
