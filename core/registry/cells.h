// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The dispatch table: a cell for each (device, layout, op), holding the kernels that may serve it,
// best first.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "tenon/abi/plugin.h"
#include "tenon/core/layout.h"
#include "tenon/core/op.h"

namespace tenon::core {

// The place of kernels that serve a layout on every device.
inline constexpr int kAnyDevice = kMaxDevices;

// One published kernel. Found and used inside of an InFlight (in_flight.h).
struct KernelEntry {
  const tn_kernel* kernel;
  const tn_plugin* plugin;
  tn_kernel_fn run;
  DtypeMask dtypes;  // of the kernel, within those of the operator
  uint64_t inplace;  // bit 8 * argument + output: those may be the same memory (arguments 0 to 7)
  uint32_t flags;
  int32_t plugin_priority;  // decides between kernels of one priority
  std::atomic<KernelEntry*> next{nullptr};
  std::atomic<uint64_t> calls{0};
  std::vector<uint8_t>
      layouts;  // by argument, the last for the rest: bit l is layout slot l; empty: strided alone
  bool takes(int argument, int layout) const {
    if (layouts.empty()) return layout == 0;
    return layouts[std::min<std::size_t>(static_cast<std::size_t>(argument), layouts.size() - 1)] >>
               layout &
           1;
  }
};

using Cell = std::atomic<KernelEntry*>;
extern Cell g_cells[kMaxDevices + 1][kMaxLayouts][kMaxOps];

inline Cell& cell(const Op& op, DeviceSlot slot, int layout) {
  return g_cells[slot][layout][op.index];
}

// Opens the plugins of the device on first use, then looks again.
KernelEntry* find_kernel_late(const Op& op, DeviceSlot slot, int layout, ScalarType dtype);
// The kernel for a dtype; null if there is none.
inline KernelEntry* find_kernel(const Op& op, DeviceSlot slot, int layout, ScalarType dtype) {
  KernelEntry* entry = cell(op, slot, layout).load(std::memory_order_acquire);
  if (TENON_UNLIKELY(entry == nullptr)) return find_kernel_late(op, slot, layout, dtype);
  do {
    if (TENON_LIKELY(entry->dtypes.has(dtype))) return entry;
    entry = entry->next.load(std::memory_order_acquire);
  } while (entry != nullptr);
  return nullptr;
}
// Inserts by the priorities of kernel and plugin; the later one wins a tie, so that a program may
// override a kernel.
void publish(Cell& c, KernelEntry* entry);
void withdraw(const tn_plugin* plugin);
// Opens what serves a device, once.
void first_use(DeviceSlot slot);
// The same for an operator on it, of those with kOpOnDemand.
void first_call(const Op& op, DeviceSlot slot);

}  // namespace tenon::core
