// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layouts by name. Core knows "strided"; the others come from plugins, each made of strided
// components.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/ext/layout.h"
#include "tenon/runtime/export.h"

namespace tenon {

// Other layouts have the value of the slot that their name was given.
enum class Layout : int8_t { Strided = 0 };
inline constexpr Layout kStrided = Layout::Strided;

enum class MemoryFormat : int8_t {
  Contiguous = 0,
  Preserve = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3
};

namespace core {

inline constexpr int kMaxLayouts = 8;
inline constexpr int kMaxComponents = 4;

TENON_API int layout_slots() noexcept;  // known to this process, strided among them
TENON_API int layout_slot_from_name(std::string_view name);  // -1 if unknown
// The slot of a name, its plugin opened. ValueError says that there is none, and where it was
// looked for.
TENON_API int usable_layout(std::string_view name);
// Reserves the next slot for a name; idempotent.
TENON_API int reserve_layout(std::string_view name);
// What a plugin says of a layout. `ext` must live until unregister_layout. ValueError when the
// names in it are not valid, or another plugin has registered the layout.
TENON_API int register_layout(const tn_ext_layout* ext);
// ValueError, and nothing has changed, while tensors of the layout are alive.
TENON_API void unregister_layout(int slot);
TENON_API std::string_view layout_name(int slot);
TENON_API const tn_ext_layout* layout_ext(int slot) noexcept;  // null until its plugin is open
// Their names; ValueError without a plugin.
TENON_API const std::vector<std::string>& layout_components(int slot);
TENON_API const std::vector<std::string>& layout_flags(int slot);
TENON_API int64_t layout_tensors(int slot) noexcept;  // alive
void count_composite(int layout_slot, int by) noexcept;

// Whether any layout but strided has been registered: only then need calls look for one.
extern TENON_API std::atomic<bool> g_layouts_in_use;

inline uint32_t abi_layout(int slot) {
  return slot == 0 ? TN_STRIDED : TN_LAYOUT_FOREIGN + slot - 1;
}
// -1 for a number that no layout can have.
inline int layout_slot_from_abi(int64_t id) {
  if (id == TN_STRIDED) return 0;
  return id >= TN_LAYOUT_FOREIGN && id < TN_LAYOUT_FOREIGN + INT8_MAX
             ? static_cast<int>(id - TN_LAYOUT_FOREIGN) + 1
             : -1;
}

}  // namespace core
}  // namespace tenon
