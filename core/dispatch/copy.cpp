// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Moving elements between tensors of any dtype, stride and device. A device needs only byte copies to and from the
// host for all of it; its own copy kernel is used where it has one.
#include <cstring>

#include "core/dispatch/call.h"
#include "core/device/capture.h"
#include "core/device/device_registry.h"
#include "core/dispatch/registered_dtype.h"
#include "core/base/in_flight.h"
#include "tenon/core/error.h"
#include "tenon/core/layout.h"
#include "tenon/core/stream.h"

namespace tenon::core {
namespace {

const Op& copy_op() {
  static const Op& op = get_op("copy");
  return op;
}

void check(tn_status s, const char* what, const DeviceEntry& d) {
  if (s == TN_OK) return;
  std::string text;
  if (TN_HAS(d.api, tn_device_api, last_error) && d.api->last_error) {
    tn_str t = d.api->last_error(d.api->context);
    text.assign(t.ptr, t.len);
  }
  throw BackendError(join(what, ": device ", d.name, " failed with status ", s, text.empty() ? "" : ": ", text));
}

// What the second device's current stream gets from now on comes after what the first's has.
void order_streams(const DeviceEntry& d, int first, int second) {
  const tn_device_api* a = d.api;
  tn_stream *from = current_stream(d.slot, first), *to = current_stream(d.slot, second);
  tn_event* event = nullptr;
  const bool events = TN_HAS(a, tn_device_api, event_wait) && a->event_create && a->event_destroy && a->event_record &&
                      a->event_wait && a->event_create(a->context, first, TN_EVENT_NO_TIMING, &event) == TN_OK;
  bool ordered = events && a->event_record(a->context, first, event, from) == TN_OK &&
                 a->event_wait(a->context, second, event, to) == TN_OK;
  if (events) a->event_destroy(a->context, first, event);
  if (!ordered) synchronize_stream(d.slot, first, from);
}

// Bytes from one place to another; at least one side is the host or both are of one device type.
void copy_bytes(TensorImpl& dst, uint64_t dst_offset, TensorImpl& src, uint64_t src_offset, uint64_t bytes, bool wait) {
  if (bytes == 0) return;
  const DeviceEntry& d = device_entry(dst.slot != 0 ? dst.slot : src.slot);
  int index = dst.slot != 0 ? dst.index : src.index;
  tn_stream* stream = d.slot == 0 ? nullptr : current_stream(d.slot, index);
  const bool pinned = (dst.slot != 0 || dst.storage->pinned) && (src.slot != 0 || src.storage->pinned);
  if (wait || !pinned)
    refuse_in_capture(d.slot, index, "copy",
                      "the host would have to wait for it; copy without blocking, to or from pinned memory");
  const bool across = dst.slot == src.slot && dst.index != src.index;
  if (across) order_streams(d, src.index, dst.index);
  check(d.api->copy(d.api->context, dst.view.device, dst.view.data, dst_offset, src.view.device, src.view.data,
                    src_offset, bytes, stream),
        "copy", d);
  if (across && !wait) order_streams(d, dst.index, src.index);
  if (wait && d.slot != 0) synchronize_stream(d.slot, index, stream);
}

// Elements from the first to the last one that a tensor touches, counted in its storage.
int64_t span(const TensorImpl& t) {
  int64_t last = 0;
  for (int d = 0; d < t.ndim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return t.numel == 0 ? 0 : last + 1;
}

// Whether the kernel takes the tensors as they are: preparing them for it would take a copy again.
bool takes(const KernelEntry& e, const TensorImpl& dst, const TensorImpl& src) {
  bool strides =
      (e.flags & TN_KERNEL_ANY_STRIDES) || (dst.contiguous() && src.contiguous() && dst.sizes() == src.sizes());
  return strides && e.dtypes.has(src.dtype) && ((e.flags & TN_KERNEL_MIXED_DTYPES) || dst.dtype == src.dtype);
}

// A native call of the copy row on one device.
bool copy_natively(TensorImpl& dst, TensorImpl& src) {
  InFlight inside;
  const KernelEntry* e = find_kernel(copy_op(), dst.slot, 0, dst.dtype);
  if (!e || !takes(*e, dst, src)) return false;
  tn_value in[3] = {};
  in[0].tag = in[1].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &dst.view;
  in[1].u.tensor = &src.view;
  in[2].tag = TN_TAG_BOOL;
  TensorImpl* outs[] = {&dst};
  call(copy_op(), in, outs, Form::Inplace);
  return true;
}

bool plain(const TensorImpl& dst, const TensorImpl& src) {
  return dst.dtype == src.dtype && dst.sizes() == src.sizes() && dst.contiguous() && src.contiguous();
}

void wrote(TensorImpl& t) { t.bump_version(); }

}  // namespace

Impl to_host(TensorImpl& t) {
  int64_t n = span(t);
  Impl flat = new_tensor("copy", t.dtype, 0, 0, 1, &n);
  copy_bytes(*flat, 0, t, t.view.byte_offset, static_cast<uint64_t>(n) * t.itemsize(), true);
  return TensorImpl::make(t.dtype, flat->storage, 0, t.ndim(), t.view.sizes, t.view.strides);
}

void from_host(TensorImpl& dst, TensorImpl& host) {
  if (dst.slot == 0) return copy(dst, host);
  if (plain(dst, host)) {
    copy_bytes(dst, dst.view.byte_offset, host, host.view.byte_offset,
               static_cast<uint64_t>(dst.numel) * dst.itemsize(), true);
    wrote(dst);
    return;
  }
  // Read, change, write: elements between those of a strided destination must survive.
  Impl there = to_host(dst);
  copy(*there, host);
  copy_bytes(dst, dst.view.byte_offset, *there, there->view.byte_offset,
             static_cast<uint64_t>(span(dst)) * dst.itemsize(), true);
  wrote(dst);
}

void copy(TensorImpl& dst, TensorImpl& src, bool non_blocking) {
  if (dst.slot == src.slot && dst.index == src.index) {
    if (copy_natively(dst, src)) return;
    if ((foreign(dst.dtype) || foreign(src.dtype)) && !plain(dst, src)) return copy_foreign(dst, src);
    if (dst.slot == 0) {
      if (plain(dst, src)) {  // what a process without any plugin can do
        std::memcpy(dst.host_data(), src.host_data(), static_cast<std::size_t>(dst.numel) * dst.itemsize());
        return wrote(dst);
      }
      TENON_CHECK(!find_kernel(copy_op(), 0, 0, dst.dtype), NotImplementedError,
                  "copy: the kernel of the host takes neither these strides nor these dtypes");
      tn_value in[3] = {};
      in[0].tag = in[1].tag = TN_TAG_TENSOR;
      in[0].u.tensor = &dst.view;
      in[1].u.tensor = &src.view;
      in[2].tag = TN_TAG_BOOL;
      TensorImpl* outs[] = {&dst};
      return call(copy_op(), in, outs, Form::Inplace);  // throws, with reasons
    }
  }
  if (plain(dst, src) && (dst.slot == 0 || src.slot == 0 || dst.slot == src.slot)) {
    copy_bytes(dst, dst.view.byte_offset, src, src.view.byte_offset, static_cast<uint64_t>(dst.numel) * dst.itemsize(),
               !non_blocking || (dst.slot == 0 && !dst.storage->pinned));
    return wrote(dst);
  }
  if (foreign(dst.dtype) || foreign(src.dtype)) return copy_foreign(dst, src);
  Impl host = src.slot == 0 ? Impl::share(&src) : to_host(src);
  if (dst.slot == 0) return copy(dst, *host);
  if (!plain(dst, *host) && dst.contiguous()) {
    Impl ready = new_tensor("copy", dst.dtype, 0, 0, dst.ndim(), dst.view.sizes);
    copy(*ready, *host);
    host = std::move(ready);
  }
  from_host(dst, *host);
}

Scalar item(TensorImpl& t) {
  TENON_CHECK(!t.composite(), TypeError, "item: a tensor of layout ", layout_name(t.layout_slot),
              " is read through to_dense()");
  TENON_CHECK(t.numel == 1, ValueError, "item: only one-element tensors become a host number; this has ", t.numel);
  Impl host = t.slot == 0 ? Impl::share(&t) : to_host(t);
  if (foreign(t.dtype)) {
    Impl number = new_tensor("item", kFloat, 0, 0, 0, nullptr);
    copy_foreign(*number, *TensorImpl::make(t.dtype, host->storage, host->byte_offset(), 0, nullptr));
    host = std::move(number);
  }
  const char* p = host->host_data();
  switch (host->dtype) {
#define TENON_DTYPE(Enum, id, name, ctype, code, bits, cls) \
  case ScalarType::Enum: {                                  \
    ctype v;                                                \
    std::memcpy(&v, p, sizeof v);                           \
    return Scalar(v);                                       \
  }
#include "tenon/core/dtypes.def"
#undef TENON_DTYPE
    default:
      break;
  }
  throw NotImplementedError(join("item: not implemented for dtype ", dtype_name(t.dtype)));
}

}  // namespace tenon::core
