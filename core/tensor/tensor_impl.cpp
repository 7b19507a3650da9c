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
#include "tenon/runtime/pool.h"

namespace tenon::core {

struct TensorImplAccess {
  static TensorImpl* make() {
    auto* t = new (pool_alloc(sizeof(TensorImpl))) TensorImpl;
    t->view.data = nullptr;
    t->view.ndim = 0;
    t->view.byte_offset = 0;
    t->view.layout = TN_STRIDED;
    t->view.flags = 0;
    t->view.storage = nullptr;
    t->autograd = nullptr;
    t->flags = 0;
    t->layout_slot = 0;
    t->heap_dims = nullptr;
    t->components = nullptr;
    return t;
  }
  static void release(TensorImpl* t) noexcept {
    t->~TensorImpl();
    pool_free(t, sizeof(TensorImpl));
  }
};

namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(TensorImpl, view) == TensorImpl::kViewOffset, "from_view depends on it");
#pragma GCC diagnostic pop

std::size_t heap_bytes(int ndim) { return 2 * sizeof(int64_t) * static_cast<std::size_t>(ndim); }

void release_dims(TensorImpl& t) noexcept {
  if (t.heap_dims != nullptr) pool_free(t.heap_dims, heap_bytes(t.view.ndim));
  t.heap_dims = nullptr;
}

// Points the view at room for `ndim` sizes and strides. The old numbers stay readable until `old`
// is freed.
struct Dims {
  int64_t* sizes;
  int64_t* strides;
};
Dims place(TensorImpl& t, int ndim, int64_t* heap) {
  t.heap_dims = heap;
  t.view.ndim = ndim;
  int64_t* sizes = heap != nullptr ? heap : t.inline_dims;
  int64_t* strides = sizes + (heap != nullptr ? ndim : kInlineDims);
  t.view.sizes = sizes;
  t.view.strides = strides;
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

void attach(TensorImpl& t, Ref<Storage>&& storage, uint64_t byte_offset) {
  Storage* s = storage.get();
  t.device_id = s->device;
  t.view.data = s->data;
  t.view.byte_offset = s->base + byte_offset;
  t.view.storage = &s->head;
  t.view.device = abi_device(s->device);
  t.storage = std::move(storage);
}

uint32_t storage_flags(const TensorImpl& t) {
  uint32_t flags = 0;
  if (!t.device_id.is_host() && (device_entry(t.device_id).flags & TN_DEVICE_OPAQUE))
    flags |= TN_TENSOR_OPAQUE;
  if (t.storage && t.storage->pinned) flags |= TN_TENSOR_PINNED;
  return flags;
}

}  // namespace

namespace {

// Row-major, over no memory.
Ref<TensorImpl> make_bare(ScalarType dtype, DeviceId device, int ndim, const int64_t* sizes) {
  int64_t* heap = heap_for(ndim);
  Ref<TensorImpl> t;
  try {
    t = Ref<TensorImpl>::adopt(TensorImplAccess::make());
  } catch (...) {
    if (heap != nullptr) pool_free(heap, heap_bytes(ndim));
    throw;
  }
  t->device_id = device;
  t->dtype = dtype;
  t->view.dtype = abi_dtype(dtype);
  t->view.device = abi_device(device);
  Dims d = place(*t, ndim, heap);
  for (int i = 0; i < ndim; ++i) d.sizes[i] = sizes[i];
  t->numel = contiguous_strides(ndim, sizes, d.strides);
  t->view.flags = TN_TENSOR_CONTIGUOUS;
  return t;
}

}  // namespace

namespace {

TensorImpl* make_over(ScalarType dtype, Ref<Storage>&& storage, uint64_t byte_offset, int ndim,
                      const int64_t* sizes, const int64_t* strides) {
  int64_t* heap = heap_for(ndim);
  TensorImpl* t;
  try {
    t = TensorImplAccess::make();
  } catch (...) {
    if (heap != nullptr) pool_free(heap, heap_bytes(ndim));
    throw;
  }
  t->dtype = dtype;
  t->view.dtype = abi_dtype(dtype);
  attach(*t, std::move(storage), byte_offset);
  Dims d = place(*t, ndim, heap);
  for (int i = 0; i < ndim; ++i) d.sizes[i] = sizes[i];
  if (strides == nullptr) {
    t->numel = contiguous_strides(ndim, sizes, d.strides);
    t->view.flags = storage_flags(*t) | TN_TENSOR_CONTIGUOUS;
  } else {
    for (int i = 0; i < ndim; ++i) d.strides[i] = strides[i];
    t->numel = product(ndim, sizes);
    t->refresh_flags();
  }
  return t;
}

}  // namespace

Ref<TensorImpl> TensorImpl::make(ScalarType dtype, Ref<Storage> storage, uint64_t byte_offset,
                                 int ndim, const int64_t* sizes, const int64_t* strides) {
  return Ref<TensorImpl>::adopt(
      make_over(dtype, std::move(storage), byte_offset, ndim, sizes, strides));
}

