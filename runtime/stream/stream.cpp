// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/stream.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/base/in_flight.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/device/capture.h"
#include "runtime/device/extensions.h"
#include "tenon/abi/ext/ipc.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

constexpr int kPriorities = 4, kPooled = 32;  // libtorch's

struct StreamPool {
  tn_stream* streams[kPriorities][kPooled];
  uint32_t next[kPriorities];
};

struct StreamPools {
  LeafMutex lock;
  std::unique_ptr<StreamPool> of[kMaxDevices][kMaxOrdinals];
};

StreamPools& pools() {
  // Never destroyed: programs may exit while they hold streams.
  static StreamPools& p = *new StreamPools;
  return p;
}
// Made at load, because functions that must not throw use it.
[[maybe_unused]] const StreamPools& g_pools_at_load = pools();

std::atomic<int64_t> g_events[kMaxDevices];  // alive

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{1000000000} * t.tv_sec + t.tv_nsec;
}

bool has_streams(const tn_device_api* a) {
  return a != nullptr && TN_HAS(a, tn_device_api, stream_destroy) && a->stream_create &&
         a->stream_destroy;
}

bool has_events(const tn_device_api* a) {
  return TN_HAS(a, tn_device_api, event_query) && a->event_create && a->event_destroy &&
         a->event_record && a->event_wait && a->event_query;
}

const tn_device_api& api_of(DeviceSlot slot) {
  const tn_device_api* a = device_entry(slot).api;
  TENON_CHECK(a != nullptr, ValueError, "the plugin of device ", device_entry(slot).name,
              " is not loaded");
  return *a;
}

const tn_ext_ipc* ipc_of(DeviceSlot slot) {
  const tn_ext* e = device_ext(slot, TN_EXT_IPC);
  const auto* ipc = reinterpret_cast<const tn_ext_ipc*>(e);
  const bool whole = ipc != nullptr && e->struct_size >= sizeof *ipc && ipc->export_event &&
                     ipc->import_event && ipc->handle_bytes <= 128;
  return whole ? ipc : nullptr;
}

const tn_ext_ipc& need_ipc(DeviceSlot slot) {
  const tn_ext_ipc* ipc = ipc_of(slot);
  TENON_CHECK(
      ipc != nullptr, NotImplementedError, "Event: device '", device_entry(slot).name,
      "' cannot share events between processes: its plugin has no extension ipc with events");
  return *ipc;
}

}  // namespace

namespace {

// Null where the place that is next, `at`, has no stream yet.
tn_stream* next_in_pool(DeviceId device, int level, uint32_t* at) {
  std::lock_guard hold(pools().lock);
  std::unique_ptr<StreamPool>& pool = pools().of[device.slot][device.index];
  if (!pool) pool = std::make_unique<StreamPool>();
  *at = pool->next[level]++ % kPooled;
  return pool->streams[level][*at];
}

// The stream of the place from now on.
tn_stream* keep_in_pool(DeviceId device, int level, uint32_t at, tn_stream* made) {
  std::lock_guard hold(pools().lock);
  tn_stream*& s = pools().of[device.slot][device.index]->streams[level][at];
  if (s == nullptr) s = made;
  return s;
}

}  // namespace

tn_stream* pooled_stream(DeviceId device, int priority) {
  InFlight inside;
  const tn_device_api* a = !device.is_host() ? &api_of(device.slot) : nullptr;
  if (!has_streams(a)) return nullptr;
  const int level = std::clamp(-priority, 0, kPriorities - 1);
  uint32_t at = 0;
  if (tn_stream* s = next_in_pool(device, level, &at)) return s;
  // The plugin is called without the lock, which a fork takes last.
  tn_stream* made = nullptr;
  check_device(device, "making a stream",
               a->stream_create(a->context, device.index, -level, &made));
  tn_stream* kept = keep_in_pool(device, level, at, made);
  if (kept != made) a->stream_destroy(a->context, device.index, made);  // another was sooner
  return kept;
}

bool query_stream(DeviceId device, tn_stream* stream) {
  InFlight inside;
  const tn_device_api& a = api_of(device.slot);
  if (device.is_host() || !TN_HAS(&a, tn_device_api, stream_query) || !a.stream_query) {
    synchronize_stream(device, stream);
    return true;
  }
  int32_t done = 0;
  check_device(device, "asking a stream", a.stream_query(a.context, device.index, stream, &done));
  return done != 0;
}

void drop_streams(DeviceSlot slot, const tn_device_api* api) noexcept {
  for (int i = 0; i < kMaxOrdinals; ++i) {
    std::unique_ptr<StreamPool> pool;
    {
      std::lock_guard hold(pools().lock);
      pool = std::move(pools().of[slot][i]);
    }
    if (!pool) continue;
    for (auto& level : pool->streams) {
      for (tn_stream* s : level) {
        if (s != nullptr) api->stream_destroy(api->context, i, s);
      }
    }
  }
}

int64_t events_alive(DeviceSlot slot) noexcept {
  return g_events[slot].load(std::memory_order_acquire);
}

void record_stream(const Storage& s, tn_stream* stream) {
  if (s.device.is_host() || s.deleter != nullptr) return;  // not the allocator's to give away
  cache_record_stream(s.device, Block{s.data, s.base, s.bytes, s.deleter_context}, stream);
}

