// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Order among the work of a device: streams, events and what this thread has current. Names and
// meanings are those of libtorch's c10::Stream and c10::Event; they serve every device, and on one
// that has no streams there is only the default one.
//
//   Stream side = stream_from_pool(kCUDA);
//   Event ready(kCUDA);
//   ready.record();                                  // of the current stream
//   { StreamGuard on(side); ready.block(side); y = f(x); x.record_stream(side); }
//   current_stream(kCUDA).wait(side);
//
// What runs on different streams is ordered by nothing else. backward() runs on the current streams
// of its thread.
#pragma once

#include <string>

#include "tenon/runtime/stream.h"
#include "tenon/tensor.h"

namespace tenon {

enum class EventFlag {
  PYTORCH_DEFAULT,  // order alone
  BACKEND_DEFAULT,  // elapsed_time() too
  INTERPROCESS,     // ipc_handle() too, and no time
};

class Event;

// A value: copies name the same stream. ValueError once the plugin of its device was unloaded.
class TENON_API Stream {
 public:
  // Any stream of the plugin's own making, null: the default one.
  Stream(Device device, tn_stream* stream);
  enum Default { DEFAULT };
  Stream(Default /*tag*/, Device device) : Stream(device, nullptr) {}
  Device device() const { return device_; }
  DeviceType device_type() const { return device_.type(); }
  DeviceIndex device_index() const { return device_.index(); }
  int64_t id() const { return reinterpret_cast<int64_t>(stream_); }  // 0 for the default stream
  // Work submitted from now on waits for the event, or for all work submitted to the other stream
  // so far.
  void wait(const Event& event) const;
  void wait(const Stream& other) const;
  bool query() const;        // whether all submitted work is complete
  void synchronize() const;  // the host waits; throws the errors that its kernels reported
  // The vendor's handle, a cudaStream_t for example; null if the device has none.
  void* native_handle() const;
  bool operator==(const Stream& o) const { return device_ == o.device_ && stream_ == o.stream_; }
  bool operator!=(const Stream& o) const { return !(*this == o); }
  tn_stream* abi() const;

 private:
  Device device_;
  tn_stream* stream_;
  uint32_t generation_;
};

TENON_API std::ostream& operator<<(std::ostream& out, const Stream& s);

// A device without an index is the current one of its type. ValueError for one that does not exist.
TENON_API Stream default_stream(Device device = kCUDA);
TENON_API Stream current_stream(Device device = kCUDA);
// One of 32 per priority, round robin; they are shared by all callers. The lower the number, the
// sooner its work runs: 0, to -3 where the device can tell that many apart.
TENON_API Stream stream_from_pool(Device device = kCUDA, int priority = 0);
TENON_API void set_current_stream(const Stream& s);  // for this thread, of its device
TENON_API Device current_device(DeviceType type = kCUDA);
TENON_API void set_device(Device device);  // for this thread

// A point in the work of a stream. It is made when it is first recorded, on that stream's device.
class TENON_API Event {
 public:
  explicit Event(DeviceType type = kCUDA, EventFlag flag = EventFlag::PYTORCH_DEFAULT)
      : device_(type), flag_(flag) {}
  // Another process's, from its ipc_handle().
  Event(Device device, const std::string& ipc_handle);
  Device device() const { return device_; }
  DeviceType device_type() const { return device_.type(); }
  EventFlag flag() const { return flag_; }
  bool was_marked_for_recording() const { return impl_ && impl_->recorded(); }
  void record() { record(current_stream(device_)); }
  void record(const Stream& s);
  void recordOnce(const Stream& s) {
    if (!was_marked_for_recording()) record(s);
  }
  void block(const Stream& s) const;  // work submitted to s from now on waits
  bool query() const { return !impl_ || impl_->query(); }
  void synchronize() const {
    if (impl_) impl_->synchronize();
  }
  // Milliseconds. ValueError unless both are recorded and were made with
  // EventFlag::BACKEND_DEFAULT.
  double elapsed_time(const Event& end) const;
  double elapsedTime(const Event& end) const { return elapsed_time(end); }
  // Of an event of INTERPROCESS on the device that is current or that it was recorded on.
  std::string ipc_handle();

 private:
  core::EventImpl& ensure_event(Device device);
  Device device_;
  EventFlag flag_;
  core::Ref<core::EventImpl> impl_;
};

// The device, or the device and its stream, are the thread's current ones while this lives.
class TENON_API DeviceGuard {
 public:
  explicit DeviceGuard(Device device) : before_(current_device(device.type())) {
    set_device(device);
  }
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  Device original_device() const { return before_; }

 private:
  const Device before_;
};
class TENON_API StreamGuard {
 public:
  explicit StreamGuard(const Stream& s) : device_(s.device()), before_(current_stream(s.device())) {
    set_current_stream(s);
  }
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  const Stream& original_stream() const { return before_; }

 private:
  const DeviceGuard device_;
  const Stream before_;
};

}  // namespace tenon
