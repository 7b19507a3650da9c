// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The memory of one or more tensors.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/abi/tensor.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/ref.h"

namespace tenon::core {

using Deleter = void (*)(void* context, void* data);

// `head` is what a plugin sees. `version` is autograd's count of writes, shared by all tensors
// without a counter of their own. Threads: any may hold references; writes follow the rules of the
// data itself.
class TENON_API Storage : public RefCounted {
 public:
  // From the device's caching allocator, uninitialized. OutOfMemoryError when the device has none
  // left.
  static Ref<Storage> make(DeviceId device, uint64_t bytes);
  // External memory; `deleter` runs once, when the last reference goes. It may be null. When wrap
  // throws, the memory is still the caller's.
  static Ref<Storage> wrap(DeviceId device, void* data, uint64_t bytes, Deleter deleter,
                           void* context);
  static void destroy(Storage* s) noexcept;

  // From now on the bytes may change without notice: plugins must not cache anything derived from
  // them.
  void expose() noexcept {
    if (!(__atomic_load_n(&head.flags, __ATOMIC_RELAXED) & TN_STORAGE_EXPOSED)) {
      __atomic_fetch_or(&head.flags, static_cast<uint32_t>(TN_STORAGE_EXPOSED), __ATOMIC_RELAXED);
    }
  }

  // For memory given to wrap that nobody but tensors writes: every write is counted. `flags`:
  // further ones, TN_STORAGE_FILE_PAGES for instance.
  void count_writes(uint32_t flags = 0) noexcept {
    __atomic_fetch_and(&head.flags, ~static_cast<uint32_t>(TN_STORAGE_EXPOSED), __ATOMIC_RELAXED);
    __atomic_fetch_or(&head.flags, flags, __ATOMIC_RELAXED);
  }

  tn_storage head;
  void* data;     // the first byte; on an opaque device the handle
  uint64_t base;  // on an opaque device, where in the handle the first byte is; else 0
  uint64_t bytes;
  std::atomic<uint32_t> version;
  DeviceId device;
  bool pinned;
  tn_stream* stream;      // whose order the allocation follows
  Deleter deleter;        // null: the caching allocator's
  void* deleter_context;  // the allocator's own where deleter is null

 private:
  friend struct StorageAccess;
  explicit Storage(DeviceId d) : device(d) {}
  ~Storage() = default;
};

// A version counter of its own, for tensors made by .data() and similar calls.
struct TENON_API VersionCounter : RefCounted {
  std::atomic<uint32_t> value{0};
  static void destroy(VersionCounter* c) noexcept;
};

}  // namespace tenon::core
