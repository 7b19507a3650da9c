/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A device that has memory and no kernel: every operator works on it, computed by the host and
 * copied back. */
#include <stdlib.h>
#include <string.h>
#include "tenon/abi/plugin.h"

static tn_status count(void* context, int32_t* n) { return *n = 1, TN_OK; }
static tn_status props(void* context, int32_t index, tn_device_props* out) {
  strcpy(out->name, "memory without kernels");
  out->alignment = 16;
  out->total_bytes = out->free_bytes = 1u << 30;
  return TN_OK;
}
static tn_status allocate(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                          void** handle) {
  return (*handle = malloc(bytes)) ? TN_OK : TN_ERROR_MEMORY;
}
static void release(void* context, int32_t index, void* handle, uint64_t bytes, tn_stream* stream) {
  free(handle);
}
static tn_status copy(void* context, tn_device dst_device, void* dst, uint64_t dst_offset,
                      tn_device src_device, const void* src, uint64_t src_offset, uint64_t bytes,
                      tn_stream* stream) {
  memmove((char*)dst + dst_offset, (const char*)src + src_offset, bytes);
  return TN_OK;
}
static tn_status sync(void* context, int32_t index, tn_stream* stream) { return TN_OK; }
static tn_status init(const tn_host* host, tn_str* why) { return TN_OK; }

static const tn_device_api api = {sizeof api, NULL, count, props, allocate, release, copy, sync};
static const tn_plugin plugin = {sizeof plugin,        TN_ABI_MAJOR,      TN_ABI_TARGET_MINOR,
                                 TN_PLUGIN_UNLOADABLE, sizeof(tn_kernel), {"minimal", 7},
                                 {"1.0", 3},           {"Tenon", 5},      {"minimal", 7},
                                 .device_api = &api,   .init = init};
__attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1(void) { return &plugin; }
