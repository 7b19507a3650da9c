// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Streams and events of any device. What a device's table lacks (abi/device.h) is emulated: without
// streams there is the default one, without events the host waits and reads its own clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/runtime/device.h"
#include "tenon/runtime/ref.h"
#include "tenon/runtime/storage.h"

namespace tenon::core {

// One of the device's shared streams of that priority, round-robin; null, the default stream, where
// the device has no others. The lower the number, the sooner its work runs: 0 to -3. They live
// until the device's plugin is unloaded.
TENON_API tn_stream* pooled_stream(DeviceId device, int priority);
// Changes when the device's plugin is unloaded: streams made before are invalid then.
TENON_API uint32_t device_generation(DeviceSlot slot) noexcept;
// Waits for the stream, null: for all work of the device, and raises what its kernels have
// reported. Of several reports the oldest stream's is raised, the others by the next call.
TENON_API void synchronize_stream(DeviceId device, tn_stream* stream);
// Whether the stream has nothing left to do. Waits if the device cannot be queried.
TENON_API bool query_stream(DeviceId device, tn_stream* stream);

// The memory is used on a further stream: once it is freed, it is not reused before that stream has
// passed this point.
TENON_API void record_stream(const Storage& s, tn_stream* stream);

// A point in the work of a stream. One thread at a time.
class TENON_API EventImpl : public RefCounted {
 public:
  static Ref<EventImpl> make(DeviceId device, uint32_t flags);  // TN_EVENT_*
  static Ref<EventImpl> open(DeviceId device, std::string_view ipc_handle);
  static void destroy(EventImpl* e) noexcept { delete e; }
  void record(tn_stream* stream);
  // What the stream gets from now on waits for the point. It may be a stream of another device of
  // the type.
  void block(int index, tn_stream* stream) const;
  bool query() const;        // true where nothing was recorded
  void synchronize() const;  // the host waits
  // Milliseconds from this point to that one; the host waits for both. ValueError where one was
  // never recorded or was made with TN_EVENT_NO_TIMING.
  double elapsed(const EventImpl& end) const;
  // For open() in another process. ValueError unless it was made with TN_EVENT_INTERPROCESS.
  std::string ipc_handle() const;
  bool recorded() const noexcept { return recorded_; }

 private:
  EventImpl(DeviceId device, uint32_t flags, tn_event* event);
  ~EventImpl();
  const DeviceId device_;
  const uint32_t flags_;
  tn_event* event_;  // null: the host's clock is used
  bool recorded_ = false;
  int64_t at_ = 0;  // of that clock, in ns
};

int64_t events_alive(DeviceSlot slot) noexcept;
void drop_streams(DeviceSlot slot, const tn_device_api* api) noexcept;

}  // namespace tenon::core
