// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/stream.h"

#include <time.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "core/base/in_flight.h"
#include "core/device/capture.h"
#include "core/device/extensions.h"
#include "tenon/abi/ext/ipc.h"
#include "tenon/core/allocator.h"
#include "tenon/core/error.h"

namespace tenon::core {
namespace {

constexpr int kPriorities = 4, kPooled = 32;  // libtorch's

struct StreamPool {
  tn_stream* streams[kPriorities][kPooled];
  uint32_t next[kPriorities];
};

struct StreamPools {
  std::mutex lock;
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

const tn_device_api& api_of(int slot) {
  const tn_device_api* a = device_entry(slot).api;
  TENON_CHECK(a != nullptr, ValueError, "the plugin of device ", device_entry(slot).name,
              " is not loaded");
  return *a;
}

const tn_ext_ipc* ipc_of(int slot) {
  const tn_ext* e = device_ext(slot, TN_EXT_IPC);
  const auto* ipc = reinterpret_cast<const tn_ext_ipc*>(e);
  const bool whole = ipc != nullptr && e->struct_size >= sizeof *ipc && ipc->export_event &&
                     ipc->import_event && ipc->handle_bytes <= 128;
  return whole ? ipc : nullptr;
}

const tn_ext_ipc& need_ipc(int slot) {
  const tn_ext_ipc* ipc = ipc_of(slot);
  TENON_CHECK(
      ipc != nullptr, NotImplementedError, "Event: device '", device_entry(slot).name,
      "' cannot share events between processes: its plugin has no extension ipc with events");
  return *ipc;
}

}  // namespace

tn_stream* pooled_stream(int slot, int index, int priority) {
  InFlight inside;
  const tn_device_api* a = slot > 0 ? &api_of(slot) : nullptr;
  if (!has_streams(a)) return nullptr;
  const int level = std::clamp(-priority, 0, kPriorities - 1);
  std::lock_guard<std::mutex> hold(pools().lock);
  std::unique_ptr<StreamPool>& pool = pools().of[slot][index];
  if (!pool) pool = std::make_unique<StreamPool>();
  tn_stream*& s = pool->streams[level][pool->next[level] % kPooled];
  if (s == nullptr)
    check_device(slot, index, "making a stream", a->stream_create(a->context, index, -level, &s));
  ++pool->next[level];
  return s;
}

bool query_stream(int slot, int index, tn_stream* stream) {
  InFlight inside;
  const tn_device_api& a = api_of(slot);
  if (slot == 0 || !TN_HAS(&a, tn_device_api, stream_query) || !a.stream_query) {
    synchronize_stream(slot, index, stream);
    return true;
  }
  int32_t done = 0;
  check_device(slot, index, "asking a stream", a.stream_query(a.context, index, stream, &done));
  return done != 0;
}

void drop_streams(int slot, const tn_device_api* api) noexcept {
  std::lock_guard<std::mutex> hold(pools().lock);
  for (int i = 0; i < kMaxOrdinals; ++i) {
    const std::unique_ptr<StreamPool> pool = std::move(pools().of[slot][i]);
    if (!pool) continue;
    for (auto& level : pool->streams) {
      for (tn_stream* s : level) {
        if (s != nullptr) api->stream_destroy(api->context, i, s);
      }
    }
  }
}

int64_t events_alive(int slot) noexcept { return g_events[slot].load(std::memory_order_acquire); }

void record_stream(const Storage& s, tn_stream* stream) {
  if (s.slot == 0 || s.deleter != nullptr) return;  // not the allocator's to give away
  cache_record_stream(s.slot, s.index, Block{s.data, s.base, s.bytes, s.deleter_context}, stream);
}

EventImpl::EventImpl(int slot, int index, uint32_t flags, tn_event* event)
    : slot_(slot), index_(index), flags_(flags), event_(event) {
  g_events[slot_].fetch_add(1, std::memory_order_relaxed);
}

EventImpl::~EventImpl() {
  if (event_ != nullptr) {
    const tn_device_api& a = *device_entry(slot_).api;
    a.event_destroy(a.context, index_, event_);
  }
  g_events[slot_].fetch_sub(1, std::memory_order_release);
}

Ref<EventImpl> EventImpl::make(int slot, int index, uint32_t flags) {
  InFlight inside;
  const tn_device_api& a = api_of(slot);
  if (flags & TN_EVENT_INTERPROCESS) (void)need_ipc(slot);
  tn_event* event = nullptr;
  if (slot != 0 && has_events(&a))
    check_device(slot, index, "making an event", a.event_create(a.context, index, flags, &event));
  return Ref<EventImpl>::adopt(new EventImpl(slot, index, flags, event));
}

Ref<EventImpl> EventImpl::open(int slot, int index, std::string_view handle) {
  InFlight inside;
  const tn_ext_ipc& ipc = need_ipc(slot);
  TENON_CHECK(handle.size() == ipc.handle_bytes, ValueError, "Event: a handle of ",
              device_entry(slot).name, " has ", ipc.handle_bytes, " bytes, got ", handle.size());
  const tn_device_api& a = api_of(slot);
  tn_event* event = nullptr;
  check_device(
      slot, index, "opening an event",
      ipc.import_event(a.context, index, reinterpret_cast<const uint8_t*>(handle.data()), &event));
  Ref<EventImpl> e = Ref<EventImpl>::adopt(new EventImpl(
      slot, index, uint32_t{TN_EVENT_NO_TIMING} | uint32_t{TN_EVENT_INTERPROCESS}, event));
  e->recorded_ = true;  // assumed: by the other process
  return e;
}

std::string EventImpl::ipc_handle() const {
  InFlight inside;
  TENON_CHECK(
      flags_ & TN_EVENT_INTERPROCESS, ValueError,
      "Event.ipc_handle: the event was not made for other processes (EventFlag::INTERPROCESS)");
  const tn_ext_ipc& ipc = need_ipc(slot_);
  std::string handle(ipc.handle_bytes, '\0');
  check_device(slot_, index_, "sharing an event",
               ipc.export_event(api_of(slot_).context, index_, event_,
                                reinterpret_cast<uint8_t*>(handle.data())));
  return handle;
}

void EventImpl::record(tn_stream* stream) {
  InFlight inside;
  if (event_ != nullptr) {
    const tn_device_api& a = api_of(slot_);
    check_device(slot_, index_, "recording an event",
                 a.event_record(a.context, index_, event_, stream));
  } else {
    synchronize_stream(slot_, index_, stream);
    at_ = now_ns();
  }
  recorded_ = true;
}

void EventImpl::block(int index, tn_stream* stream) const {
  if (!recorded_ || event_ == nullptr) return;
  InFlight inside;
  const tn_device_api& a = api_of(slot_);
  check_device(slot_, index, "waiting for an event",
               a.event_wait(a.context, index, event_, stream));
}

bool EventImpl::query() const {
  if (!recorded_ || event_ == nullptr) return true;
  InFlight inside;
  const tn_device_api& a = api_of(slot_);
  int32_t done = 0;
  check_device(slot_, index_, "asking an event", a.event_query(a.context, index_, event_, &done));
  return done != 0;
}

void EventImpl::synchronize() const {
  if (!recorded_ || event_ == nullptr) return;
  refuse_in_capture(slot_, index_, "Event.synchronize",
                    "its work does not run before the graph is launched");
  InFlight inside;
  const tn_device_api& a = api_of(slot_);
  if (TN_HAS(&a, tn_device_api, event_sync) && a.event_sync) {
    check_device(slot_, index_, "waiting for an event", a.event_sync(a.context, index_, event_));
    return;
  }
  while (!query()) std::this_thread::yield();
}

double EventImpl::elapsed(const EventImpl& end) const {
  TENON_CHECK(slot_ == end.slot_ && index_ == end.index_, ValueError,
              "Event.elapsed_time: both events must be of one device, got ",
              device_entry(slot_).name, ":", index_, " and ", device_entry(end.slot_).name, ":",
              end.index_);
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
  const tn_device_api& a = api_of(slot_);
  TENON_CHECK(TN_HAS(&a, tn_device_api, event_elapsed) && a.event_elapsed, NotImplementedError,
              "Event.elapsed_time: events of ", device_entry(slot_).name, " cannot be timed");
  double ms = 0;
  check_device(slot_, index_, "timing",
               a.event_elapsed(a.context, index_, event_, end.event_, &ms));
  return ms;
}

}  // namespace tenon::core
