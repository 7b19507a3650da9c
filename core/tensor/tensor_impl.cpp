// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/tensor_impl.h"

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "tenon/core/batched.h"
#include "tenon/core/layout.h"
#include "tenon/core/sizes.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/pinned.h"
#include "tenon/runtime/pool.h"

namespace tenon::core {

struct TensorImplAccess {
  static TensorImpl* make() {
    auto* tensor = new (pool_alloc(sizeof(TensorImpl))) TensorImpl;
    tensor->view.data = nullptr;
    tensor->view.ndim = 0;
    tensor->view.byte_offset = 0;
    tensor->view.layout = TN_STRIDED;
    tensor->view.flags = 0;
    tensor->view.storage = nullptr;
    tensor->autograd = nullptr;
    tensor->flags = 0;
    tensor->layout_slot = 0;
    tensor->heap_dims = nullptr;
    tensor->components = nullptr;
    return tensor;
  }
  static void release(TensorImpl* tensor) noexcept {
    tensor->~TensorImpl();
    pool_free(tensor, sizeof(TensorImpl));
  }
};

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(TensorImpl, view) == TensorImpl::kViewOffset, "from_view depends on it");
#pragma GCC diagnostic pop

std::size_t heap_bytes(int ndim) { return 2 * sizeof(int64_t) * static_cast<std::size_t>(ndim); }

void release_dims(TensorImpl& tensor) noexcept {
  if (tensor.heap_dims != nullptr) pool_free(tensor.heap_dims, heap_bytes(tensor.view.ndim));
  tensor.heap_dims = nullptr;
}

// Points the view at room for `ndim` sizes and strides. The old numbers stay readable until `old`
// is freed.
struct Dims {
  int64_t* sizes;
  int64_t* strides;
};
Dims place(TensorImpl& tensor, int ndim, int64_t* heap) {
  tensor.heap_dims = heap;
  tensor.view.ndim = ndim;
  int64_t* sizes = heap != nullptr ? heap : tensor.inline_dims;
  int64_t* strides = sizes + (heap != nullptr ? ndim : kInlineDims);
  tensor.view.sizes = sizes;
  tensor.view.strides = strides;
  return {sizes, strides};
}

int64_t* heap_for(int ndim) {
  return ndim > kInlineDims ? static_cast<int64_t*>(pool_alloc(heap_bytes(ndim))) : nullptr;
}

int64_t product(int ndim, const int64_t* sizes) {
  uint64_t n = 1;
  for (int i = 0; i < ndim; ++i) n *= static_cast<uint64_t>(sizes[i]);
  return static_cast<int64_t>(n);
}

void attach(TensorImpl& tensor, Ref<Storage>&& storage, uint64_t byte_offset) {
  Storage* memory = storage.get();
  tensor.device_id = memory->device;
  tensor.view.data = memory->data;
  tensor.view.byte_offset = memory->base + byte_offset;
  tensor.view.storage = &memory->head;
  tensor.view.device = abi_device(memory->device);
  tensor.storage = std::move(storage);
}

uint32_t storage_flags(const TensorImpl& tensor) {
  uint32_t flags = 0;
  if (!tensor.device_id.is_host() && (device_entry(tensor.device_id).flags & TN_DEVICE_OPAQUE))
    flags |= TN_TENSOR_OPAQUE;
  if (tensor.storage && tensor.storage->pinned) flags |= TN_TENSOR_PINNED;
  return flags;
}

}  // namespace

namespace {

// Row-major, over no memory.
Ref<TensorImpl> make_bare(ScalarType dtype, DeviceId device, int ndim, const int64_t* sizes) {
  int64_t* heap = heap_for(ndim);
  Ref<TensorImpl> tensor;
  try {
    tensor = Ref<TensorImpl>::adopt(TensorImplAccess::make());
  } catch (...) {
    if (heap != nullptr) pool_free(heap, heap_bytes(ndim));
    throw;
  }
  tensor->device_id = device;
  tensor->dtype = dtype;
  tensor->view.dtype = abi_dtype(dtype);
  tensor->view.device = abi_device(device);
  Dims dims = place(*tensor, ndim, heap);
  for (int i = 0; i < ndim; ++i) dims.sizes[i] = sizes[i];
  tensor->numel = contiguous_strides(ndim, sizes, dims.strides);
  tensor->view.flags = TN_TENSOR_CONTIGUOUS;
  return tensor;
}

}  // namespace

