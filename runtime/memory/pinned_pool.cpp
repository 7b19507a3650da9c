// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/pinned_pool.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "runtime/base/leaf_mutex.h"
#include "runtime/device/capture.h"
#include "tenon/runtime/pool.h"

namespace tenon::core {
namespace {

using Use = PinnedBlock::Use;

constexpr uint64_t kMinBytes = 512, kMaxBytes = uint64_t{1} << 47;
constexpr int kClasses = (47 - 8) * 4;

// What the device of a slot pinned and nobody has: `idle` can be taken, `pending` is in use by
// streams or was so when it was last looked at.
struct PinnedPool {
  PinnedBlock* idle[kClasses] = {};
  PinnedBlock* pending = nullptr;
  std::atomic<int64_t> alive{0};
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

bool capturing() { return g_captures.load(std::memory_order_relaxed) != 0; }

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
  if (capturing()) return;
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

PinnedBlock* find(DeviceSlot slot, uint64_t bytes) noexcept {
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
  end_uses(*b);
  b->api->free_pinned(b->api->context, b->data, b->bytes);
  pool_free(b, sizeof(PinnedBlock));
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

// Notes the use in place of the stream's last one. The event that nobody needs any more.
tn_event* note(PinnedBlock& b, const Use& use) noexcept {
  const std::lock_guard<LeafMutex> hold(pools().lock);
  int at = 0;
  while (at < b.n_uses && (b.uses[at].device != use.device || b.uses[at].stream != use.stream))
    ++at;
  if (use.event == nullptr || at == PinnedBlock::kUses) {
    b.reusable = false;
    return use.event;
  }
  if (at < b.n_uses) return std::exchange(b.uses[at], use).event;
  b.uses[b.n_uses++] = use;
  return nullptr;
}

}  // namespace

PinnedBlock* take_pinned(DeviceSlot slot, const tn_device_api* api, uint64_t bytes) {
  if (bytes > kMaxBytes) return nullptr;
  const uint64_t size = rounded(bytes);
  poll(slot);
  PinnedBlock* b = find(slot, size);
  if (b == nullptr) b = pin(slot, api, size);
  if (b == nullptr) {
    trim_pinned(slot);
    b = pin(slot, api, size);
  }
  if (b != nullptr) pools().of[slot].alive.fetch_add(1, std::memory_order_relaxed);
  return b;
}

void drop_pinned(PinnedBlock* b) noexcept {
  PinnedPools& all = pools();
  PinnedPool& pool = all.of[b->slot];
  if (b->reusable) {
    const std::lock_guard<LeafMutex> hold(all.lock);
    push(b->n_uses == 0 ? pool.idle[class_of(b->bytes)] : pool.pending, b);
  } else {
    give_back(b);
  }
  pool.alive.fetch_sub(1, std::memory_order_release);
}

void record_use(PinnedBlock& b, DeviceId device, tn_stream* stream) noexcept {
  const tn_device_api* a = device_entry(device).api;
  if (device.slot != b.slot) {  // the device that pinned the block knows nothing of this work
    a->sync(a->context, device.index, stream);
    return;
  }
  tn_event* const before = note(b, {device, stream, mark(device, stream)});
  if (before != nullptr) a->event_destroy(a->context, device.index, before);
}

void trim_pinned(DeviceSlot slot) noexcept {
  if (!capturing()) release_pinned(slot);
}

void release_pinned(DeviceSlot slot) noexcept {
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
    give_back(b);
  }
}

int64_t pinned_blocks(DeviceSlot slot) noexcept {
  return pools().of[slot].alive.load(std::memory_order_acquire);
}

}  // namespace tenon::core
