/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Device memory and events shared between processes. */
#ifndef TENON_ABI_EXT_IPC_H_
#define TENON_ABI_EXT_IPC_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_ipc {
  tn_ext head;
  /* of every handle, at most 128; functions for what a device cannot share are null */
  uint32_t handle_bytes;
  tn_status (*export_memory)(void* context, int32_t index, void* handle, uint8_t* out);
  tn_status (*import_memory)(void* context, int32_t index, const uint8_t* in, void** handle);
  void (*close_memory)(void* context, int32_t index, void* handle);
  /* For events created with TN_EVENT_INTERPROCESS; both sides call event_destroy. */
  tn_status (*export_event)(void* context, int32_t index, tn_event* event, uint8_t* out);
  tn_status (*import_event)(void* context, int32_t index, const uint8_t* in, tn_event** event);
} tn_ext_ipc;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_IPC_H_ */