Ref<TensorImpl> TensorImpl::make_composite(int layout_slot, ScalarType dtype, DeviceId device,
                                           int ndim, const int64_t* sizes, int n) {
  Ref<TensorImpl> t = make_bare(dtype, device, ndim, sizes);
  t->counter = Ref<VersionCounter>::adopt(new (pool_alloc(sizeof(VersionCounter))) VersionCounter);
  t->components = new (pool_alloc(sizeof(Components))) Components{};
  t->components->n = n;
  t->layout_slot = static_cast<uint8_t>(layout_slot);
  t->view.layout = abi_layout(layout_slot);
  t->view.data = t->components->views;
  t->view.strides = nullptr;
  t->view.flags = 0;
  count_composite(layout_slot, 1);
  return t;
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

TensorImpl* TensorImpl::from_any_view(const tn_tensor* v) {
  if (!(v->flags & TN_TENSOR_COMPONENT)) return from_view(v);
  const tn_tensor* first = v - (v->flags >> TN_LAYOUT_FLAG);
  auto* parts = reinterpret_cast<const Components*>(reinterpret_cast<const char*>(first) -
                                                    offsetof(Components, views));
  return parts->impl[v - first];
}

Impl stand_in(const TensorImpl& t) {
  return make_bare(t.dtype, t.device_id, t.ndim(), t.view.sizes);
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
  Ref<TensorImpl> t;
  try {
    t = make(value->dtype, value->storage, value->byte_offset(), n, sizes, strides);
  } catch (...) {
    pool_free(batch, sizeof(Batch));
    throw;
  }
  t->counter = value->counter;
  t->batch = batch;
  t->flags |= kBatched | (value->flags & (kInference | kWrappedNumber));
  t->refresh_flags();
  t->view.data = nullptr;
  value.leak();
  level.leak();
  return t;
}

namespace {

void release_batch(Batch* batch) noexcept {
  Ref<TensorImpl>::adopt(batch->value).reset();
  Ref<BatchLevel>::adopt(batch->level).reset();
  pool_free(batch, sizeof(Batch));
}

}  // namespace

void TensorImpl::destroy(TensorImpl* t) noexcept {
  delete t->autograd;
  release_dims(*t);
  if (t->batched()) {
    release_batch(t->batch);
  } else if (Components* parts = t->components) {
    for (int i = 0; i < parts->n; ++i) Ref<TensorImpl>::adopt(parts->impl[i]).reset();
    pool_free(parts, sizeof(Components));
    count_composite(t->layout_slot, -1);
  }
  TensorImplAccess::release(t);
}

Ref<TensorImpl> TensorImpl::alias(bool own_version) const {
  Ref<TensorImpl> t;
  if (batched())
    return make_batched(batch->value->alias(own_version), batch->dim,
                        Ref<BatchLevel>::share(batch->level));
  if (components != nullptr) {
    t = make_composite(layout_slot, dtype, device_id, ndim(), view.sizes, components->n);
    for (int i = 0; i < components->n; ++i)
      t->set_component(i, Ref<TensorImpl>::share(components->impl[i]));
    t->view.flags = view.flags;
    if (!own_version) t->counter = counter;
    return t;
  }
  t = make(dtype, storage, byte_offset(), ndim(), view.sizes, view.strides);
  if (own_version) {
    t->counter =
        Ref<VersionCounter>::adopt(new (pool_alloc(sizeof(VersionCounter))) VersionCounter);
  } else {
    t->counter = counter;
  }
  return t;
}

void TensorImpl::set_geometry(int ndim, const int64_t* sizes, const int64_t* strides,
                              uint64_t byte_offset) {
  int64_t* old_heap = heap_dims;
  std::size_t old_bytes = heap_bytes(view.ndim);
  int64_t* heap = heap_for(ndim);
  Dims d = place(*this, ndim, heap);
  // The arguments may be this tensor's own numbers.
  if (ndim > 0) std::memmove(d.sizes, sizes, sizeof(int64_t) * static_cast<std::size_t>(ndim));
  if (strides != nullptr) {
    std::memmove(d.strides, strides, sizeof(int64_t) * static_cast<std::size_t>(ndim));
  } else {
    contiguous_strides(ndim, d.sizes, d.strides);
  }
  if (old_heap != nullptr) pool_free(old_heap, old_bytes);
  numel = product(ndim, d.sizes);
  view.byte_offset = (storage ? storage->base : 0) + byte_offset;
  refresh_flags();
}

void TensorImpl::set_storage(Ref<Storage> s) {
  uint64_t offset = byte_offset();
  attach(*this, std::move(s), offset);
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
  const Storage& s = *storage;
  TensorImpl* t = TensorImplAccess::make();
  t->device_id = s.device;
  t->dtype = dtype;
  t->view.data = s.data;
  t->view.device = device;
  t->view.dtype = abi_dtype(dtype);
  t->view.byte_offset = s.base;
  t->view.storage = &s.head;
  t->storage = std::move(storage);
  return t;
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
  TensorImpl* t = make_whole(dtype, std::move(storage), abi_device(kHost));
  const Dims d = place(*t, ndim, nullptr);
  uint64_t next = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    const int64_t size = sizes[i];
    d.sizes[i] = size;
    d.strides[i] = static_cast<int64_t>(next);
    next *= static_cast<uint64_t>(size > 1 ? size : 1);
  }
  t->numel = numel;
  t->view.flags = TN_TENSOR_CONTIGUOUS;
  return Impl::adopt(t);
}

