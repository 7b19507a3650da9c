/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The descriptor of a plugin and the one symbol that it exports. */
#ifndef TENON_ABI_PLUGIN_H_
#define TENON_ABI_PLUGIN_H_

#include "tenon/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TN_PLUGIN_UNLOADABLE = 1u << 0, /* may be closed once no tensor, stream or node of it is alive */
  /* One thread at a time runs its kernels (run, supports, workspace); all plugins with this flag
     share one lock. A kernel holds it while it calls host services, so that parallel_for then runs
     on its thread alone, and call_op may reenter the plugin. Not covered: the device table, which
     any thread may call, and describe. */
  TN_PLUGIN_SINGLE_THREADED = 1u << 1,
  /* kernels for another plugin's or core's device: no device table */
  TN_PLUGIN_HOST_MEMORY = 1u << 2
};

/* Limits of one process. A plugin whose device type would exceed the first is refused; devices that
 * `count` reports beyond the second are not used, and `tenon plugins` says so. */
enum {
  TN_MAX_DEVICE_TYPES = 16, /* names of devices, the host included */
  TN_MAX_DEVICES = 16       /* per type */
};

typedef struct tn_plugin {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_target_minor; /* the lowest minor it needs */
  uint32_t flags;
  uint32_t kernel_stride; /* sizeof(tn_kernel) of the plugin's headers */
  tn_str name;            /* "cpu" */
  tn_str version;         /* "0.1.0" */
  tn_str vendor;
  /* the device its kernels serve, by name; "any": tensors of its layouts on every device; "none":
     it has no kernels and is opened on demand alone (an engine of ext/collective.h) */
  tn_str device;
  const tn_ext* ext;
  const tn_device_api* device_api; /* null with TN_PLUGIN_HOST_MEMORY */
  /* [kernels, kernels_end): pointers, gathered in the section tn_kernels. Of several plugins'
   * kernels for a call that of the highest tn_kernel.priority is tried first; among equals that of
   * the plugin whose manifest has the higher priority (0 without a manifest), and among equals
   * again that of the plugin that was opened last. */
  const tn_kernel* const* kernels;
  const tn_kernel* const* kernels_end;
  /* Called once, before any kernel. TN_NO_DEVICE: no device is present. The plugin keeps `host`. */
  tn_status (*init)(const tn_host* host, tn_str* why);
  void (*shutdown)(void);
  /* optional: one line for `tenon plugins`, after init ("AVX3, oneDNN 2.6.3") */
  tn_str (*describe)(void);
} tn_plugin;

/* A static const descriptor. The function runs no code beyond returning it. */
#define TN_PLUGIN_ENTRY "tenon_plugin_v1"
typedef const tn_plugin* (*tn_plugin_entry_fn)(void);

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_PLUGIN_H_ */