EventImpl::EventImpl(DeviceId device, uint32_t flags, tn_event* event)
    : device_(device), flags_(flags), event_(event) {
  g_events[device_.slot].fetch_add(1, std::memory_order_relaxed);
}

EventImpl::~EventImpl() {
  if (event_ != nullptr) {
    const tn_device_api& a = *device_entry(device_).api;
    a.event_destroy(a.context, device_.index, event_);
  }
  g_events[device_.slot].fetch_sub(1, std::memory_order_release);
}

Ref<EventImpl> EventImpl::make(DeviceId device, uint32_t flags) {
  InFlight inside;
  const tn_device_api& a = api_of(device.slot);
  if (flags & TN_EVENT_INTERPROCESS) (void)need_ipc(device.slot);
  tn_event* event = nullptr;
  if (!device.is_host() && has_events(&a))
    check_device(device, "making an event", a.event_create(a.context, device.index, flags, &event));
  return Ref<EventImpl>::adopt(new EventImpl(device, flags, event));
}

Ref<EventImpl> EventImpl::open(DeviceId device, std::string_view handle) {
  InFlight inside;
  const tn_ext_ipc& ipc = need_ipc(device.slot);
  TENON_CHECK(handle.size() == ipc.handle_bytes, ValueError, "Event: a handle of ",
              device_entry(device).name, " has ", ipc.handle_bytes, " bytes, got ", handle.size());
  const tn_device_api& a = api_of(device.slot);
  tn_event* event = nullptr;
  check_device(device, "opening an event",
               ipc.import_event(a.context, device.index,
                                reinterpret_cast<const uint8_t*>(handle.data()), &event));
  Ref<EventImpl> e = Ref<EventImpl>::adopt(
      new EventImpl(device, uint32_t{TN_EVENT_NO_TIMING} | uint32_t{TN_EVENT_INTERPROCESS}, event));
  e->recorded_ = true;  // assumed: by the other process
  return e;
}

std::string EventImpl::ipc_handle() const {
  InFlight inside;
  TENON_CHECK(
      flags_ & TN_EVENT_INTERPROCESS, ValueError,
      "Event.ipc_handle: the event was not made for other processes (EventFlag::INTERPROCESS)");
  const tn_ext_ipc& ipc = need_ipc(device_.slot);
  std::string handle(ipc.handle_bytes, '\0');
  check_device(device_, "sharing an event",
               ipc.export_event(api_of(device_.slot).context, device_.index, event_,
                                reinterpret_cast<uint8_t*>(handle.data())));
  return handle;
}

void EventImpl::record(tn_stream* stream) {
  InFlight inside;
  if (event_ != nullptr) {
    const tn_device_api& a = api_of(device_.slot);
    check_device(device_, "recording an event",
                 a.event_record(a.context, device_.index, event_, stream));
  } else {
    synchronize_stream(device_, stream);
    at_ = now_ns();
  }
  recorded_ = true;
}

void EventImpl::block(int index, tn_stream* stream) const {
  if (!recorded_ || event_ == nullptr) return;
  InFlight inside;
  const tn_device_api& a = api_of(device_.slot);
  check_device({device_.slot, index}, "waiting for an event",
               a.event_wait(a.context, index, event_, stream));
}

bool EventImpl::query() const {
  if (!recorded_ || event_ == nullptr) return true;
  InFlight inside;
  const tn_device_api& a = api_of(device_.slot);
  int32_t done = 0;
  check_device(device_, "asking an event", a.event_query(a.context, device_.index, event_, &done));
  return done != 0;
}

void EventImpl::synchronize() const {
  if (!recorded_ || event_ == nullptr) return;
  refuse_in_capture(device_, "Event.synchronize",
                    "its work does not run before the graph is launched");
  InFlight inside;
  const tn_device_api& a = api_of(device_.slot);
  if (TN_HAS(&a, tn_device_api, event_sync) && a.event_sync) {
    check_device(device_, "waiting for an event", a.event_sync(a.context, device_.index, event_));
    return;
  }
  while (!query()) std::this_thread::yield();
}

double EventImpl::elapsed(const EventImpl& end) const {
  TENON_CHECK(device_ == end.device_, ValueError,
              "Event.elapsed_time: both events must be of one device, got ",
              device_of(device_).str(), " and ", device_of(end.device_).str());
  TENON_CHECK(recorded_ && end.recorded_, ValueError,
              "Event.elapsed_time: both events must be recorded before the time between them can "
              "be measured");
  TENON_CHECK(
      !((flags_ | end.flags_) & TN_EVENT_NO_TIMING), ValueError,
      "Event.elapsed_time: both events must be made with timing (EventFlag::BACKEND_DEFAULT)");
  if (event_ == nullptr) return static_cast<double>(end.at_ - at_) * 1e-6;
  synchronize();
  end.synchronize();
  InFlight inside;
  const tn_device_api& a = api_of(device_.slot);
  TENON_CHECK(TN_HAS(&a, tn_device_api, event_elapsed) && a.event_elapsed, NotImplementedError,
              "Event.elapsed_time: events of ", device_entry(device_).name, " cannot be timed");
  double ms = 0;
  check_device(device_, "timing",
               a.event_elapsed(a.context, device_.index, event_, end.event_, &ms));
  return ms;
}

}  // namespace tenon::core
