/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The generator's state on the device, for graphs that draw new random values at each replay. */
#ifndef TENON_ABI_EXT_RNG_H_
#define TENON_ABI_EXT_RNG_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ext_rng {
  tn_ext head;
  tn_status (*make_offset)(void* context, int32_t index, void** device_word);
  tn_status (*set_offset)(void* context, int32_t index, void* device_word, uint64_t offset,
                          tn_stream* stream);
  void (*free_offset)(void* context, int32_t index, void* device_word);
} tn_ext_rng;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_RNG_H_ */
