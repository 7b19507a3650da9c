// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tensor: geometry over a storage. The view that kernels see is a member of it, so that passing a
// tensor across the ABI costs nothing.
#pragma once

#include <cstdint>

#include "tenon/abi/value.h"
#include "tenon/core/dtype.h"
#include "tenon/core/geometry.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/array_ref.h"
#include "tenon/runtime/storage.h"

namespace tenon::core {

inline constexpr int kInlineDims = 5;

// Whatever the layer above hangs on a tensor (autograd). Owned by the tensor.
struct AutogradSlot {
  virtual ~AutogradSlot() = default;
};

enum ImplFlags : uint8_t {
  kTracked = 1,    // requires grad: a leaf that asks for it, or the result of a recorded op
  kIsView = 2,     // shares the storage of `base`
  kInference = 4,  // made under InferenceMode
  kWrappedNumber = 8,
  kRefusesWrites = 16,   // a view made without recording
  kBatched = 32,         // one slice of many at once: see Batch
  kPacked = 64,          // stands for a saved tensor that a hook has packed
  kInferenceView = 128,  // a view made under InferenceMode, with kRefusesWrites
};

// The parts of a tensor of a layout other than strided; the tensor owns a reference on each. The
// last one holds the values and has the tensor's dtype.
class TensorImpl;
struct Components {
  int n;
  TensorImpl* impl[kMaxComponents];  // null until set
  tn_tensor views[kMaxComponents];   // what the tensor's view.data points to
  TensorImpl& values() { return *impl[n - 1]; }
};

// Of a batched tensor, which has the geometry of one slice: all slices lie along dimension `dim` of
// `value`. It owns a reference on both. The tensor shares the value's storage, and no kernel sees
// it (tenon/core/batched.h).
struct BatchLevel;
struct Batch {
  TensorImpl* value;
  int dim;
  BatchLevel* level;
};

class TENON_API TensorImpl : public RefCounted {
 public:
  // Row-major unless strides are given (element counts). Sizes are checked before (checked_numel).
  // `byte_offset` counts from the start of the storage, here and in set_geometry.
  static Ref<TensorImpl> make(ScalarType dtype, Ref<Storage> storage, uint64_t byte_offset,
                              int ndim, const int64_t* sizes, const int64_t* strides = nullptr);
  // Another handle on the parts of a tensor of a layout of its own, or one without parts
  // (layout.h).
  static Ref<TensorImpl> make_composite(int layout_slot, ScalarType dtype, DeviceId device,
                                        int ndim, const int64_t* sizes, int n);
  static Ref<TensorImpl> make_batched(Ref<TensorImpl> value, int dim, Ref<BatchLevel> level);
  void set_component(int i, Ref<TensorImpl> part);
  // The sizes, components and flags of another tensor of this one's layout, which loses them.
  void take_components(TensorImpl& from);
  static void destroy(TensorImpl* t) noexcept;
  // A handle on the same data; with `own_version`, later writes are counted apart.
  Ref<TensorImpl> alias(bool own_version) const;
  // The tensor around a view that core handed out (never one that a caller built).
  static TensorImpl* from_view(const tn_tensor* v) {
    return reinterpret_cast<TensorImpl*>(reinterpret_cast<char*>(const_cast<tn_tensor*>(v)) -
                                         kViewOffset);
  }
  static constexpr std::size_t kViewOffset = 8;
  // The same, for a view that may be one of a tensor's components.
  static TensorImpl* from_any_view(const tn_tensor* v);
  TENON_INLINE bool composite() const { return components != nullptr && !batched(); }
  bool batched() const { return flags & kBatched; }