namespace {

TensorImpl* make_over(ScalarType dtype, Ref<Storage>&& storage, uint64_t byte_offset, int ndim,
                      const int64_t* sizes, const int64_t* strides) {
  int64_t* heap = heap_for(ndim);
  TensorImpl* tensor;
  try {
    tensor = TensorImplAccess::make();
  } catch (...) {
    if (heap != nullptr) pool_free(heap, heap_bytes(ndim));
    throw;
  }
  tensor->dtype = dtype;
  tensor->view.dtype = abi_dtype(dtype);
  attach(*tensor, std::move(storage), byte_offset);
  Dims dims = place(*tensor, ndim, heap);
  for (int i = 0; i < ndim; ++i) dims.sizes[i] = sizes[i];
  if (strides == nullptr) {
    tensor->numel = contiguous_strides(ndim, sizes, dims.strides);
    tensor->view.flags = storage_flags(*tensor) | TN_TENSOR_CONTIGUOUS;
  } else {
    for (int i = 0; i < ndim; ++i) dims.strides[i] = strides[i];
    tensor->numel = product(ndim, sizes);
    tensor->refresh_flags();
  }
  return tensor;
}

}  // namespace

Ref<TensorImpl> TensorImpl::make(ScalarType dtype, Ref<Storage> storage, uint64_t byte_offset,
                                 int ndim, const int64_t* sizes, const int64_t* strides) {
  if (converted_dtype(dtype)) g_converted_in_use.store(true, std::memory_order_relaxed);
  return Ref<TensorImpl>::adopt(
      make_over(dtype, std::move(storage), byte_offset, ndim, sizes, strides));
}

Ref<TensorImpl> TensorImpl::make_composite(int layout_slot, ScalarType dtype, DeviceId device,
                                           int ndim, const int64_t* sizes, int n) {
  Ref<TensorImpl> tensor = make_bare(dtype, device, ndim, sizes);
  tensor->counter =
      Ref<VersionCounter>::adopt(new (pool_alloc(sizeof(VersionCounter))) VersionCounter);
  tensor->components = new (pool_alloc(sizeof(Components))) Components{};
  tensor->components->n = n;
  tensor->layout_slot = static_cast<uint8_t>(layout_slot);
  tensor->view.layout = abi_layout(layout_slot);
  tensor->view.data = tensor->components->views;
  tensor->view.strides = nullptr;
  tensor->view.flags = 0;
  count_composite(layout_slot, 1);
  return tensor;
}

void TensorImpl::set_component(int i, Ref<TensorImpl> part) {
  components->views[i] = part->view;
  components->views[i].flags |= TN_TENSOR_COMPONENT | static_cast<uint32_t>(i) << TN_LAYOUT_FLAG;
  Ref<TensorImpl>::adopt(std::exchange(components->impl[i], part.leak())).reset();
}

void TensorImpl::take_components(TensorImpl& from) {
  set_geometry(from.ndim(), from.view.sizes, nullptr, 0);
  dtype = from.dtype;
  view.dtype = from.view.dtype;
  device_id = from.device_id;
  view.device = from.view.device;
  std::swap(components, from.components);
  view.data = components->views;
  from.view.data = from.components->views;
  view.strides = nullptr;
  view.flags = from.view.flags;
}

TensorImpl* TensorImpl::from_any_view(const tn_tensor* view) {
  if (!(view->flags & TN_TENSOR_COMPONENT)) return from_view(view);
  const tn_tensor* first = view - (view->flags >> TN_LAYOUT_FLAG);
  auto* parts = reinterpret_cast<const Components*>(reinterpret_cast<const char*>(first) -
                                                    offsetof(Components, views));
  return parts->impl[view - first];
}

Impl stand_in(const TensorImpl& tensor) {
  return make_bare(tensor.dtype, tensor.device_id, tensor.ndim(), tensor.view.sizes);
}

