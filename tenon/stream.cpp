// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/stream.h"

#include <ostream>

#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

// The host has no index in a Device, and index 0 in core.
Device with_index(Device d) { return d.is_cpu() ? Device(kCPU) : core::resolve(d); }

uint32_t event_flags(EventFlag flag) {
  if (flag == EventFlag::BACKEND_DEFAULT) return 0;
  return flag == EventFlag::INTERPROCESS
             ? uint32_t{TN_EVENT_NO_TIMING} | uint32_t{TN_EVENT_INTERPROCESS}
             : uint32_t{TN_EVENT_NO_TIMING};
}

}  // namespace

Stream::Stream(Device device, tn_stream* stream)
    : device_(with_index(device)),
      stream_(stream),
      generation_(core::device_generation(core::device_id(device).slot)) {}

tn_stream* Stream::abi() const {
  const core::DeviceSlot slot = core::device_slot(device_.type());
  TENON_CHECK(generation_ == core::device_generation(slot), ValueError, "the stream of ",
              device_.str(), " is gone: the device's plugin was unloaded");
  return stream_;
}

void Stream::wait(const Event& event) const { event.block(*this); }

void Stream::wait(const Stream& other) const {
  if (*this == other) return;
  Event point(other.device_type());
  point.record(other);
  point.block(*this);
}

bool Stream::query() const { return core::query_stream(core::device_id(device_), abi()); }

void Stream::synchronize() const { core::synchronize_stream(core::device_id(device_), abi()); }

void* Stream::native_handle() const {
  const core::DeviceId id = core::device_id(device_);
  const tn_device_api* a = core::device_entry(id).api;
  const bool has = !id.is_host() && TN_HAS(a, tn_device_api, native_stream) && a->native_stream;
  return has ? a->native_stream(a->context, id.index, abi()) : nullptr;
}

std::ostream& operator<<(std::ostream& out, const Stream& s) {
  return out << "stream " << s.id() << " on device " << s.device().str();
}

Stream default_stream(Device device) { return Stream(device, nullptr); }

Stream current_stream(Device device) {
  return Stream(device, core::current_stream(core::device_id(device)));
}

Stream stream_from_pool(Device device, int priority) {
  return Stream(device, core::pooled_stream(core::device_id(device), priority));
}

void set_current_stream(const Stream& s) {
  core::set_current_stream(core::device_id(s.device()), s.abi());
}

Device current_device(DeviceType type) { return with_index(Device(type)); }

void set_device(Device device) {
  const core::DeviceId id = core::device_id(device);
  if (!id.is_host()) core::set_current_index(id);
}

Event::Event(Device device, const std::string& ipc_handle)
    : device_(with_index(device)), flag_(EventFlag::INTERPROCESS) {
  impl_ = core::EventImpl::open(core::device_id(device_), ipc_handle);
}

core::EventImpl& Event::ensure_event(Device device) {
  if (!impl_) {
    impl_ = core::EventImpl::make(core::device_id(device), event_flags(flag_));
    device_ = with_index(device);
  }
  return *impl_;
}

void Event::record(const Stream& s) {
  TENON_CHECK(s.device_type() == device_type() && (!impl_ || s.device() == device_), ValueError,
              "Event.record: the event is of ", device_.str(), ", the stream of ",
              s.device().str());
  ensure_event(s.device()).record(s.abi());
}

void Event::block(const Stream& s) const {
  if (!impl_) return;
  TENON_CHECK(s.device_type() == device_type(), ValueError, "Event.block: the event is of ",
              device_.str(), ", the stream of ", s.device().str());
  impl_->block(core::device_id(s.device()).index, s.abi());
}

double Event::elapsed_time(const Event& end) const {
  TENON_CHECK(was_marked_for_recording() && end.was_marked_for_recording(), ValueError,
              "Event.elapsed_time: both events must be recorded before the time between them can "
              "be measured");
  return impl_->elapsed(*end.impl_);
}

std::string Event::ipc_handle() { return ensure_event(device_).ipc_handle(); }

// A plugin that was unloaded meanwhile has no current device or stream.
DeviceGuard::~DeviceGuard() {
  try {
    set_device(before_);
  } catch (const std::exception&) {
  }
}

StreamGuard::~StreamGuard() {
  try {
    set_current_stream(before_);
  } catch (const std::exception&) {
  }
}

void Tensor::record_stream(const Stream& s) const {
  core::TensorImpl& t = get();
  TENON_CHECK(device() == s.device(), ValueError, "record_stream: the tensor is on ",
              device().str(), ", the stream on ", s.device().str());
  if (t.storage) core::record_stream(*t.storage, s.abi());
  for (std::size_t i = 0; t.composite() && i < core::layout_components(t.layout_slot).size(); ++i) {
    core::record_stream(*t.components->impl[i]->storage, s.abi());
  }
}

}  // namespace tenon
