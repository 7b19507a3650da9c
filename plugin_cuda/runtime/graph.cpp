// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Captured graphs, stored instantiated.
#include <memory>
#include <mutex>

#include "plugin_cuda/runtime/runtime.h"

struct tn_graph {
  cudaGraphExec_t exec;
};

namespace tenon::cuda {
namespace {

std::mutex g_captures_lock;  // a capture begins while nobody waits for a whole device
int g_captures = 0;

tn_status begin(void*, int32_t index, tn_stream* stream) {
  return guarded(index, [&] {
    const cudaStream_t s = native(index, stream);
    const std::lock_guard<std::mutex> hold(g_captures_lock);
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
          index);
    ++g_captures;
  });
}

// Ends the capture even if it fails.
tn_status end(void*, int32_t index, tn_stream* stream, tn_graph** out) {
  try {
    if (!forked()) {
      const std::lock_guard<std::mutex> hold(g_captures_lock);
      --g_captures;
    }
    check_usable(index);
    const ReleaseGuard on(index);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(native(index, stream), &graph), "cudaStreamEndCapture", index);
    auto g = std::unique_ptr<tn_graph>(new (std::nothrow) tn_graph{});
    const cudaError_t status =
        g ? cudaGraphInstantiate(&g->exec, graph, 0) : cudaErrorMemoryAllocation;
    cudaGraphDestroy(graph);  // the instantiated graph does not need it
    check(status, "cudaGraphInstantiate", index);
    *out = g.release();
    return TN_OK;
  } catch (...) {
    return detail::report_current();
  }
}

tn_status launch(void*, int32_t index, tn_graph* graph, tn_stream* stream) {
  return guarded(index, [&] {
    cudaStream_t s = native(index, stream);
    launched(cudaGraphLaunch(graph->exec, s), index, s, "a captured graph");
  });
}

// A running launch keeps its resources.
void destroy(void*, int32_t index, tn_graph* graph) {
  release_on(index, "cudaGraphExecDestroy", [&] { return cudaGraphExecDestroy(graph->exec); });
  delete graph;
}

}  // namespace

bool wait_outside_captures(int index) {
  const std::lock_guard<std::mutex> hold(g_captures_lock);
  if (g_captures > 0) return false;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", index);
  return true;
}

extern const tn_ext_graph_capture kGraphCapture = {
    {sizeof(tn_ext_graph_capture), TN_EXT_GRAPH_CAPTURE, 0, &kProfiler.head},
    begin,
    end,
    launch,
    destroy};

}  // namespace tenon::cuda
