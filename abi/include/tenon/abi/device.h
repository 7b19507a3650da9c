/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a device is: memory, copies, streams, events. Filled by the plugin, static and constant.
 *
 * The first six functions are required. An absent optional one is normal:
 *   no fill          -> core copies from the host
 *   no streams       -> the device is synchronous: every function returns when its work is done
 *   no events        -> core synchronizes the stream instead
 *   no native_stream -> programs cannot get the vendor's handle
 * Any thread may call any function; calls that name one stream are made in that stream's order. */
#ifndef TENON_ABI_DEVICE_H_
#define TENON_ABI_DEVICE_H_

#include "tenon/abi/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_event tn_event;

enum {
  TN_DEVICE_HOST_READABLE = 1u << 0, /* the host may dereference data */
  TN_DEVICE_ASYNC = 1u << 1,         /* kernels may return before their work is done */
  TN_DEVICE_OPAQUE = 1u << 2,        /* data is a handle, not an address */
  TN_DEVICE_WANTS_PINNED = 1u << 3   /* asynchronous copies need pinned host memory */
};

enum {
  /* not used with event_elapsed: such an event costs some devices less */
  TN_EVENT_NO_TIMING = 1u << 0,
  /* ext/ipc.h can share it with another process; set together with NO_TIMING */
  TN_EVENT_INTERPROCESS = 1u << 1
};

/* Filled by the plugin; struct_size on entry is the caller's size. */
typedef struct tn_device_props {
  size_t struct_size;
  char name[128]; /* NUL-terminated here, for convenience */
  uint64_t total_bytes;
  uint64_t free_bytes;
  uint32_t alignment; /* of blocks from alloc, in bytes */
  uint32_t flags;
  uint32_t compute_units;
  uint32_t reserved;
} tn_device_props;

typedef struct tn_device_api {
  size_t struct_size;
  void* context; /* first argument of every function */

  /* required */
  tn_status (*count)(void* context, int32_t* n);
  tn_status (*props)(void* context, int32_t index, tn_device_props* out);
  tn_status (*alloc)(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                     void** handle);
  void (*free)(void* context, int32_t index, void* handle, uint64_t bytes, tn_stream* stream);
  /* Either side may be the host (TN_CPU). Work is ordered on `stream`, which belongs to the
   * non-host side. */
  tn_status (*copy)(void* context, tn_device dst_device, void* dst, uint64_t dst_offset,
                    tn_device src_device, const void* src, uint64_t src_offset, uint64_t bytes,
                    tn_stream* stream);
  tn_status (*sync)(void* context, int32_t index,
                    tn_stream* stream); /* null stream: the whole device */

  /* optional */
  tn_status (*fill)(void* context, int32_t index, void* dst, uint64_t offset, const void* pattern,
                    uint32_t pattern_bytes, uint64_t count, tn_stream* stream);
  tn_status (*stream_create)(void* context, int32_t index, int32_t priority, tn_stream** out);
  void (*stream_destroy)(void* context, int32_t index, tn_stream* stream);
  tn_status (*event_create)(void* context, int32_t index, uint32_t flags, tn_event** out);
  void (*event_destroy)(void* context, int32_t index, tn_event* event);
  tn_status (*event_record)(void* context, int32_t index, tn_event* event, tn_stream* stream);
  tn_status (*event_wait)(void* context, int32_t index, tn_event* event,
                          tn_stream* stream); /* the stream waits */
  tn_status (*event_query)(void* context, int32_t index, tn_event* event, int32_t* done);
  tn_status (*event_elapsed)(void* context, int32_t index, tn_event* begin, tn_event* end,
                             double* ms);
  void* (*native_stream)(void* context, int32_t index, tn_stream* stream);
  tn_status (*alloc_pinned)(void* context, uint64_t bytes, void** host);
  void (*free_pinned)(void* context, void* host,
                      uint64_t bytes); /* waits for copies in progress there */
  tn_str (*last_error)(void* context); /* text for the last failure on this thread */
  tn_status (*stream_query)(void* context, int32_t index, tn_stream* stream, int32_t* done);
  tn_status (*event_sync)(void* context, int32_t index,
                          tn_event* event); /* the host waits; absent: core polls */
  /* The host waits for one stream, and reads its error word as sync does. Null: the default stream
     alone, where `sync` waits for all. Absent: `sync` is used, which waits for the whole device if
     the stream is the default one. */
  tn_status (*stream_sync)(void* context, int32_t index, tn_stream* stream);
} tn_device_api;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_DEVICE_H_ */
