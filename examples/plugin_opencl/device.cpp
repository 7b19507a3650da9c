// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory, copies, streams and events. A block is a cl_mem, an opaque handle: core passes {cl_mem,
// offset}. Streams are in-order queues.
#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>

#include "runtime.h"
#include "tenon/sdk/device.h"

namespace tenon::opencl {
namespace {

using sdk::Error;

// Trivially destructible: a thread_local destructor would keep the library loaded.
thread_local char t_error[512];

template <class F>
tn_status catch_errors(F body) noexcept {
  try {
    body();
    return TN_OK;
  } catch (const Error& e) {
    t_error[e.what().copy(t_error, sizeof t_error - 1)] = 0;
    return e.code();
  } catch (const std::bad_alloc&) {
    std::strcpy(t_error, "out of host memory");
    return TN_ERROR_MEMORY;
  } catch (const std::exception& e) {
    std::strncpy(t_error, e.what(), sizeof t_error - 1);
    return TN_ERROR_BACKEND;
  }
}

tn_status count_devices(void*, int32_t* n) {
  *n = device_count();
  return TN_OK;
}

template <class T>
T info(cl_device_id id, cl_device_info what) {
  T v{};
  check(clGetDeviceInfo(id, what, sizeof v, &v, nullptr), "clGetDeviceInfo");
  return v;
}

tn_status props(void*, int32_t index, tn_device_props* out) {
  return catch_errors([&] {
    const cl_device_id id = gpu(index).id;
    check(clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof out->name, out->name, nullptr),
          "clGetDeviceInfo");
    out->total_bytes = info<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    out->free_bytes = out->total_bytes;  // OpenCL has no query for it
    out->alignment = std::max<cl_uint>(info<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 64);
    out->flags = TN_DEVICE_OPAQUE | TN_DEVICE_ASYNC | TN_DEVICE_WANTS_PINNED;
    out->compute_units = info<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  });
}

tn_status alloc(void*, int32_t index, uint64_t bytes, tn_stream*, void** handle) {
  return catch_errors([&] {
    cl_int status;
    *handle = clCreateBuffer(gpu(index).context, CL_MEM_READ_WRITE, std::max<uint64_t>(bytes, 1),
                             nullptr, &status);
    check(status, "clCreateBuffer");
  });
}

// The OpenCL runtime frees it when the commands that use it are done.
void release(void*, int32_t, void* handle, uint64_t, tn_stream*) {
  clReleaseMemObject(static_cast<cl_mem>(handle));
}

// Host memory that a queue may access after a copy has returned: mapped for its whole lifetime.
struct Pinned {
  cl_mem memory;
  uint64_t bytes;
};
struct PinnedBlocks {
  std::mutex lock;
  std::map<char*, Pinned> all;
};
PinnedBlocks& pinned() {
  static auto& p = *new PinnedBlocks;
  return p;
}

bool is_pinned(const void* host, uint64_t bytes) {
  PinnedBlocks& p = pinned();
  std::lock_guard<std::mutex> hold(p.lock);
  char* at = static_cast<char*>(const_cast<void*>(host));
  auto it = p.all.upper_bound(at);
  if (it == p.all.begin()) return false;
  --it;
  return at + bytes <= it->first + it->second.bytes;
}

tn_status alloc_pinned(void*, uint64_t bytes, void** host) {
  return catch_errors([&] {
    Gpu& g = gpu(0);
    cl_int status;
    bytes = std::max<uint64_t>(bytes, 1);
    cl_mem m = clCreateBuffer(g.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr,
                              &status);
    check(status, "clCreateBuffer");
    void* p = clEnqueueMapBuffer(g.main.queue, m, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                 nullptr, nullptr, &status);
    if (status != CL_SUCCESS) clReleaseMemObject(m);
    check(status, "clEnqueueMapBuffer");
    std::lock_guard<std::mutex> hold(pinned().lock);
    pinned().all[static_cast<char*>(p)] = {m, bytes};
    *host = p;
  });
}

void free_pinned(void*, void* host, uint64_t) {
  Pinned block;
  {
    std::lock_guard<std::mutex> hold(pinned().lock);
    auto it = pinned().all.find(static_cast<char*>(host));
    if (it == pinned().all.end()) return;
    block = it->second;
    pinned().all.erase(it);
  }
  for (int i = 0; i < device_count(); ++i) {  // copies may be in progress
    std::lock_guard<std::mutex> hold(gpu(i).lock);
    for (tn_stream* s : gpu(i).streams) clFinish(s->queue);
  }
  clEnqueueUnmapMemObject(gpu(0).main.queue, block.memory, host, 0, nullptr, nullptr);
  clFinish(gpu(0).main.queue);
  clReleaseMemObject(block.memory);
}

void copy_on_device(Gpu& g, tn_stream& s, cl_mem dst, uint64_t to, cl_mem src, uint64_t from,
                    uint64_t bytes) {
  const bool overlap = dst == src && to < from + bytes && from < to + bytes;
  if (!overlap) {
    check(clEnqueueCopyBuffer(s.queue, src, dst, from, to, bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
    return;
  }
  cl_int status;
  cl_mem between = clCreateBuffer(g.context, CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status, "clCreateBuffer");
  status = clEnqueueCopyBuffer(s.queue, src, between, from, 0, bytes, 0, nullptr, nullptr);
  if (status == CL_SUCCESS)
    status = clEnqueueCopyBuffer(s.queue, between, dst, 0, to, bytes, 0, nullptr, nullptr);
  clReleaseMemObject(between);
  check(status, "clEnqueueCopyBuffer");
}

// Two devices share no context, so the copy goes through the host.
void copy_between_devices(tn_device to, cl_mem dst, uint64_t dst_offset, tn_device from, cl_mem src,
                          uint64_t src_offset, uint64_t bytes) {
  Gpu &a = gpu(from.index), &b = gpu(to.index);
  finish_all(a);
  std::unique_ptr<char[]> host(new char[bytes]);
  check(clEnqueueReadBuffer(a.main.queue, src, CL_TRUE, src_offset, bytes, host.get(), 0, nullptr,
                            nullptr),
        "clEnqueueReadBuffer");
  finish_all(b);
  check(clEnqueueWriteBuffer(b.main.queue, dst, CL_TRUE, dst_offset, bytes, host.get(), 0, nullptr,
                             nullptr),
        "clEnqueueWriteBuffer");
}

tn_status copy(void*, tn_device dst_device, void* dst, uint64_t dst_offset, tn_device src_device,
               const void* src, uint64_t src_offset, uint64_t bytes, tn_stream* stream) {
  return catch_errors([&] {
    const bool up = src_device.type == TN_CPU, down = dst_device.type == TN_CPU;
    cl_mem to = static_cast<cl_mem>(dst), from = static_cast<cl_mem>(const_cast<void*>(src));
    if (bytes == 0) return;
    Gpu& g = gpu(down ? src_device.index : dst_device.index);
    tn_stream& s = stream_of(g, stream);
    if (up) {
      const char* host = static_cast<const char*>(src) + src_offset;
      const cl_bool wait = !is_pinned(host, bytes);
      check(clEnqueueWriteBuffer(s.queue, to, wait, dst_offset, bytes, host, 0, nullptr, nullptr),
            "clEnqueueWriteBuffer");
    } else if (down) {
      char* host = static_cast<char*>(dst) + dst_offset;
      const cl_bool wait = !is_pinned(host, bytes);
      check(clEnqueueReadBuffer(s.queue, from, wait, src_offset, bytes, host, 0, nullptr, nullptr),
            "clEnqueueReadBuffer");
    } else if (dst_device.index == src_device.index) {
      copy_on_device(g, s, to, dst_offset, from, src_offset, bytes);
    } else {
      copy_between_devices(dst_device, to, dst_offset, src_device, from, src_offset, bytes);
    }
    check(clFlush(s.queue), "clFlush");
  });
}

tn_status sync(void*, int32_t index, tn_stream* stream) {
  return catch_errors([&] { stream ? finish(*stream) : finish_all(gpu(index)); });
}

tn_status stream_sync(void*, int32_t index, tn_stream* stream) {
  return catch_errors([&] { finish(stream_of(gpu(index), stream)); });
}

tn_status fill(void*, int32_t index, void* dst, uint64_t offset, const void* pattern,
               uint32_t pattern_bytes, uint64_t n, tn_stream* stream) {
  return catch_errors([&] {
    if (n == 0) return;
    check(
        clEnqueueFillBuffer(stream_of(gpu(index), stream).queue, static_cast<cl_mem>(dst), pattern,
                            pattern_bytes, offset, n * pattern_bytes, 0, nullptr, nullptr),
        "clEnqueueFillBuffer");
  });
}

tn_status stream_create(void*, int32_t index, int32_t, tn_stream** out) {
  return catch_errors([&] {
    auto s = std::make_unique<tn_stream>();
    open_queue(gpu(index), *s);
    *out = s.release();
  });
}

void stream_destroy(void*, int32_t index, tn_stream* stream) {
  Gpu& g = gpu(index);
  {
    std::lock_guard<std::mutex> hold(g.lock);
    g.streams.erase(std::remove(g.streams.begin(), g.streams.end(), stream), g.streams.end());
  }
  catch_errors([&] { finish(*stream); });
  close_queue(*stream);
  delete stream;
}

tn_status event_create(void*, int32_t, uint32_t, tn_event** out) {
  return catch_errors([&] { *out = new tn_event; });
}

void event_destroy(void*, int32_t, tn_event* event) {
  if (event->event) clReleaseEvent(event->event);
  delete event;
}

tn_status event_record(void*, int32_t index, tn_event* event, tn_stream* stream) {
  return catch_errors([&] {
    tn_stream& s = stream_of(gpu(index), stream);
    cl_event now;
    check(clEnqueueMarkerWithWaitList(s.queue, 0, nullptr, &now), "clEnqueueMarkerWithWaitList");
    if (event->event) clReleaseEvent(event->event);
    event->event = now;
    check(clFlush(s.queue), "clFlush");
  });
}

tn_status event_wait(void*, int32_t index, tn_event* event, tn_stream* stream) {
  return catch_errors([&] {
    if (!event->event) return;
    check(clEnqueueBarrierWithWaitList(stream_of(gpu(index), stream).queue, 1, &event->event,
                                       nullptr),
          "clEnqueueBarrierWithWaitList");
  });
}

tn_status event_query(void*, int32_t, tn_event* event, int32_t* done) {
  return catch_errors([&] {
    cl_int status = CL_COMPLETE;
    if (event->event) {
      check(clGetEventInfo(event->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                           nullptr),
            "clGetEventInfo");
    }
    if (status < 0) check(status, "a command before the event");
    *done = status == CL_COMPLETE;
  });
}

tn_status event_sync(void*, int32_t, tn_event* event) {
  return catch_errors([&] {
    if (event->event) check(clWaitForEvents(1, &event->event), "clWaitForEvents");
  });
}

cl_ulong end_of(tn_event* e) {
  if (!e->event) throw Error(TN_ERROR_VALUE, "the event was never recorded");
  check(clWaitForEvents(1, &e->event), "clWaitForEvents");
  cl_ulong ns;
  check(clGetEventProfilingInfo(e->event, CL_PROFILING_COMMAND_END, sizeof ns, &ns, nullptr),
        "clGetEventProfilingInfo");
  return ns;
}

tn_status event_elapsed(void*, int32_t, tn_event* begin, tn_event* end, double* ms) {
  return catch_errors([&] {
    const cl_ulong a = end_of(begin), b = end_of(end);
    *ms = b >= a ? 1e-6 * static_cast<double>(b - a) : -1e-6 * static_cast<double>(a - b);
  });
}

void* native_stream(void*, int32_t index, tn_stream* stream) {
  return stream_of(gpu(index), stream).queue;
}

tn_str last_error(void*) { return {t_error, std::strlen(t_error)}; }

}  // namespace

extern const tn_device_api kDeviceApi =
    sdk::DeviceFunctions(count_devices, props, alloc, release, copy, sync)
        .fill(fill)
        .streams(stream_create, stream_destroy, stream_sync)
        .native_stream(native_stream)
        .events(event_create, event_destroy, event_record, event_wait, event_query, event_elapsed,
                event_sync)
        .pinned(alloc_pinned, free_pinned)
        .last_error(last_error);

}  // namespace tenon::opencl
