// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Raw memory, copies, streams and events: core's caching allocator calls alloc and free.
#include <algorithm>
#include <cstring>
#include <memory>

#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/device.h"

namespace tenon::cuda {

using sdk::Error;

cudaStream_t native(int index, const tn_stream* stream) {
  if (stream) return stream->stream;
  Gpu& g = gpu(index);
  cudaStream_t s = __atomic_load_n(&g.main.stream, __ATOMIC_ACQUIRE);
  if (s) return s;
  std::lock_guard<std::mutex> hold(g.lock);
  if (g.main.stream) return g.main.stream;
  UncapturedGuard uncaptured;
  if (cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); e != cudaSuccess) {
    (void)cudaGetLastError();
    throw Error(TN_ERROR_BACKEND, "cudaStreamCreateWithFlags failed: ", cudaGetErrorName(e));
  }
  g.main.index = index;
  __atomic_store_n(&g.main.stream, s, __ATOMIC_RELEASE);
  return s;
}

namespace {

#define CUDA_CALL(index, call, ...) check(call(__VA_ARGS__), #call, index)

tn_status count_devices(void*, int32_t* n) {
  *n = count();
  return TN_OK;
}

// Querying free memory would create the context of an unused device.
tn_status props(void*, int32_t index, tn_device_props* out) {
  try {
    Gpu& g = gpu(index);
    std::strncpy(out->name, g.props.name, sizeof out->name - 1);
    out->name[sizeof out->name - 1] = 0;
    out->total_bytes = out->free_bytes = g.props.totalGlobalMem;
    out->alignment = 256;
    out->flags = TN_DEVICE_ASYNC | TN_DEVICE_WANTS_PINNED;
    out->compute_units = static_cast<uint32_t>(g.props.multiProcessorCount);
    if (!g.used.load(std::memory_order_acquire) || g.dead || forked()) return TN_OK;
    return guarded(index, [&] {
      std::size_t free = 0, total = 0;
      CUDA_CALL(index, cudaMemGetInfo, &free, &total);
      out->free_bytes = free;
    });
  } catch (...) {
    return detail::report_current();
  }
}

tn_status alloc(void*, int32_t index, uint64_t bytes, tn_stream*, void** handle) {
  return guarded(index, [&] {
    UncapturedGuard uncaptured;
    CUDA_CALL(index, cudaMalloc, handle, std::max<uint64_t>(bytes, 1));
  });
}

// Waits for work that uses the block.
void release(void*, int32_t index, void* handle, uint64_t, tn_stream*) {
  release_on(index, "cudaFree", [&] { return cudaFree(handle); });
}

tn_status alloc_pinned(void*, uint64_t bytes, void** host) {
  int index = 0;
  (void)cudaGetDevice(&index);
  return guarded(index, [&] {
    UncapturedGuard uncaptured;
    CUDA_CALL(index, cudaHostAlloc, host, std::max<uint64_t>(bytes, 1),
              cudaHostAllocPortable | cudaHostAllocMapped);
  });
}

void free_pinned(void*, void* host, uint64_t) {
  int index = 0;
  (void)cudaGetDevice(&index);
  release_on(index, "cudaFreeHost", [&] { return cudaFreeHost(host); });
}

// Without peer access the runtime copies through the host.
void enable_peer_access(int from, int to) {
  Gpu& g = gpu(to);
  std::lock_guard<std::mutex> hold(g.lock);
  if (g.peers >> from & 1) return;
  int can = 0;
  CUDA_CALL(to, cudaDeviceCanAccessPeer, &can, to, from);
  if (can) {
    const cudaError_t status = cudaDeviceEnablePeerAccess(from, 0);
    (void)cudaGetLastError();
    if (status != cudaErrorPeerAccessAlreadyEnabled && status != cudaSuccess) {
      throw Error(TN_ERROR_BACKEND,
                  "cudaDeviceEnablePeerAccess failed: ", cudaGetErrorName(status));
    }
  }
  g.peers |= 1u << from;
}

void finish_async(int index, cudaStream_t s, const char* what) {
  if (blocking()) launched(cudaSuccess, index, s, what);
}

tn_status copy(void*, tn_device dst_device, void* dst, uint64_t dst_offset, tn_device src_device,
               const void* src, uint64_t src_offset, uint64_t bytes, tn_stream* stream) {
  const bool from_host = src_device.type == TN_CPU, to_host = dst_device.type == TN_CPU;
  const int index = to_host ? src_device.index : dst_device.index;
  return guarded(index, [&] {
    if (bytes == 0) return;
    char* to = static_cast<char*>(dst) + dst_offset;
    const char* from = static_cast<const char*>(src) + src_offset;
    cudaStream_t s = native(index, stream);
    if (from_host || to_host || dst_device.index == src_device.index) {
      const cudaMemcpyKind kind = from_host ? cudaMemcpyHostToDevice
                                  : to_host ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
      CUDA_CALL(index, cudaMemcpyAsync, to, from, bytes, kind, s);
    } else {
      enable_peer_access(src_device.index, index);
      CUDA_CALL(index, cudaMemcpyPeerAsync, to, index, from, src_device.index, bytes, s);
    }
    finish_async(index, s, "copy");
  });
}

tn_status sync(void*, int32_t index, tn_stream* stream) {
  if (!forked() && index < count() && !gpu(index).used.load(std::memory_order_acquire))
    return TN_OK;
  return guarded(index, [&] {
    if (stream) {
      CUDA_CALL(index, cudaStreamSynchronize, stream->stream);
    } else {
      CUDA_CALL(index, cudaDeviceSynchronize);
    }
  });
}

tn_status stream_sync(void*, int32_t index, tn_stream* stream) {
  if (!forked() && index < count() && !gpu(index).used.load(std::memory_order_acquire))
    return TN_OK;
  return guarded(index, [&] { CUDA_CALL(index, cudaStreamSynchronize, native(index, stream)); });
}

// A single pattern is copied: the runtime has staged it when the call returns. A capture would keep
// only its address; there, and for n > 1, a pattern of different bytes is written by one strided
// memset per byte.
tn_status fill(void*, int32_t index, void* dst, uint64_t offset, const void* pattern,
               uint32_t pattern_bytes, uint64_t n, tn_stream* stream) {
  return guarded(index, [&] {
    if (n == 0) return;
    const auto* p = static_cast<const unsigned char*>(pattern);
    char* to = static_cast<char*>(dst) + offset;
    cudaStream_t s = native(index, stream);
    if (std::all_of(p, p + pattern_bytes, [&](unsigned char c) { return c == p[0]; })) {
      CUDA_CALL(index, cudaMemsetAsync, to, p[0], n * pattern_bytes, s);
    } else if (n == 1 && !capturing(index, s)) {
      CUDA_CALL(index, cudaMemcpyAsync, to, p, pattern_bytes, cudaMemcpyHostToDevice, s);
    } else {
      for (uint32_t i = 0; i < pattern_bytes; ++i) {
        CUDA_CALL(index, cudaMemset2DAsync, to + i, pattern_bytes, p[i], 1, n, s);
      }
    }
    finish_async(index, s, "fill");
  });
}

// A lower number is a higher priority, as in the runtime; clamped to the device's range.
tn_status stream_create(void*, int32_t index, int32_t priority, tn_stream** out) {
  return guarded(index, [&] {
    auto s = std::make_unique<tn_stream>();
    int least = 0, greatest = 0;
    UncapturedGuard uncaptured;
    CUDA_CALL(index, cudaDeviceGetStreamPriorityRange, &least, &greatest);
    CUDA_CALL(index, cudaStreamCreateWithPriority, &s->stream, cudaStreamNonBlocking,
              std::clamp<int>(priority, greatest, least));
    s->index = index;
    *out = s.release();
  });
}

void stream_destroy(void*, int32_t index, tn_stream* stream) {
  release_on(index, "cudaStreamDestroy", [&] { return cudaStreamDestroy(stream->stream); });
  delete stream;
}

tn_status event_create(void*, int32_t index, uint32_t flags, tn_event** out) {
  return guarded(index, [&] {
    auto e = std::make_unique<tn_event>();
    e->recorded = false;
    unsigned how = flags & TN_EVENT_NO_TIMING ? cudaEventDisableTiming : cudaEventDefault;
    if (flags & TN_EVENT_INTERPROCESS) how = cudaEventInterprocess | cudaEventDisableTiming;
    CUDA_CALL(index, cudaEventCreateWithFlags, &e->event, how);
    *out = e.release();
  });
}

void event_destroy(void*, int32_t index, tn_event* event) {
  release_on(index, "cudaEventDestroy", [&] { return cudaEventDestroy(event->event); });
  delete event;
}

tn_status event_record(void*, int32_t index, tn_event* event, tn_stream* stream) {
  return guarded(index, [&] {
    CUDA_CALL(index, cudaEventRecord, event->event, native(index, stream));
    event->recorded = true;
  });
}

tn_status event_wait(void*, int32_t index, tn_event* event, tn_stream* stream) {
  return guarded(index, [&] {
    CUDA_CALL(index, cudaStreamWaitEvent, native(index, stream), event->event, 0);
  });
}

int32_t is_done(cudaError_t status, const char* call, int32_t index) {
  if (status != cudaErrorNotReady)
    check(status, call, index);
  else
    (void)cudaGetLastError();
  return status == cudaSuccess;
}

tn_status event_query(void*, int32_t index, tn_event* event, int32_t* done) {
  return guarded(index, [&] {
    UncapturedGuard uncaptured;
    *done = is_done(cudaEventQuery(event->event), "cudaEventQuery", index);
  });
}

tn_status stream_query(void*, int32_t index, tn_stream* stream, int32_t* done) {
  return guarded(index, [&] {
    *done = is_done(cudaStreamQuery(native(index, stream)), "cudaStreamQuery", index);
  });
}

tn_status event_sync(void*, int32_t index, tn_event* event) {
  return guarded(index, [&] { CUDA_CALL(index, cudaEventSynchronize, event->event); });
}

tn_status event_elapsed(void*, int32_t index, tn_event* begin, tn_event* end, double* ms) {
  return guarded(index, [&] {
    if (!begin->recorded || !end->recorded)
      throw Error(TN_ERROR_VALUE, "the event was never recorded");
    float passed = 0;
    CUDA_CALL(index, cudaEventSynchronize, end->event);
    CUDA_CALL(index, cudaEventElapsedTime, &passed, begin->event, end->event);
    *ms = passed;
  });
}

tn_status export_event(void*, int32_t index, tn_event* event, uint8_t* out) {
  return guarded(index, [&] {
    cudaIpcEventHandle_t handle;
    CUDA_CALL(index, cudaIpcGetEventHandle, &handle, event->event);
    std::memcpy(out, &handle, sizeof handle);
  });
}

tn_status import_event(void*, int32_t index, const uint8_t* in, tn_event** out) {
  return guarded(index, [&] {
    cudaIpcEventHandle_t handle;
    std::memcpy(&handle, in, sizeof handle);
    auto e = std::make_unique<tn_event>();
    e->recorded = true;
    CUDA_CALL(index, cudaIpcOpenEventHandle, &e->event, handle);
    *out = e.release();
  });
}

void* native_stream(void*, int32_t index, tn_stream* stream) {
  cudaStream_t s = nullptr;
  guarded(index, [&] { s = native(index, stream); });
  return s;
}

}  // namespace

extern const tn_device_api kDeviceApi =
    sdk::DeviceFunctions(count_devices, props, alloc, release, copy, sync)
        .fill(fill)
        .streams(stream_create, stream_destroy, stream_sync, stream_query)
        .native_stream(native_stream)
        .events(event_create, event_destroy, event_record, event_wait, event_query, event_elapsed,
                event_sync)
        .pinned(alloc_pinned, free_pinned)
        .last_error(last_error);

static_assert(sizeof(cudaIpcEventHandle_t) == CUDA_IPC_HANDLE_SIZE);
extern const tn_ext_ipc kIpc = {{sizeof(tn_ext_ipc), TN_EXT_IPC, 0, nullptr},
                                CUDA_IPC_HANDLE_SIZE,
                                nullptr,
                                nullptr,
                                nullptr,
                                export_event,
                                import_event};

}  // namespace tenon::cuda
