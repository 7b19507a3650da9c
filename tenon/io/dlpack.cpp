// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/dlpack.h"

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "tenon/creation.h"
#include "tenon/dlpack_abi.h"
#include "tenon/ops.h"
#include "tenon/runtime/device.h"

namespace tenon {
namespace {

// The struct that a consumer holds, and what it points to.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<int64_t> sizes, strides;
};

// A stride of a dimension with one element or none says nothing; some consumers want 1.
std::vector<int64_t> plain_strides(const Tensor& t) {
  std::vector<int64_t> strides = t.strides().vec();
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) < 2) strides[static_cast<std::size_t>(d)] = 1;
  }
  return strides;
}

template <class Managed>
Managed* give(const Tensor& src) {
  TENON_CHECK(src.defined(), ValueError, "toDLPack: the tensor is undefined");
  TENON_CHECK(src.layout() == kStrided, TypeError, "toDLPack: a tensor of layout ",
              toString(src.layout()), " is not memory of one piece; use to_dense()");
  const tn_tensor& view = src.unsafeGetTensorImpl()->view;
  TENON_CHECK(view.dtype.code < TN_DTYPE_FOREIGN, NotImplementedError,
              "toDLPack: DLPack has no dtype ", toString(src.scalar_type()));
  TENON_CHECK(view.device.type < TN_DEVICE_FOREIGN, NotImplementedError,
              "toDLPack: DLPack has no device type ", src.device().str());
  auto out = std::make_unique<Exported<Managed>>();
  out->tensor = src.detach();
  out->sizes = src.sizes().vec();
  out->strides = plain_strides(src);
  DLTensor& t = out->managed.dl_tensor;
  const bool opaque = (view.flags & TN_TENSOR_OPAQUE) != 0;  // then data is a handle
  t.data = opaque ? view.data : src.numel() > 0 ? src.data_ptr() : nullptr;
  t.byte_offset = opaque ? view.byte_offset : 0;
  t.device = {static_cast<DLDeviceType>(view.device.type), view.device.index};
  t.ndim = static_cast<int32_t>(src.dim());
  t.dtype = {view.dtype.code, view.dtype.bits, view.dtype.lanes};
  t.shape = out->sizes.data();
  t.strides = out->strides.data();
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->manager_ctx);
  };
  return &out.release()->managed;
}

ScalarType dtype_of(const DLDataType& given) {
  const auto has = [&](ScalarType t) {
    const tn_dtype abi = core::abi_dtype(t);
    return abi.code == given.code && abi.bits == given.bits && given.lanes == 1;
  };
  for (const ScalarType t : core::kBuiltInDtypes) {
    if (has(t)) return t;
  }
  for (const ScalarType t : core::kStorageDtypes) {
    if (has(t)) return t;
  }
  throw NotImplementedError(core::join(
      "fromDLPack: no dtype has the code ", static_cast<int>(given.code), ", ",
      static_cast<int>(given.bits), " bits and ", static_cast<int>(given.lanes), " lanes"));
}

// Devices whose `data` is a handle, from which nothing can be offset.
bool has_handles(DLDeviceType t) { return t == kDLOpenCL || t == kDLVulkan || t == kDLMetal; }

// A tensor in the memory of `src`, which it owns if `owns`.
template <class Managed>
Tensor take(Managed* src, bool owns) {
  TENON_CHECK(src != nullptr, ValueError, "fromDLPack: the pointer is null");
  const DLTensor& t = src->dl_tensor;
  TENON_CHECK(t.ndim >= 0 && (t.ndim == 0 || t.shape), ValueError, "fromDLPack: ", t.ndim,
              " dimensions without sizes");
  const IntArrayRef sizes(t.shape, static_cast<std::size_t>(t.ndim));
  const IntArrayRef strides(t.strides, t.strides ? static_cast<std::size_t>(t.ndim) : 0);
  for (int32_t d = 0; d < t.ndim; ++d) {
    TENON_CHECK(t.shape[d] >= 0 && (!t.strides || t.strides[d] >= 0), ValueError,
                "fromDLPack: dimension ", d, " has the size ", t.shape[d], " and the stride ",
                t.strides ? t.strides[d] : 0, "; neither may be negative");
  }
  TENON_CHECK(t.byte_offset == 0 || !has_handles(t.device.device_type), NotImplementedError,
              "fromDLPack: an offset of ", t.byte_offset, " bytes from a handle of a device");
  const Device device =
      core::device_from_abi({static_cast<int32_t>(t.device.device_type), t.device.device_id});
  const auto options = TensorOptions(dtype_of(t.dtype)).device(device);
  const auto deleter = [](void* context, void*) {
    auto* managed = static_cast<Managed*>(context);
    if (managed->deleter) managed->deleter(managed);
  };
  return from_blob_with(static_cast<std::byte*>(t.data) + t.byte_offset, sizes, strides,
                        owns ? +deleter : nullptr, src, options);
}

}  // namespace

DLManagedTensor* toDLPack(const Tensor& src) { return give<DLManagedTensor>(src); }

DLManagedTensorVersioned* toDLPackVersioned(const Tensor& src, uint64_t flags) {
  const bool copied = (flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  auto* out = give<DLManagedTensorVersioned>(copied ? src.detach().clone() : src);
  out->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  out->flags = flags & (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED);
  return out;
}

Tensor fromDLPack(DLManagedTensor* src) { return take(src, true); }

Tensor fromDLPackVersioned(DLManagedTensorVersioned* src) {
  TENON_CHECK(src != nullptr, ValueError, "fromDLPack: the pointer is null");
  TENON_CHECK(src->version.major == DLPACK_MAJOR_VERSION, ValueError,
              "fromDLPack: the tensor has version ", src->version.major, ".", src->version.minor,
              " of DLPack; expected ", DLPACK_MAJOR_VERSION);
  if ((src->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) return take(src, true);
  Tensor copy = take(src, false).clone();
  if (src->deleter) src->deleter(src);
  return copy;
}

}  // namespace tenon
