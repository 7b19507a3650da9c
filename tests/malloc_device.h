/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Parts of a device over malloc, for test plugins in C: one device, synchronous, in host memory.
 * The plugin includes the header of the ABI that it is built against. */
#pragma once

#include <stdlib.h>
#include <string.h>

static tn_status count(void* context, int32_t* n) {
  (void)context;
  *n = 1;
  return TN_OK;
}
static tn_status fill_props(tn_device_props* out, const char* name, uint32_t alignment) {
  memcpy(out->name, name, strlen(name) + 1);
  out->total_bytes = out->free_bytes = 1u << 30;
  out->alignment = alignment;
  out->flags = TN_DEVICE_HOST_READABLE;
  return TN_OK;
}
static void release(void* context, int32_t index, void* handle, uint64_t bytes, tn_stream* stream) {
  (void)context, (void)index, (void)bytes, (void)stream;
  free(handle);
}
static tn_status copy(void* context, tn_device dst_device, void* dst, uint64_t dst_offset,
                      tn_device src_device, const void* src, uint64_t src_offset, uint64_t bytes,
                      tn_stream* stream) {
  (void)context, (void)dst_device, (void)src_device, (void)stream;
  memmove((char*)dst + dst_offset, (const char*)src + src_offset, bytes);
  return TN_OK;
}
static tn_status wait_for(void* context, int32_t index, tn_stream* stream) {
  (void)context, (void)index, (void)stream, (void)copy;
  return TN_OK;
}
