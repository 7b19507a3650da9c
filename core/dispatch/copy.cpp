// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Moving elements between tensors of any dtype, stride and device. A device needs only byte copies
// to and from the host for all of it; its own copy kernel is used where it has one.
#include <cstring>

#include "core/dispatch/byte_copy.h"
#include "core/dispatch/converted_dtype.h"
#include "core/dispatch/known_ops.h"
#include "core/registry/cells.h"
#include "runtime/base/in_flight.h"
#include "tenon/core/batched.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// Whether the kernel takes the tensors as they are: preparing them for it would take a copy again.
bool takes(const KernelEntry& entry, const TensorImpl& dst, const TensorImpl& src) {
  bool strides = (entry.flags & TN_KERNEL_ANY_STRIDES) ||
                 (dst.contiguous() && src.contiguous() && dst.sizes() == src.sizes());
  return strides && entry.dtypes.has(src.dtype) && entry.dtypes.has(dst.dtype) &&
         ((entry.flags & TN_KERNEL_MIXED_DTYPES) || dst.dtype == src.dtype);
}

void call_copy(TensorImpl& dst, TensorImpl& src) {
  tn_value in[3] = {};
  in[0].tag = in[1].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &dst.view;
  in[1].u.tensor = &src.view;
  in[2].tag = TN_TAG_BOOL;
  TensorImpl* outs[] = {&dst};
  call(known::copy(), in, outs, Form::Inplace);
}

// A native call of the copy operator on one device.
bool copy_natively(TensorImpl& dst, TensorImpl& src) {
  InFlight inside;
  const KernelEntry* entry = find_kernel(known::copy(), dst.device_id.slot, 0, dst.dtype);
  if (!entry || !takes(*entry, dst, src)) return false;
  call_copy(dst, src);
  return true;
}

}  // namespace

void copy(TensorImpl& dst, TensorImpl& src, bool non_blocking) {
  if (TENON_UNLIKELY(!has_data(dst.device_id))) return dst.bump_version();
  refuse_without_data(src);
  if (dst.device_id == src.device_id) {
    if (copy_natively(dst, src)) return;
    if ((converted_dtype(dst.dtype) || converted_dtype(src.dtype)) && !plain(dst, src))
      return copy_converted(dst, src);
    if (dst.device_id.is_host()) {
      if (plain(dst, src)) {  // what a process without any plugin can do
        std::memcpy(dst.host_data(), src.host_data(),
                    static_cast<std::size_t>(dst.numel) * dst.itemsize());
        return dst.bump_version();
      }
      TENON_CHECK(!find_kernel(known::copy(), kHostSlot, 0, dst.dtype), NotImplementedError,
                  "copy: the kernel of the host takes neither these strides nor these dtypes");
      return call_copy(dst, src);  // throws, with reasons
    }
  }
  if (plain(dst, src) && (dst.device_id.is_host() || src.device_id.is_host() ||
                          dst.device_id.slot == src.device_id.slot)) {
    copy_bytes(dst, dst.view.byte_offset, src, src.view.byte_offset,
               static_cast<uint64_t>(dst.numel) * dst.itemsize(),
               !non_blocking || (dst.device_id.is_host() && !dst.storage->pinned));
    return dst.bump_version();
  }
  if (converted_dtype(dst.dtype) || converted_dtype(src.dtype)) return copy_converted(dst, src);
  Impl host = src.device_id.is_host() ? Impl::share(&src) : to_host(src);
  if (dst.device_id.is_host()) return copy(dst, *host);
  if (!plain(dst, *host) && dst.contiguous()) {
    Impl ready = new_tensor("copy", dst.dtype, kHost, dst.ndim(), dst.view.sizes);
    copy(*ready, *host);
    host = std::move(ready);
  }
  from_host(dst, *host);
}

Scalar item(TensorImpl& tensor) {
  TENON_CHECK(!tensor.batched(), core::NeedsSlices,
              "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
              "calling .item() on a Tensor, please try to rewrite what you're doing with other "
              "operations");
  TENON_CHECK(!tensor.composite(), TypeError, "item: a tensor of layout ",
              layout_name(tensor.layout_slot), "; call to_dense() first");
  TENON_CHECK(tensor.numel == 1, ValueError,
              "item: only one-element tensors convert to a scalar; this one has ", tensor.numel);
  Impl host = tensor.device_id.is_host() ? Impl::share(&tensor) : to_host(tensor);
  if (converted_dtype(tensor.dtype)) {
    Impl number = new_tensor("item", computing_dtype(tensor.dtype), kHost, 0, nullptr);
    copy_converted(*number,
                   *TensorImpl::make(tensor.dtype, host->storage, host->byte_offset(), 0, nullptr));
    host = std::move(number);
  }
  const char* p = host->host_data();
  switch (host->dtype) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case ScalarType::Enum: {                                             \
    ctype v;                                                           \
    std::memcpy(&v, p, sizeof v);                                      \
    return Scalar(v);                                                  \
  }
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
    default:
      break;
  }
  throw NotImplementedError(join("item: not implemented for dtype ", dtype_name(tensor.dtype)));
}

}  // namespace tenon::core
