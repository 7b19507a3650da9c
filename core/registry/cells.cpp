// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/registry/cells.h"

#include <mutex>
#include <utility>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

Cell g_cells[kMaxDevices + 1][kMaxLayouts][kMaxOps];

namespace {
std::atomic<bool> g_used[kMaxDevices];
std::atomic<bool> g_called[kMaxOps][kMaxDevices];
LeafMutex g_publish;
}  // namespace

void first_use(DeviceSlot slot) {
  if (g_used[slot].load(std::memory_order_acquire)) return;
  // Idempotent, takes its own lock.
  if (backend_source().open_for_device(device_entry(slot).name))
    g_used[slot].store(true, std::memory_order_release);
}

void first_call(const Op& op, DeviceSlot slot) {
  first_use(slot);
  std::atomic<bool>& called = g_called[op.index][slot];
  if (called.load(std::memory_order_acquire)) return;
  if (backend_source().open_for_operator(op.name, device_entry(slot).name))
    called.store(true, std::memory_order_release);
}

KernelEntry* find_kernel_late(const Op& op, DeviceSlot slot, int layout, ScalarType dtype) {
  first_use(slot);
  if (cell(op, slot, layout).load(std::memory_order_acquire))
    return find_kernel(op, slot, layout, dtype);
  KernelEntry* entry = cell(op, kAnyDevice, layout).load(std::memory_order_acquire);
  while (entry != nullptr && !entry->dtypes.has(dtype))
    entry = entry->next.load(std::memory_order_acquire);
  return entry;
}

namespace {
std::pair<int32_t, int32_t> rank(const KernelEntry& entry) {
  return {entry.kernel->priority, entry.plugin_priority};
}
}  // namespace

void publish(Cell& c, KernelEntry* entry) {
  std::lock_guard lock(g_publish);
  std::atomic<KernelEntry*>* at = &c;
  while (KernelEntry* other = at->load(std::memory_order_acquire)) {
    if (rank(*other) <= rank(*entry)) break;
    at = &other->next;
  }
  entry->next.store(at->load(std::memory_order_acquire), std::memory_order_release);
  at->store(entry, std::memory_order_release);
}

void withdraw(const tn_plugin* plugin) {
  std::lock_guard lock(g_publish);
  for (auto& device : g_cells) {
    for (auto& layout : device) {
      for (Cell& c : layout) {
        std::atomic<KernelEntry*>* at = &c;
        while (KernelEntry* entry = at->load(std::memory_order_acquire)) {
          if (entry->plugin == plugin)
            at->store(entry->next.load(std::memory_order_acquire), std::memory_order_release);
          else
            at = &entry->next;
        }
      }
    }
  }
}

}  // namespace tenon::core
