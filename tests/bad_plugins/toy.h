/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A complete device plugin over malloc, in C. Each file of this folder changes one part of it by a
 * macro. */
#ifndef PLUGIN_NAME
#error "define PLUGIN_NAME first"
#endif
#ifndef PLUGIN_DEVICE
#define PLUGIN_DEVICE PLUGIN_NAME
#endif
#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION "1.2.3"
#endif
#ifndef PLUGIN_MAJOR
#define PLUGIN_MAJOR TN_ABI_MAJOR
#endif
#ifndef PLUGIN_MINOR
#define PLUGIN_MINOR TN_ABI_TARGET_MINOR
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(tn_plugin)
#endif
#ifndef PLUGIN_FLAGS
#define PLUGIN_FLAGS TN_PLUGIN_UNLOADABLE
#endif
#ifndef PLUGIN_COPY
#define PLUGIN_COPY copy
#endif
#ifndef PLUGIN_API
#define PLUGIN_API &api
#endif
#ifndef PLUGIN_EXT
#define PLUGIN_EXT 0
#endif
#ifndef PLUGIN_KERNELS
#define PLUGIN_KERNELS 0, 0
#endif

#include "tenon/abi/plugin.h"

#include "../malloc_device.h"

#define TEXT(s) \
  { s, sizeof(s) - 1 }

static tn_status props(void* context, int32_t index, tn_device_props* out) {
  (void)context, (void)index;
  return fill_props(out, "toy", 16);
}
static tn_status alloc(void* context, int32_t index, uint64_t bytes, tn_stream* stream,
                       void** handle) {
  (void)context, (void)index, (void)stream;
  *handle = malloc(bytes ? bytes : 1);
  return *handle ? TN_OK : TN_ERROR_MEMORY;
}
#ifndef PLUGIN_INIT
#define PLUGIN_INIT start
static tn_status start(const tn_host* host, tn_str* why) {
  (void)why;
  return TN_HAS(host, tn_host, log) ? TN_OK : TN_ERROR;
}
#endif

/* What is left out is null: optional functions, here and in the plugin. */
static const tn_device_api api = {sizeof(tn_device_api), 0,       count, props, alloc, release,
                                  PLUGIN_COPY,           wait_for};

static const tn_plugin plugin = {PLUGIN_SIZE,          PLUGIN_MAJOR,        PLUGIN_MINOR,
                                 PLUGIN_FLAGS,         sizeof(tn_kernel),   TEXT(PLUGIN_NAME),
                                 TEXT(PLUGIN_VERSION), TEXT("Tenon tests"), TEXT(PLUGIN_DEVICE),
                                 PLUGIN_EXT,           PLUGIN_API,          PLUGIN_KERNELS,
                                 PLUGIN_INIT};

#ifndef PLUGIN_ENTRY
#define PLUGIN_ENTRY tenon_plugin_v1
#endif
/* NOLINTNEXTLINE(misc-definitions-in-headers): each plugin is one file, which includes this once */
__attribute__((visibility("default"))) const tn_plugin* PLUGIN_ENTRY(void) { return &plugin; }
