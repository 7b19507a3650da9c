// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/byte_copy.h"

#include "runtime/device/capture.h"
#include "runtime/device/device.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/pinned.h"
#include "tenon/runtime/stream.h"

namespace tenon::core {
namespace {

void check(tn_status status, const char* what, const DeviceEntry& device) {
  if (status == TN_OK) return;
  std::string text;
  if (TN_HAS(device.api, tn_device_api, last_error) && device.api->last_error) {
    tn_str t = device.api->last_error(device.api->context);
    text.assign(t.ptr, t.len);
  }
  throw BackendError(join(what, ": device ", device.name, " failed with status ", status,
                          text.empty() ? "" : ": ", text));
}

// What the second device's current stream gets from now on comes after what the first's has.
void order_streams(DeviceId first, DeviceId second) {
  const tn_device_api* api = device_entry(first).api;
  tn_stream *from = current_stream(first), *to = current_stream(second);
  tn_event* event = nullptr;
  const bool events =
      TN_HAS(api, tn_device_api, event_wait) && api->event_create && api->event_destroy &&
      api->event_record && api->event_wait &&
      api->event_create(api->context, first.index, TN_EVENT_NO_TIMING, &event) == TN_OK;
  bool ordered = events && api->event_record(api->context, first.index, event, from) == TN_OK &&
                 api->event_wait(api->context, second.index, event, to) == TN_OK;
  if (events) api->event_destroy(api->context, first.index, event);
  if (!ordered) synchronize_stream(first, from);
}

}  // namespace

void refuse_without_data(const TensorImpl& src) {
  TENON_CHECK(has_data(src.device_id), NotImplementedError,
              "Cannot copy out of meta tensor; no data!");
}

void copy_bytes(TensorImpl& dst, uint64_t dst_offset, TensorImpl& src, uint64_t src_offset,
                uint64_t bytes, bool wait) {
  if (bytes == 0) return;
  refuse_without_data(src);
  const DeviceId to = dst.device_id, from = src.device_id, device = to.is_host() ? from : to;
  const DeviceEntry& d = device_entry(device);
  tn_stream* stream = device.is_host() ? nullptr : current_stream(device);
  const bool pinned =
      (!to.is_host() || dst.storage->pinned) && (!from.is_host() || src.storage->pinned);
  if (wait || !pinned)
    refuse_in_capture(
        device, "copy",
        "the host would have to wait for it; copy without blocking, to or from pinned memory");
  const bool across = to.slot == from.slot && to != from;
  if (across) order_streams(from, to);
  check(d.api->copy(d.api->context, dst.view.device, dst.view.data, dst_offset, src.view.device,
                    src.view.data, src_offset, bytes, stream),
        "copy", d);
  if (across && !wait) order_streams(to, from);
  if (!wait && pinned && to.is_host() != from.is_host())
    record_pinned_use(to.is_host() ? *dst.storage : *src.storage, device, stream);
  if (wait && !device.is_host()) synchronize_stream(device, stream);
}

bool plain(const TensorImpl& dst, const TensorImpl& src) {
  return dst.dtype == src.dtype && dst.sizes() == src.sizes() && dst.contiguous() &&
         src.contiguous();
}

Impl to_host(TensorImpl& tensor) {
  int64_t n = extent(tensor.sizes(), tensor.strides());
  Impl flat = new_tensor("copy", tensor.dtype, kHost, 1, &n);
  copy_bytes(*flat, 0, tensor, tensor.view.byte_offset,
             static_cast<uint64_t>(n) * tensor.itemsize(), true);
  return TensorImpl::make(tensor.dtype, flat->storage, 0, tensor.ndim(), tensor.view.sizes,
                          tensor.view.strides);
}

void from_host(TensorImpl& dst, TensorImpl& host) {
  if (dst.device_id.is_host()) return copy(dst, host);
  if (plain(dst, host)) {
    copy_bytes(dst, dst.view.byte_offset, host, host.view.byte_offset,
               static_cast<uint64_t>(dst.numel) * dst.itemsize(), true);
    dst.bump_version();
    return;
  }
  // Read, change, write: elements between those of a strided destination must survive.
  Impl there = to_host(dst);
  copy(*there, host);
  copy_bytes(dst, dst.view.byte_offset, *there, there->view.byte_offset,
             static_cast<uint64_t>(extent(dst.sizes(), dst.strides())) * dst.itemsize(), true);
  dst.bump_version();
}

}  // namespace tenon::core
