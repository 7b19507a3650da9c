/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Devices whose functions do not do what they should. One source, one FAULT per plugin. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/abi/plugin.h"

#define NO_ADDRESS 1
#define MISALIGNED 2
#define OVERLAPPING 3
#define OUT_OF_MEMORY 4
#define NEGATIVE_COUNT 5
#define FAILING_COUNT 6
#define FAILING_PROPS 7
#define ODD_ALIGNMENT 8
#define FAILING_COPY 9
#define FAILING_SYNC 10
#define ENDLESS_COUNT 11
#define NO_END_OF_NAME 12
#define NO_STREAM_DESTROY 13
#define HANDLE_AND_ADDRESS 14
#define CRASHING_COPY 15
#define HANGING_SYNC 16
#define WRITES_BEHIND 17

__attribute__((unused)) static char memory[1 << 23] __attribute__((aligned(4096)));
static tn_status bad_alloc(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                           void** handle) {
  (void)context, (void)index, (void)stream, (void)bytes;
#if FAULT == NO_ADDRESS
  *handle = 0;
  return TN_OK;
#elif FAULT == MISALIGNED
  *handle = memory + 1;
  return TN_OK;
#elif FAULT == OVERLAPPING
  static int calls;
  *handle = memory + 4096 * (calls++ & 1);
  return bytes <= sizeof memory / 2 ? TN_OK : TN_ERROR_MEMORY;
#else
  *handle = memory;
  return TN_ERROR_MEMORY;
#endif
}
static tn_status bad_count(void* context, int32_t* n) {
  (void)context;
  *n = FAULT == NEGATIVE_COUNT ? -2 : 0x7fffffff;
  return FAULT == FAILING_COUNT ? TN_ERROR_BACKEND : TN_OK;
}
static tn_status bad_props(void* context, int32_t index, tn_device_props* out) {
  (void)context, (void)index;
  memset(out->name, 'x', sizeof out->name);
  if (FAULT == WRITES_BEHIND) ((volatile char*)out)[8192] = 0;
  out->total_bytes = out->free_bytes = 1u << 30;
  out->alignment = FAULT == ODD_ALIGNMENT ? 3000 : 16;
  out->flags = FAULT == HANDLE_AND_ADDRESS ? 0xffffffffu : TN_DEVICE_HOST_READABLE;
  return FAULT == FAILING_PROPS ? TN_ERROR_BACKEND : TN_OK;
}
static tn_status bad_copy(void* context, tn_device dst_device, void* dst, uint64_t dst_offset,
                          tn_device src_device, const void* src, uint64_t src_offset,
                          uint64_t bytes, tn_stream* stream) {
  (void)context, (void)dst_device, (void)dst, (void)dst_offset, (void)src_device, (void)src,
      (void)src_offset;
  (void)bytes, (void)stream;
  if (FAULT == CRASHING_COPY) raise(SIGSEGV);
  return TN_ERROR_BACKEND;
}
static tn_status bad_sync(void* context, int32_t index, tn_stream* stream) {
  (void)context, (void)index, (void)stream;
  while (FAULT == HANGING_SYNC) pause();
  return TN_ERROR_INDEX;
}
__attribute__((unused)) static tn_status bad_stream(void* context, int32_t index, int32_t priority,
                                                    tn_stream** out) {
  (void)context, (void)index, (void)priority;
  *out = (tn_stream*)memory;
  return TN_OK;
}
__attribute__((unused)) static tn_status bad_query(void* context, int32_t index, tn_stream* stream,
                                                   int32_t* done) {
  (void)context, (void)index, (void)stream, (void)done;
  return TN_ERROR;
}
__attribute__((unused)) static tn_status bad_event(void* context, int32_t index, tn_event* event) {
  (void)context, (void)index, (void)event;
  return TN_ERROR;
}
static void nothing(void* context, int32_t index, void* handle, uint64_t bytes, tn_stream* stream) {
  (void)context, (void)index, (void)handle, (void)bytes, (void)stream;
}
static tn_device_api bad_api;
static const tn_device_api* api_with_fault(const tn_device_api* good);
#define PLUGIN_API &bad_api
#define PLUGIN_INIT start
static tn_status start(const tn_host* host, tn_str* why);
#include "toy.h"

/* The descriptor points to a table that the library fills when it is loaded. */
__attribute__((constructor)) static void fill(void) { bad_api = *api_with_fault(&api); }
static const tn_device_api* api_with_fault(const tn_device_api* good) {
  static tn_device_api out;
  out = *good;
  if (FAULT <= OUT_OF_MEMORY) out.alloc = bad_alloc, out.free = nothing;
  if (FAULT == NEGATIVE_COUNT || FAULT == FAILING_COUNT || FAULT == ENDLESS_COUNT)
    out.count = bad_count;
  if (FAULT == FAILING_PROPS || FAULT == ODD_ALIGNMENT || FAULT == NO_END_OF_NAME ||
      FAULT == HANDLE_AND_ADDRESS || FAULT == WRITES_BEHIND)
    out.props = bad_props;
  if (FAULT == NO_STREAM_DESTROY)
    out.stream_create = bad_stream, out.stream_query = bad_query, out.event_sync = bad_event;
  if (FAULT == FAILING_COPY || FAULT == CRASHING_COPY) out.copy = bad_copy;
  if (FAULT == FAILING_SYNC || FAULT == HANGING_SYNC) out.sync = bad_sync;
  return &out;
}
static tn_status start(const tn_host* host, tn_str* why) {
  (void)host, (void)why;
  return TN_OK;
}