Ref<TensorImpl> TensorImpl::make_batched(Ref<TensorImpl> value, int dim, Ref<BatchLevel> level) {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int n = 0;
  for (int d = 0; d < value->ndim(); ++d) {
    if (d == dim) continue;
    sizes[n] = value->size(d);
    strides[n++] = value->stride(d);
  }
  auto* batch = new (pool_alloc(sizeof(Batch))) Batch{value.get(), dim, level.get()};
  Ref<TensorImpl> tensor;
  try {
    tensor = make(value->dtype, value->storage, value->byte_offset(), n, sizes, strides);
  } catch (...) {
    pool_free(batch, sizeof(Batch));
    throw;
  }
  tensor->counter = value->counter;
  tensor->batch = batch;
  tensor->flags |= kBatched | (value->flags & (kInference | kWrappedNumber));
  tensor->refresh_flags();
  tensor->view.data = nullptr;
  value.leak();
  level.leak();
  return tensor;
}

namespace {

void release_batch(Batch* batch) noexcept {
  Ref<TensorImpl>::adopt(batch->value).reset();
  Ref<BatchLevel>::adopt(batch->level).reset();
  pool_free(batch, sizeof(Batch));
}

}  // namespace

void TensorImpl::destroy(TensorImpl* tensor) noexcept {
  delete tensor->autograd;
  release_dims(*tensor);
  if (tensor->batched()) {
    release_batch(tensor->batch);
  } else if (Components* parts = tensor->components) {
    for (int i = 0; i < parts->n; ++i) Ref<TensorImpl>::adopt(parts->impl[i]).reset();
    pool_free(parts, sizeof(Components));
    count_composite(tensor->layout_slot, -1);
  }
  TensorImplAccess::release(tensor);
}

Ref<TensorImpl> TensorImpl::alias(bool own_version) const {
  Ref<TensorImpl> tensor;
  if (batched())
    return make_batched(batch->value->alias(own_version), batch->dim,
                        Ref<BatchLevel>::share(batch->level));
  if (components != nullptr) {
    tensor = make_composite(layout_slot, dtype, device_id, ndim(), view.sizes, components->n);
    for (int i = 0; i < components->n; ++i)
      tensor->set_component(i, Ref<TensorImpl>::share(components->impl[i]));
    tensor->view.flags = view.flags;
    if (!own_version) tensor->counter = counter;
    return tensor;
  }
  tensor = make(dtype, storage, byte_offset(), ndim(), view.sizes, view.strides);
  if (own_version) {
    tensor->counter =
        Ref<VersionCounter>::adopt(new (pool_alloc(sizeof(VersionCounter))) VersionCounter);
  } else {
    tensor->counter = counter;
  }
  return tensor;
}

void TensorImpl::set_geometry(int ndim, const int64_t* sizes, const int64_t* strides,
                              uint64_t byte_offset) {
  int64_t* old_heap = heap_dims;
  std::size_t old_bytes = heap_bytes(view.ndim);
  int64_t* heap = heap_for(ndim);
  Dims dims = place(*this, ndim, heap);
  // The arguments may be this tensor's own numbers.
  if (ndim > 0) std::memmove(dims.sizes, sizes, sizeof(int64_t) * static_cast<std::size_t>(ndim));
  if (strides != nullptr) {
    std::memmove(dims.strides, strides, sizeof(int64_t) * static_cast<std::size_t>(ndim));
  } else {
    contiguous_strides(ndim, dims.sizes, dims.strides);
  }
  if (old_heap != nullptr) pool_free(old_heap, old_bytes);
  numel = product(ndim, dims.sizes);
  view.byte_offset = (storage ? storage->base : 0) + byte_offset;
  refresh_flags();
}

void TensorImpl::set_storage(Ref<Storage> storage) {
  uint64_t offset = byte_offset();
  attach(*this, std::move(storage), offset);
  refresh_flags();
}

