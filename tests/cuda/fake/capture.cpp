// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Capture, graphs, and the launches of kernels, which are only counted: their code is device code,
// except that of libraries.
#include "engine.h"

using namespace tenon::fake;

#define ENTER()                                              \
  std::lock_guard<std::recursive_mutex> hold_(state().lock); \
  const cudaError_t entered_ = enter(__func__);
#define BEGIN() ENTER() if (entered_ != cudaSuccess) return entered_

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, t_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  BEGIN();
  if (reinterpret_cast<uintptr_t>(s) <= 2) return fail(cudaErrorStreamCaptureUnsupported);
  if (s->capture) return fail(cudaErrorIllegalState);
  s->capture = new Capture{s, {}, {}};
  ++t_captures;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* out) {
  ENTER();
  *out = nullptr;
  if (!s->capture || s->capture->origin != s) return fail(cudaErrorIllegalState);
  std::unique_ptr<Capture> c(s->capture);
  --t_captures;
  for (cudaStream_t other : state().streams) {
    if (other->capture == c.get()) other->capture = nullptr;
  }
  if (entered_ != cudaSuccess) return entered_;
  if (c->invalid) return fail(cudaErrorStreamCaptureInvalidated);
  if (!c->joined.empty()) return fail(cudaErrorStreamCaptureUnjoined);
  *out = new CUgraph_st{};
  (*out)->nodes = std::move(c->nodes);
  ++state().graphs;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  BEGIN();
  const Capture* c = resolve(stream)->capture;
  *status = !c           ? cudaStreamCaptureStatusNone
            : c->invalid ? cudaStreamCaptureStatusInvalidated
                         : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  BEGIN();
  *out = new CUgraphExec_st{};
  (*out)->nodes = graph->nodes;
  ++state().graphs;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  ENTER();
  --state().graphs;
  delete graph;
  return entered_;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  ENTER();
  --state().graphs;
  delete exec;
  return entered_;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  BEGIN();
  for (const auto& node : exec->nodes) enqueue(stream, node);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* f, void** args) {
  BEGIN();
  const dim3 &g = config->gridDim, &b = config->blockDim;
  const bool fits = g.x && g.y && g.z && b.x && b.y && b.z && b.x * b.y * b.z <= 1024 &&
                    g.y < 65536 && g.z < 65536;
  if (fits && is_of_library(f)) return launch_of_library(*config, f, args);
  return fail(fits ? cudaErrorInvalidDeviceFunction
                   : cudaErrorInvalidConfiguration);  // no device code can run here
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  return cudaLaunchKernelExC(&config, f, args);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, const void*) {
  BEGIN();
  *out = {};
  out->maxThreadsPerBlock = 1024;
  out->ptxVersion = out->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  BEGIN();
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int, size_t) {
  BEGIN();
  *n = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void*, int, size_t,
                                                                   unsigned) {
  BEGIN();
  *n = 2;
  return cudaSuccess;
}

// Functions that code of nvcc calls when a library with kernels is loaded, and for a launch.
static void* g_image;
void** __cudaRegisterFatBinary(void*) { return &g_image; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**) { return 1; }
static thread_local cudaLaunchConfig_t t_config;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  t_config.gridDim = grid;
  t_config.blockDim = block;
  t_config.dynamicSmemBytes = shared;
  t_config.stream = stream;
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = t_config.gridDim;
  *block = t_config.blockDim;
  *shared = t_config.dynamicSmemBytes;
  *static_cast<cudaStream_t*>(stream) = t_config.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* f) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(f));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t f, dim3 grid, dim3 block, void** args, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(f, grid, block, args, shared, stream);
}
}
