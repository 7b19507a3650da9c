// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/profiler_range.h"

#include "runtime/device/extensions.h"
#include "tenon/abi/ext/profiler.h"

namespace tenon::core {
namespace {

const tn_ext_profiler* profiler_of(DeviceSlot slot) noexcept {
  const tn_ext* e = device_ext(slot, TN_EXT_PROFILER);
  const auto* profiler = reinterpret_cast<const tn_ext_profiler*>(e);
  const bool whole = profiler != nullptr && e->struct_size >= sizeof *profiler &&
                     profiler->push_range && profiler->pop_range;
  return whole ? profiler : nullptr;
}

}  // namespace

bool has_profiler_ranges(DeviceSlot slot) noexcept { return profiler_of(slot) != nullptr; }

void push_profiler_range(DeviceSlot slot, std::string_view name) noexcept {
  if (const tn_ext_profiler* p = profiler_of(slot)) p->push_range({name.data(), name.size()});
}

void pop_profiler_range(DeviceSlot slot) noexcept {
  if (const tn_ext_profiler* p = profiler_of(slot)) p->pop_range();
}

}  // namespace tenon::core