void TensorImpl::refresh_flags() {
  uint32_t kept = view.flags & TN_TENSOR_READ_ONLY;
  uint32_t flags = kept | storage_flags(*this);
  if (batched()) {  // neither an address nor the fast path of calls
    view.flags = flags | TN_TENSOR_OPAQUE;
    return;
  }
  if (view.strides != nullptr || view.ndim == 0) {
    if (is_row_major(sizes(), strides())) {
      flags |= TN_TENSOR_CONTIGUOUS;
    } else if (overlaps_itself(sizes(), strides())) {
      flags |= TN_TENSOR_OVERLAPPING;
    }
  }
  view.flags = flags;
}

namespace {

// checked_numel of ordinary sizes; false leaves the verdict to it.
inline bool plain_numel(int ndim, const int64_t* sizes, int64_t* numel) {
  int64_t n = 1;
  bool odd = ndim > kInlineDims;
  for (int i = 0; i < ndim; ++i) {
    odd |= sizes[i] < 0;
    odd |= __builtin_mul_overflow(n, sizes[i], &n);
  }
  *numel = n;
  return !odd && n <= kMaxNumel;
}

// Lack of memory is an error of `op`.
inline Ref<Storage> make_storage(const char* op, DeviceId device, uint64_t bytes) {
  try {
    return Storage::make(device, bytes);
  } catch (...) {
    rethrow_called(op);
  }
}

// A tensor over the whole of a new storage, but for its sizes and strides.
__attribute__((always_inline)) inline TensorImpl* make_whole(ScalarType dtype,
                                                             Ref<Storage>&& storage,
                                                             const tn_device& device) {
  const Storage& memory = *storage;
  TensorImpl* tensor = TensorImplAccess::make();
  tensor->device_id = memory.device;
  tensor->dtype = dtype;
  tensor->view.data = memory.data;
  tensor->view.device = device;
  tensor->view.dtype = abi_dtype(dtype);
  tensor->view.byte_offset = memory.base;
  tensor->view.storage = &memory.head;
  tensor->storage = std::move(storage);
  return tensor;
}

}  // namespace

Impl new_tensor(const char* op, ScalarType dtype, DeviceId device, int ndim, const int64_t* sizes,
                const int64_t* strides) {
  uint32_t item = item_size(dtype);
  TENON_CHECK(item != 0, TypeError, op, ": dtype ", toString(dtype),
              " has no memory format in this build");
  int64_t numel;
  if (TENON_UNLIKELY(!plain_numel(ndim, sizes, &numel))) numel = checked_numel(op, ndim, sizes);
  uint64_t bytes = static_cast<uint64_t>(numel) * item;
  if (strides != nullptr) bytes = checked_extent(op, item, ndim, sizes, strides);
  Ref<Storage> storage = make_storage(op, device, bytes);
  if (TENON_UNLIKELY(!device.is_host() || ndim > kInlineDims || strides != nullptr)) {
    return Impl::adopt(make_over(dtype, std::move(storage), 0, ndim, sizes, strides));
  }
  TensorImpl* tensor = make_whole(dtype, std::move(storage), abi_device(kHost));
  const Dims dims = place(*tensor, ndim, nullptr);
  uint64_t next = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    const int64_t size = sizes[i];
    dims.sizes[i] = size;
    dims.strides[i] = static_cast<int64_t>(next);
    next *= static_cast<uint64_t>(size > 1 ? size : 1);
  }
  tensor->numel = numel;
  tensor->view.flags = TN_TENSOR_CONTIGUOUS;
  return Impl::adopt(tensor);
}

Impl new_pinned(const char* op, ScalarType dtype, int ndim, const int64_t* sizes,
                const int64_t* strides) {
  const uint32_t item = item_size(dtype);
  uint64_t bytes = static_cast<uint64_t>(checked_numel(op, ndim, sizes)) * item;
  if (strides != nullptr) bytes = checked_extent(op, item, ndim, sizes, strides);
  return TensorImpl::make(dtype, make_pinned(bytes), 0, ndim, sizes, strides);
}

