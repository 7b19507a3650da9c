// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/lower_bounds/lower_bounds.h"

#include <chrono>

#include "plugin_cuda/lower_bounds/measure.h"

using namespace tenon::lower_bounds;

namespace {

__global__ void one_element(float* p) {
  if (threadIdx.x == 0) p[0] += 1;
}

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

template <class F>
cudaError_t launch(F kernel, unsigned grid, unsigned block, cudaStream_t s, void** arguments) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(grid), dim3(block), arguments,
                          0, s);
}

}  // namespace

int tenon_bound_devices(void) {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

double tenon_bound_launch_us(int launches) {
  const Memory m(4);
  float* p = m.as<float>();
  void* arguments[] = {&p};
  for (int i = 0; i < 100; ++i) launch(one_element, 1, 32, nullptr, arguments);
  cudaDeviceSynchronize();
  bool well = true;
  const double begin = now_us();
  for (int i = 0; i < launches; ++i)
    well &= launch(one_element, 1, 32, nullptr, arguments) == cudaSuccess;
  const double took = now_us() - begin;
  return cudaDeviceSynchronize() == cudaSuccess && well ? took / launches : -1;
}

double tenon_bound_graph_us(int nodes, int launches) {
  const Memory m(4);
  float* p = m.as<float>();
  void* arguments[] = {&p};
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  if (cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess) return -1;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  bool recorded = true;
  for (int i = 0; i < nodes; ++i)
    recorded &= launch(one_element, 1, 32, s, arguments) == cudaSuccess;
  if (cudaStreamEndCapture(s, &graph) != cudaSuccess || !recorded) return -1;
  if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess) return -1;
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  const double begin = now_us();
  for (int i = 0; i < launches; ++i) cudaGraphLaunch(exec, s);
  const bool well = cudaStreamSynchronize(s) == cudaSuccess;
  const double took = now_us() - begin;
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
  return well ? took / launches : -1;
}

double tenon_bound_copy_gb_s(int64_t bytes) {
  const Memory a(bytes), b(bytes);
  if (!a.p || !b.p) return -1;
  const auto n = static_cast<size_t>(bytes);
  const double ms =
      device_ms(20, [&] { cudaMemcpyAsync(a.p, b.p, n, cudaMemcpyDeviceToDevice, nullptr); });
  return ms <= 0 ? -1 : 2e-6 * static_cast<double>(bytes) / ms;
}

double tenon_bound_pinned_gb_s(int64_t bytes) {
  const Memory a(bytes);
  void* host = nullptr;
  const auto n = static_cast<size_t>(bytes);
  if (!a.p || cudaHostAlloc(&host, n, cudaHostAllocDefault) != cudaSuccess) return -1;
  const double ms =
      device_ms(10, [&] { cudaMemcpyAsync(a.p, host, n, cudaMemcpyHostToDevice, nullptr); });
  cudaFreeHost(host);
  return ms <= 0 ? -1 : 1e-6 * static_cast<double>(bytes) / ms;
}

double tenon_bound_first_ms(void) {
  const double begin = now_us();
  const Memory m(4);
  float* p = m.as<float>();
  void* arguments[] = {&p};
  const bool well = launch(one_element, 1, 32, nullptr, arguments) == cudaSuccess;
  return cudaDeviceSynchronize() == cudaSuccess && well ? 1e-3 * (now_us() - begin) : -1;
}
