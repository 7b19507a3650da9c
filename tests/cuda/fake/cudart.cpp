// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The runtime's functions over the engine: devices, memory, streams, events.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine.h"

using namespace tenon::fake;

#define ENTER()                                              \
  std::lock_guard<std::recursive_mutex> hold_(state().lock); \
  const cudaError_t entered_ = enter(__func__);
#define BEGIN() ENTER() if (entered_ != cudaSuccess) return entered_

namespace {

bool known_device(int d) { return d >= 0 && d < state().devices && d < kMaxDevices; }

char* map(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

cudaError_t allocate(void** out, std::size_t bytes, int device) {
  if (bytes == 0) {
    *out = nullptr;
    return cudaSuccess;
  }
  State& s = state();
  if (device >= 0 && s.device[device].used + bytes > s.capacity)
    return fail(cudaErrorMemoryAllocation);
  char* p = map(bytes);
  if (!p) return fail(cudaErrorMemoryAllocation);
  std::memset(p, 0xcd,
              std::min<std::size_t>(bytes, 4096));  // not zero, as zeros are not guaranteed
  s.memory[p] = {bytes, device};
  if (device >= 0) s.device[device].used += bytes;
  *out = p;
  return cudaSuccess;
}

// Frees device or host memory; waits for the device as the real one does.
cudaError_t release(void* p, bool of_device) {
  if (!p) return cudaSuccess;
  State& s = state();
  auto it = s.memory.find(static_cast<char*>(p));
  if (it == s.memory.end() || (it->second.device >= 0) != of_device)
    return fail(cudaErrorInvalidValue);
  for (int d = 0; d < kMaxDevices; ++d) run_device(d);
  if (of_device) s.device[it->second.device].used -= it->second.bytes;
  munmap(p, it->second.bytes);
  s.memory.erase(it);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  const char* other = std::getenv("TENON_FAKE_CUDA_VERSION");
  *version = other ? std::atoi(other) : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = state().devices < 0 ? 0 : CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
  const cudaError_t e = t_last;
  t_last = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError(void) { return t_last; }
const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnjoined:
      return "cudaErrorStreamCaptureUnjoined";
    default:
      return "cudaErrorOfTheFake";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  if (e == cudaErrorInvalidDeviceFunction)
    return "the fake library runs no device code; kernels run in the emulator";
  static thread_local char text[32];
  std::snprintf(text, sizeof text, "fake error %d", static_cast<int>(e));
  return text;
}

cudaError_t cudaGetDeviceCount(int* n) {
  *n = 0;
  BEGIN();
  *n = state().devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  BEGIN();
  *device = t_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  ENTER();
  if (entered_ != cudaSuccess && entered_ != state().device[t_device].broken) return entered_;
  if (!known_device(device)) return fail(cudaErrorInvalidDevice);
  t_device = device;
  return fail(state().device[device].broken);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  BEGIN();
  if (!known_device(device)) return fail(cudaErrorInvalidDevice);
  std::memset(out, 0, sizeof *out);
  std::snprintf(out->name, sizeof out->name, "Fake %d", device);
  out->totalGlobalMem = state().capacity;
  out->major = 9;
  out->multiProcessorCount = 132;
  out->warpSize = 32;
  out->maxThreadsPerBlock = 1024;
  out->maxGridSize[0] = INT32_MAX;
  out->maxGridSize[1] = out->maxGridSize[2] = 65535;
  out->sharedMemPerBlock = 48 << 10;
  out->sharedMemPerBlockOptin = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  BEGIN();
  if (!known_device(device)) return fail(cudaErrorInvalidDevice);
  switch (attr) {
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = 1024;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 227 << 10;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = INT32_MAX;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  BEGIN();
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  BEGIN();
  *can = device != peer && known_device(peer);
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  BEGIN();
  const bool added = state().device[t_device].peers.insert(peer).second;
  return added ? cudaSuccess : fail(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceSynchronize(void) {
  BEGIN();
  for (cudaStream_t s : state().streams) {
    if (s->capture) {
      s->capture->invalid = true;
      return fail(cudaErrorStreamCaptureUnsupported);
    }
  }
  run_device(t_device);
  return fail(state().device[t_device].broken);
}

cudaError_t cudaMalloc(void** p, size_t bytes) {
  BEGIN();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  return allocate(p, bytes, t_device);
}
cudaError_t cudaFree(void* p) {
  ENTER();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  const cudaError_t released = release(p, true);
  return entered_ != cudaSuccess ? entered_ : released;
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  BEGIN();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  return allocate(p, bytes, -1);
}
cudaError_t cudaFreeHost(void* p) {
  ENTER();
  const cudaError_t released = release(p, false);
  return entered_ != cudaSuccess ? entered_ : released;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  BEGIN();
  *total = state().capacity;
  *free_bytes = state().capacity - std::min(state().capacity, state().device[t_device].used);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  BEGIN();
  cudaStream_t s = resolve(stream);
  const Memory *to = memory_at(dst, bytes), *from = memory_at(src, bytes);
  const bool from_host = kind == cudaMemcpyHostToDevice, to_host = kind == cudaMemcpyDeviceToHost;
  if ((!to_host && (!to || to->device < 0)) || (!from_host && (!from || from->device < 0)))
    return fail(cudaErrorInvalidValue);
  const bool pageable = (from_host && !from) || (to_host && !to);
  if (pageable && s->capture) {
    s->capture->invalid = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  if (from_host && pageable) {  // the real one stages it before it returns
    auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(src),
                                                      static_cast<const char*>(src) + bytes);
    return enqueue_copy(s, bytes, [=] { std::memcpy(dst, staged->data(), bytes); });
  }
  if (from_host || to_host)
    enqueue_copy(s, bytes, [=] { std::memmove(dst, src, bytes); });
  else
    enqueue(s, [=] { std::memmove(dst, src, bytes); });
  if (!pageable) return cudaSuccess;
  run_all(s);
  return fail(state().device[s->device].broken);
}
cudaError_t cudaMemcpyPeerAsync(void* dst, int to, const void* src, int from, size_t bytes,
                                cudaStream_t stream) {
  BEGIN();
  const Memory *a = memory_at(dst, bytes), *b = memory_at(src, bytes);
  if (!a || !b || a->device != to || b->device != from) return fail(cudaErrorInvalidValue);
  return enqueue(stream, [=] { std::memmove(dst, src, bytes); });
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t stream) {
  BEGIN();
  if (const Memory* m = memory_at(p, bytes); !m || m->device < 0)
    return fail(cudaErrorInvalidValue);
  return enqueue(stream, [=] { std::memset(p, value, bytes); });
}
cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  BEGIN();
  const std::size_t span = height == 0 ? 0 : (height - 1) * pitch + width;
  if (const Memory* m = memory_at(p, span); !m || m->device < 0) return fail(cudaErrorInvalidValue);
  return enqueue(stream, [=] {
    for (std::size_t i = 0; i < height; ++i)
      std::memset(static_cast<char*>(p) + i * pitch, value, width);
  });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* out, unsigned, int priority) {
  BEGIN();
  *out = new CUstream_st{t_device, {}, nullptr, priority};
  state().streams.push_back(*out);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) {
  BEGIN();
  *out = new CUstream_st{t_device, {}, nullptr, 0};
  state().streams.push_back(*out);
  return cudaSuccess;
}
// The real one lets the work finish.
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  ENTER();
  auto& all = state().streams;
  auto it = std::find(all.begin() + kMaxDevices, all.end(), s);
  if (it == all.end()) return fail(cudaErrorInvalidResourceHandle);
  run_all(s);
  all.erase(it);
  delete s;
  return entered_;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  BEGIN();
  cudaStream_t s = resolve(stream);
  if (s->capture) {
    s->capture->invalid = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  run_all(s);
  return fail(state().device[s->device].broken);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  BEGIN();
  cudaStream_t s = resolve(stream);
  if (s->capture) {
    s->capture->invalid = true;
    return fail(cudaErrorStreamCaptureUnsupported);
  }
  if (s->work.empty() && !s->stepping) return fail(state().device[s->device].broken);
  try_step(s);
  return fail(cudaErrorNotReady);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned flags) {
  BEGIN();
  *out = new CUevent_st{t_device, flags, nullptr};
  state().events.insert(*out);
  return cudaSuccess;
}
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t e) {
  BEGIN();
  const unsigned needed = cudaEventInterprocess | cudaEventDisableTiming;
  if ((e->flags & needed) != needed) return fail(cudaErrorInvalidResourceHandle);
  *handle = {};
  const auto address = reinterpret_cast<std::uintptr_t>(e);
  std::memcpy(handle, &address, sizeof address);
  return cudaSuccess;
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* out, cudaIpcEventHandle_t handle) {
  BEGIN();
  std::uintptr_t address;
  std::memcpy(&address, &handle, sizeof address);
  const auto e = reinterpret_cast<cudaEvent_t>(address);
  if (state().events.count(e) == 0) return fail(cudaErrorInvalidValue);
  *out = new CUevent_st{t_device, e->flags, nullptr, e};
  state().events.insert(*out);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  ENTER();
  if (state().events.erase(e) == 0) return fail(cudaErrorInvalidResourceHandle);
  delete e;
  return entered_;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  BEGIN();
  cudaStream_t s = resolve(stream);
  if (s->device != e->device) return fail(cudaErrorInvalidResourceHandle);
  e->record() = std::make_shared<Record>();
  e->record()->stream = s;
  e->record()->capture = s->capture;
  if (!s->capture) s->work.push_back({nullptr, nullptr, e->record(), nullptr});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  BEGIN();
  cudaStream_t s = resolve(stream);
  if (!e->record()) return cudaSuccess;
  if (Capture* c = e->record()->capture) {
    if (s->capture && s->capture != c) return fail(cudaErrorStreamCaptureIsolation);
    if (!s->capture) s->capture = c;
    c->joined.erase(e->record()->stream);
    if (s != c->origin) c->joined.insert(s);
    return cudaSuccess;
  }
  if (s->capture) {
    s->capture->invalid = true;
    return fail(cudaErrorStreamCaptureIsolation);
  }
  s->work.push_back({nullptr, e->record(), nullptr, nullptr});
  return cudaSuccess;
}
// A query runs one work item, so that polling loops end.
cudaError_t cudaEventQuery(cudaEvent_t e) {
  BEGIN();
  if (forbidden()) return fail(cudaErrorStreamCaptureUnsupported);
  if (!e->record()) return cudaSuccess;
  if (e->record()->capture) return fail(cudaErrorCapturedEvent);
  if (e->record()->done) return cudaSuccess;
  try_step(e->record()->stream);
  return fail(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  BEGIN();
  if (!e->record()) return cudaSuccess;
  if (e->record()->capture) return fail(cudaErrorCapturedEvent);
  run_until(*e->record());
  host_waits(e->record()->timeline_ms);
  return fail(state().device[e->device].broken);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  BEGIN();
  const bool timed = !((begin->flags | end->flags) & cudaEventDisableTiming);
  if (!timed || !begin->record() || !end->record()) return fail(cudaErrorInvalidResourceHandle);
  if (!begin->record()->done || !end->record()->done) return fail(cudaErrorNotReady);
  *ms = static_cast<float>(end->record()->at_ms - begin->record()->at_ms);
  return cudaSuccess;
}
}