Impl new_like(const TensorImpl& t, ScalarType dtype) {
  Ref<Storage> storage =
      Storage::make(t.device_id, static_cast<uint64_t>(t.numel) * item_size(dtype));
  if (TENON_UNLIKELY(t.heap_dims != nullptr)) {
    return Impl::adopt(make_over(dtype, std::move(storage), 0, t.ndim(), t.view.sizes, nullptr));
  }
  TensorImpl* made = make_whole(dtype, std::move(storage), t.view.device);
  const Dims d = place(*made, t.ndim(), nullptr);
  for (int i = 0; i < t.ndim(); ++i) {
    d.sizes[i] = t.view.sizes[i];
    d.strides[i] = t.view.strides[i];
  }
  made->numel = t.numel;
  made->view.flags = TN_TENSOR_CONTIGUOUS | (t.view.flags & TN_TENSOR_OPAQUE);
  return Impl::adopt(made);
}

Impl new_view(const TensorImpl& t, ScalarType dtype, uint64_t byte_offset, int ndim,
              const int64_t* sizes, const int64_t* strides) {
  if (TENON_UNLIKELY(ndim > kInlineDims)) {
    Impl v = TensorImpl::make(dtype, t.storage, byte_offset, ndim, sizes, strides);
    v->counter = t.counter;
    return v;
  }
  TensorImpl* v = TensorImplAccess::make();
  v->device_id = t.device_id;
  v->dtype = dtype;
  v->storage = t.storage;
  v->counter = t.counter;
  v->view.data = t.view.data;
  v->view.device = t.view.device;
  v->view.dtype = abi_dtype(dtype);
  v->view.byte_offset = t.storage->base + byte_offset;
  v->view.storage = t.view.storage;
  const Dims d = place(*v, ndim, nullptr);
  // Row-major, and how many elements the last one lies after the first: see is_row_major() and
  // overlaps_itself().
  uint64_t numel = 1, span = 0;
  bool contiguous = true, repeats = false;
  for (int i = ndim - 1; i >= 0; --i) {
    const int64_t size = d.sizes[i] = sizes[i], stride = d.strides[i] = strides[i];
    if (size > 1) {
      contiguous &= stride == static_cast<int64_t>(numel);
      repeats |= stride == 0;
    }
    span += static_cast<uint64_t>(size - 1) * static_cast<uint64_t>(stride);
    numel *= static_cast<uint64_t>(size);
  }
  v->numel = static_cast<int64_t>(numel);
  uint32_t flags = t.view.flags & (TN_TENSOR_OPAQUE | TN_TENSOR_PINNED);
  if (contiguous || numel == 0)
    flags |= TN_TENSOR_CONTIGUOUS;
  else if (numel > 1 && (repeats || numel > span + 1))
    flags |= TN_TENSOR_OVERLAPPING;
  v->view.flags = flags;
  return Impl::adopt(v);
}

void resize(TensorImpl& t, int ndim, const int64_t* sizes) {
  TENON_CHECK(t.storage, ValueError, "resize_: a tensor of layout ", layout_name(t.layout_slot),
              " cannot be resized");
  uint64_t offset = t.byte_offset();
  uint64_t bytes = static_cast<uint64_t>(checked_numel("resize_", ndim, sizes)) * t.itemsize();
  // The offset of a view without elements can be anything.
  if (__builtin_add_overflow(bytes, offset, &bytes)) too_large("resize_", "the storage");
  if (bytes > t.storage->bytes) {
    Ref<Storage> old = t.storage, grown = make_storage("resize_", t.device_id, bytes);
    if (old->bytes != 0) {
      const tn_device_api* api = device_entry(t.device_id).api;
      check_device(t.device_id, "copy",
                   api->copy(api->context, t.view.device, grown->data, grown->base, t.view.device,
                             old->data, old->base, old->bytes, grown->stream));
    }
    grown->version.store(old->version.load(std::memory_order_acquire), std::memory_order_relaxed);
    t.set_storage(std::move(grown));
  }
  t.set_geometry(ndim, sizes, nullptr, offset);
}

}  // namespace tenon::core