Impl new_like(const TensorImpl& tensor, ScalarType dtype) {
  Ref<Storage> storage =
      Storage::make(tensor.device_id, static_cast<uint64_t>(tensor.numel) * item_size(dtype));
  if (TENON_UNLIKELY(tensor.heap_dims != nullptr)) {
    return Impl::adopt(
        make_over(dtype, std::move(storage), 0, tensor.ndim(), tensor.view.sizes, nullptr));
  }
  TensorImpl* made = make_whole(dtype, std::move(storage), tensor.view.device);
  const Dims dims = place(*made, tensor.ndim(), nullptr);
  for (int i = 0; i < tensor.ndim(); ++i) {
    dims.sizes[i] = tensor.view.sizes[i];
    dims.strides[i] = tensor.view.strides[i];
  }
  made->numel = tensor.numel;
  made->view.flags = TN_TENSOR_CONTIGUOUS | (tensor.view.flags & TN_TENSOR_OPAQUE);
  return Impl::adopt(made);
}

Impl new_view(const TensorImpl& tensor, ScalarType dtype, uint64_t byte_offset, int ndim,
              const int64_t* sizes, const int64_t* strides) {
  if (TENON_UNLIKELY(ndim > kInlineDims)) {
    Impl made = TensorImpl::make(dtype, tensor.storage, byte_offset, ndim, sizes, strides);
    made->counter = tensor.counter;
    return made;
  }
  TensorImpl* made = TensorImplAccess::make();
  made->device_id = tensor.device_id;
  made->dtype = dtype;
  made->storage = tensor.storage;
  made->counter = tensor.counter;
  made->view.data = tensor.view.data;
  made->view.device = tensor.view.device;
  made->view.dtype = abi_dtype(dtype);
  made->view.byte_offset = tensor.storage->base + byte_offset;
  made->view.storage = tensor.view.storage;
  const Dims dims = place(*made, ndim, nullptr);
  // Row-major, and how many elements the last one lies after the first: see is_row_major() and
  // overlaps_itself().
  uint64_t numel = 1, span = 0;
  bool contiguous = true, repeats = false;
  for (int i = ndim - 1; i >= 0; --i) {
    const int64_t size = dims.sizes[i] = sizes[i], stride = dims.strides[i] = strides[i];
    if (size > 1) {
      contiguous &= stride == static_cast<int64_t>(numel);
      repeats |= stride == 0;
    }
    span += static_cast<uint64_t>(size - 1) * static_cast<uint64_t>(stride);
    numel *= static_cast<uint64_t>(size);
  }
  made->numel = static_cast<int64_t>(numel);
  uint32_t flags = tensor.view.flags & (TN_TENSOR_OPAQUE | TN_TENSOR_PINNED);
  if (contiguous || numel == 0)
    flags |= TN_TENSOR_CONTIGUOUS;
  else if (numel > 1 && (repeats || numel > span + 1))
    flags |= TN_TENSOR_OVERLAPPING;
  made->view.flags = flags;
  return Impl::adopt(made);
}

void resize(TensorImpl& tensor, int ndim, const int64_t* sizes) {
  TENON_CHECK(tensor.storage, ValueError, "resize_: a tensor of layout ",
              layout_name(tensor.layout_slot), " cannot be resized");
  uint64_t offset = tensor.byte_offset();
  uint64_t bytes = static_cast<uint64_t>(checked_numel("resize_", ndim, sizes)) * tensor.itemsize();
  // The offset of a view without elements can be anything.
  if (__builtin_add_overflow(bytes, offset, &bytes)) too_large("resize_", "the storage");
  if (bytes > tensor.storage->bytes) {
    Ref<Storage> old = tensor.storage, grown = make_storage("resize_", tensor.device_id, bytes);
    if (old->bytes != 0) {
      const tn_device_api* api = device_entry(tensor.device_id).api;
      check_device(tensor.device_id, "copy",
                   api->copy(api->context, tensor.view.device, grown->data, grown->base,
                             tensor.view.device, old->data, old->base, old->bytes, grown->stream));
    }
    grown->version.store(old->version.load(std::memory_order_acquire), std::memory_order_relaxed);
    tensor.set_storage(std::move(grown));
  }
  tensor.set_geometry(ndim, sizes, nullptr, offset);
}

}  // namespace tenon::core
