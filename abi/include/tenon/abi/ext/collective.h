/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Collective operations among the processes of a group. */
#ifndef TENON_ABI_EXT_COLLECTIVE_H_
#define TENON_ABI_EXT_COLLECTIVE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_group tn_group;
enum {
  TN_COLLECTIVE_SUM = 0,
  TN_COLLECTIVE_PRODUCT = 1,
  TN_COLLECTIVE_MIN = 2,
  TN_COLLECTIVE_MAX = 3
};
typedef struct tn_ext_collective {
  tn_ext head;
  tn_status (*unique_id)(void* context, uint8_t id[128]);
  tn_status (*join)(void* context, int32_t index, const uint8_t id[128], int32_t rank, int32_t size,
                    tn_group** out);
  void (*leave)(void* context, tn_group* group);
  tn_status (*all_reduce)(void* context, tn_group* group, const tn_tensor* tensor, int32_t op,
                          tn_stream* stream);
  tn_status (*broadcast)(void* context, tn_group* group, const tn_tensor* tensor, int32_t root,
                         tn_stream* stream);
  tn_status (*all_gather)(void* context, tn_group* group, const tn_tensor* in, const tn_tensor* out,
                          tn_stream* stream);
  tn_status (*send)(void* context, tn_group* group, const tn_tensor* tensor, int32_t peer,
                    tn_stream* stream);
  tn_status (*recv)(void* context, tn_group* group, const tn_tensor* tensor, int32_t peer,
                    tn_stream* stream);
} tn_ext_collective;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_COLLECTIVE_H_ */
