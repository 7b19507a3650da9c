// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/pinned.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/base/in_flight.h"
#include "runtime/base/leaf_mutex.h"
#include "runtime/device/capture.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/pool.h"
#include "tenon/runtime/stream.h"

namespace tenon::core {
namespace {

constexpr int kUses = 4;
constexpr uint64_t kMinBytes = 512, kMaxBytes = uint64_t{1} << 47;
constexpr int kClasses = (47 - 8) * 4;

struct Use {
  DeviceId device = kHost;
  tn_stream* stream = nullptr;
  tn_event* event = nullptr;  // behind what the stream did with the memory
};

struct PinnedBlock {
  const tn_device_api* api;
  void* data;
  uint64_t bytes;
  DeviceSlot slot;
  PinnedBlock* next = nullptr;
  int n_uses = 0;
  Use uses[kUses];
  bool reusable = true;  // whether `uses` are all
};

// What the device of a slot pinned and no tensor has: `idle` can be taken, `pending` is in use by
// streams or was so when it was last looked at.
struct PinnedPool {
  PinnedBlock* idle[kClasses] = {};
  PinnedBlock* pending = nullptr;
  std::atomic<int64_t> alive{0};  // blocks of tensors
};

struct PinnedPools {
  LeafMutex lock;  // of the lists and of every block's uses; nothing is called under it
  PinnedPool of[kMaxDevices];
};
PinnedPools& pools() {
  static PinnedPools& all = *new PinnedPools;
  return all;
}
[[maybe_unused]] const PinnedPools& g_made_at_load = pools();

// Four sizes per doubling: a block is at most a quarter larger than asked.
uint64_t rounded(uint64_t bytes) {
  if (bytes <= kMinBytes) return kMinBytes;
  const uint64_t step = uint64_t{1} << (63 - __builtin_clzll(bytes - 1) - 2);
  return (bytes + step - 1) / step * step;
}

int class_of(uint64_t rounded_bytes) {
  const uint64_t n = rounded_bytes - 1;
  const int top = 63 - __builtin_clzll(n);
  return (top - 8) * 4 + static_cast<int>(n >> (top - 2) & 3);
}

void push(PinnedBlock*& list, PinnedBlock* b) {
  b->next = list;
  list = b;
}

void end_uses(PinnedBlock& b) noexcept {
  for (int i = 0; i < b.n_uses; ++i)
    b.api->event_destroy(b.api->context, b.uses[i].device.index, b.uses[i].event);
  b.n_uses = 0;
}

// Whether the streams passed the uses of a block that nobody has. A lost device uses nothing.
bool passed(PinnedBlock& b) noexcept {
  int left = 0;
  for (int i = 0; i < b.n_uses; ++i) {
    const Use u = b.uses[i];
    int32_t done = 0;
    if (b.api->event_query(b.api->context, u.device.index, u.event, &done) == TN_OK && !done)
      b.uses[left++] = u;
    else
      b.api->event_destroy(b.api->context, u.device.index, u.event);
  }
  b.n_uses = left;
  return left == 0;
}

// Events cannot be queried while a stream is captured.
void poll(DeviceSlot slot) noexcept {
  if (g_captures.load(std::memory_order_relaxed) != 0) return;
  PinnedPools& all = pools();
  PinnedPool& pool = all.of[slot];
  PinnedBlock* todo;
  {
    const std::lock_guard<LeafMutex> hold(all.lock);
    todo = std::exchange(pool.pending, nullptr);
  }
  while (PinnedBlock* b = todo) {
    todo = b->next;
    const bool idle = passed(*b);
    const std::lock_guard<LeafMutex> hold(all.lock);
    push(idle ? pool.idle[class_of(b->bytes)] : pool.pending, b);
  }
}

PinnedBlock* take(DeviceSlot slot, uint64_t bytes) noexcept {
  const std::lock_guard<LeafMutex> hold(pools().lock);
  PinnedBlock*& list = pools().of[slot].idle[class_of(bytes)];
  PinnedBlock* b = list;
  if (b != nullptr) list = b->next;
  return b;
}

PinnedBlock* pin(DeviceSlot slot, const tn_device_api* api, uint64_t bytes) {
  auto* b = new (pool_alloc(sizeof(PinnedBlock))) PinnedBlock{api, nullptr, bytes, slot};
  if (api->alloc_pinned(api->context, bytes, &b->data) == TN_OK && b->data != nullptr) return b;
  pool_free(b, sizeof(PinnedBlock));
  return nullptr;
}

// The device waits for its work before it takes memory back.
void give_back(PinnedBlock* b) noexcept {
  b->api->free_pinned(b->api->context, b->data, b->bytes);
  pool_free(b, sizeof(PinnedBlock));
}

void free_pinned(void* context, void*) {
  auto* b = static_cast<PinnedBlock*>(context);
  PinnedPools& all = pools();
  PinnedPool& pool = all.of[b->slot];
  if (b->reusable) {
    const std::lock_guard<LeafMutex> hold(all.lock);
    push(b->n_uses == 0 ? pool.idle[class_of(b->bytes)] : pool.pending, b);
  } else {
    end_uses(*b);
    give_back(b);
  }
  pool.alive.fetch_sub(1, std::memory_order_release);
}

// The slot of a device that can pin; the host's if there is none.
DeviceSlot pinning_device() {
  for (int i = 1, n = device_slots(); i < n; ++i) {
    const tn_device_api* api = device_entry(i).api;
    if (api != nullptr && TN_HAS(api, tn_device_api, free_pinned) && api->alloc_pinned &&
        api->free_pinned)
      return i;
  }
  return kHostSlot;
}

// An event at the stream's present end; null where the device has none, or captures its work.
tn_event* mark(DeviceId device, tn_stream* stream) noexcept {
  const tn_device_api* a = device_entry(device).api;
  tn_event* event = nullptr;
  if (!TN_HAS(a, tn_device_api, event_query) || !a->event_create || !a->event_destroy ||
      !a->event_record || !a->event_query || capture_pool(device) != 0 ||
      a->event_create(a->context, device.index, TN_EVENT_NO_TIMING, &event) != TN_OK)
    return nullptr;
  if (a->event_record(a->context, device.index, event, stream) == TN_OK) return event;
  a->event_destroy(a->context, device.index, event);
  return nullptr;
}

// Takes the place of the stream's last use; of the first one if there is no room. Gives what was
// there before. Without an event the block is not reusable.
Use replace(PinnedBlock& b, const Use& use) noexcept {
  const std::lock_guard<LeafMutex> hold(pools().lock);
  if (use.event == nullptr) {
    b.reusable = false;
    return {};
  }
  int at = 0;
  while (at < b.n_uses && (b.uses[at].device != use.device || b.uses[at].stream != use.stream))
    ++at;
  if (at == b.n_uses && at < kUses) {
    b.uses[b.n_uses++] = use;
    return {};
  }
  return std::exchange(b.uses[at == kUses ? 0 : at], use);
}

}  // namespace

Ref<Storage> make_pinned(uint64_t bytes) {
  InFlight inside;
  const DeviceSlot slot = pinning_device();
  const tn_device_api* api = !is_host_slot(slot) ? device_entry(slot).api : nullptr;
  if (api == nullptr || bytes == 0) return Storage::make(kHost, bytes);
  PinnedBlock* b = nullptr;
  if (bytes <= kMaxBytes) {
    const uint64_t size = rounded(bytes);
    poll(slot);
    if ((b = take(slot, size)) == nullptr) b = pin(slot, api, size);
    if (b == nullptr) {
      trim_pinned(slot);
      b = pin(slot, api, size);
    }
  }
  if (b == nullptr)
    throw OutOfMemoryError(join("out of memory on cpu: wanted ", bytes, " bytes of pinned memory"));
  pools().of[slot].alive.fetch_add(1, std::memory_order_relaxed);
  Ref<Storage> s;
  try {
    s = Storage::wrap(kHost, b->data, bytes, free_pinned, b);
  } catch (...) {
    free_pinned(b, b->data);
    throw;
  }
  s->pinned = true;
  return s;
}

void record_pinned_use(const Storage& storage, DeviceId device, tn_stream* stream) {
  if (storage.deleter != free_pinned) return;
  auto& block = *static_cast<PinnedBlock*>(storage.deleter_context);
  const Use use{device, stream, mark(device, stream)};
  const Use before = replace(block, use);
  if (before.event == nullptr) return;
  if (before.device != device || before.stream != stream)
    synchronize_stream(before.device, before.stream);
  const tn_device_api* a = device_entry(before.device).api;
  a->event_destroy(a->context, before.device.index, before.event);
}

void trim_pinned(DeviceSlot slot) noexcept {
  if (g_captures.load(std::memory_order_relaxed) != 0) return;
  PinnedBlock* todo = nullptr;
  {
    PinnedPools& all = pools();
    const std::lock_guard<LeafMutex> hold(all.lock);
    todo = std::exchange(all.of[slot].pending, nullptr);
    for (PinnedBlock*& list : all.of[slot].idle) {
      while (PinnedBlock* b = list) {
        list = b->next;
        push(todo, b);
      }
    }
  }
  while (PinnedBlock* b = todo) {
    todo = b->next;
    end_uses(*b);
    give_back(b);
  }
}

int64_t pinned_blocks(DeviceSlot slot) noexcept {
  return pools().of[slot].alive.load(std::memory_order_acquire);
}

}  // namespace tenon::core