  int ndim() const { return view.ndim; }
  IntArrayRef sizes() const { return {view.sizes, static_cast<std::size_t>(view.ndim)}; }
  IntArrayRef strides() const { return {view.strides, static_cast<std::size_t>(view.ndim)}; }
  int64_t size(int d) const { return view.sizes[d]; }
  int64_t stride(int d) const { return view.strides[d]; }
  bool contiguous() const { return view.flags & TN_TENSOR_CONTIGUOUS; }
  uint32_t itemsize() const { return item_size(dtype); }
  // From the start of the storage. The view's byte_offset counts from its handle, which on an
  // opaque device may hold several storages.
  uint64_t byte_offset() const { return storage ? view.byte_offset - storage->base : 0; }
  int64_t storage_offset() const { return static_cast<int64_t>(byte_offset() / itemsize()); }
  // The host has no ordinal, as in libtorch.
  Device device() const { return device_of(device_id); }
  // Address of the first element; only for memory that the host reads.
  // For core and libtenon themselves: who writes through it counts the write.
  char* host_data() const { return static_cast<char*>(view.data) + view.byte_offset; }
  // For programs, which may write through it at any time.
  char* exposed_data() const {
    if (storage) storage->expose();
    return host_data();
  }
  TENON_INLINE uint32_t version() const {
    return counter ? counter->value.load(std::memory_order_acquire)
                   : storage->version.load(std::memory_order_acquire);
  }
  // After every write through this tensor; also counts the write for plugins (tn_storage.writes).
  void bump_version() const {
    (counter ? counter->value : storage->version).fetch_add(1, std::memory_order_acq_rel);
    if (storage) __atomic_fetch_add(&storage->head.writes, 1, __ATOMIC_RELAXED);
  }
  // New geometry over the same storage.
  void set_geometry(int ndim, const int64_t* sizes, const int64_t* strides, uint64_t byte_offset);
  void set_storage(Ref<Storage> s);
  void refresh_flags();

  tn_tensor view;  // at kViewOffset: see from_view
  int64_t numel;
  Ref<Storage> storage;
  Ref<VersionCounter> counter;  // null: the storage's
  AutogradSlot* autograd;       // owned; null for most
  // Of a view that the layer above tells of: what it is a view of, never a view itself. Kept here
  // and not in the slot, as most views need no other of its fields.
  Ref<TensorImpl> base;
  uint32_t base_version;  // of the storage when the view's history was made
  ScalarType dtype;
  DeviceId device_id;
  uint8_t flags;  // ImplFlags
  uint8_t layout_slot;
  int64_t* heap_dims;  // for more than kInlineDims dimensions
  int64_t inline_dims[2 * kInlineDims];
  union {
    Components* components;  // of a layout other than strided; null for strided
    Batch* batch;            // of a batched tensor
  };

 private:
  friend struct TensorImplAccess;
  TensorImpl() = default;
  ~TensorImpl() = default;
};

using Impl = Ref<TensorImpl>;

// A view of t's storage, with t's device and version counter. `byte_offset` counts from the start
// of the storage.
TENON_API Impl new_view(const TensorImpl& t, ScalarType dtype, uint64_t byte_offset, int ndim,
                        const int64_t* sizes, const int64_t* strides);
// A new tensor on a device from the caching allocator, uninitialized. `op` names the caller in
// errors. An index of -1 means the current one.
TENON_API Impl new_tensor(const char* op, ScalarType dtype, DeviceId device, int ndim,
                          const int64_t* sizes, const int64_t* strides = nullptr);
// On the host, in memory that a device copies from and to by itself; ordinary where none pins.
TENON_API Impl new_pinned(const char* op, ScalarType dtype, int ndim, const int64_t* sizes,
                          const int64_t* strides = nullptr);
// New sizes, row-major. Where the storage is too small the tensor gets a larger one with the old
// bytes at its start; other tensors keep the old one. New bytes are undefined.
TENON_API void resize(TensorImpl& t, int ndim, const int64_t* sizes);

// The geometry of a tensor as a row-major strided one without memory: what infer functions see of a
// layout.
Impl stand_in(const TensorImpl& t);
// A row-major tensor of the shape and on the device of another, which is row-major itself.
Impl new_like(const TensorImpl& t, ScalarType dtype);

}  // namespace tenon::core
