/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Linked with core's C functions into a library with debug information, for abidiff: a function
 * that names every table, so that all types of the ABI are reachable from what is exported. */
#include "tenon/abi/client.h"
#include "tenon/abi/plugin.h"

TN_API void tn_every_type(const tn_plugin* plugin, const tn_host* host, const tn_device_api* api,
                          const tn_call* call, const tn_kernel* kernel, const tn_schema* schema,
                          const tn_ext* ext, tn_plugin_entry_fn entry);
void tn_every_type(const tn_plugin* plugin, const tn_host* host, const tn_device_api* api,
                   const tn_call* call, const tn_kernel* kernel, const tn_schema* schema,
                   const tn_ext* ext, tn_plugin_entry_fn entry) {
  (void)plugin, (void)host, (void)api, (void)call, (void)kernel, (void)schema, (void)ext,
      (void)entry;
}
