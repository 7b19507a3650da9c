/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Recording the work of a stream and replaying it.
 *
 * Between begin and end the stream (null: the device's default) records its work and runs none of
 * it. alloc and free stay allowed and are not recorded. After end, whatever it returns, the stream
 * runs work again. A graph may be launched repeatedly, on any stream of its device; destroy may be
 * called while a launch is in progress. */
#ifndef TENON_ABI_EXT_GRAPH_CAPTURE_H_
#define TENON_ABI_EXT_GRAPH_CAPTURE_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_graph tn_graph;
typedef struct tn_ext_graph_capture {
  tn_ext head;
  tn_status (*begin)(void* context, int32_t index, tn_stream* stream);
  tn_status (*end)(void* context, int32_t index, tn_stream* stream, tn_graph** out);
  tn_status (*launch)(void* context, int32_t index, tn_graph* graph, tn_stream* stream);
  void (*destroy)(void* context, int32_t index, tn_graph* graph);
} tn_ext_graph_capture;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_GRAPH_CAPTURE_H_ */
