// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/layout.h"

#include <atomic>
#include <mutex>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/backend_source.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {

std::atomic<bool> g_layouts_in_use{false};

namespace {

struct Entry {
  std::string name;
  std::vector<std::string> components, flags;
  std::atomic<const tn_ext_layout*> ext{nullptr};
  std::atomic<int64_t> alive{0};
};

struct Layouts {
  Entry entries[kMaxLayouts];
  std::atomic<int> count{1};
  LeafMutex lock;
  Layouts() { entries[0].name = "strided"; }
};

Layouts& layout_registry() {
  static Layouts& layouts = *new Layouts;
  return layouts;
}
// At load: functions that must not throw ask it.
[[maybe_unused]] const Layouts& g_layouts_at_load = layout_registry();

bool known(int slot) {
  return slot >= 0 && slot < layout_registry().count.load(std::memory_order_acquire);
}

std::vector<std::string> names(tn_str text) {
  std::vector<std::string> out;
  std::string_view rest(text.ptr ? text.ptr : "", text.ptr ? text.len : 0);
  while (!rest.empty()) {
    std::size_t comma = std::min(rest.find(','), rest.size());
    out.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out;
}

Entry& open_entry(int slot) {
  TENON_CHECK(layout_ext(slot) != nullptr, ValueError, "layout '", layout_name(slot),
              "': no plugin serves it");
  return layout_registry().entries[slot];
}

}  // namespace

int layout_slots() noexcept { return layout_registry().count.load(std::memory_order_acquire); }

int layout_slot_from_name(std::string_view name) {
  for (int i = 0; known(i); ++i) {
    if (layout_registry().entries[i].name == name) return i;
  }
  return -1;
}

int reserve_layout(std::string_view name) {
  TENON_CHECK(!name.empty() && name.size() <= 64, ValueError,
              "a layout needs a name of 1 to 64 bytes");
  Layouts& layouts = layout_registry();
  std::lock_guard hold(layouts.lock);
  int slot = layout_slot_from_name(name);
  if (slot >= 0) return slot;
  slot = layouts.count.load(std::memory_order_relaxed);
  TENON_CHECK(slot < kMaxLayouts, ValueError, "layout '", name, "': this process knows ",
              kMaxLayouts, " already");
  layouts.entries[slot].name = name;
  layouts.count.store(slot + 1, std::memory_order_release);
  return slot;
}

int register_layout(const tn_ext_layout* ext) {
  const std::string name(ext->name.ptr ? ext->name.ptr : "", ext->name.len);
  std::vector<std::string> components = names(ext->components), flags = names(ext->flags);
  TENON_CHECK(!components.empty() && components.size() <= kMaxComponents, ValueError, "layout '",
              name, "': a tensor has 1 to ", kMaxComponents, " components, this names ",
              components.size());
  TENON_CHECK(flags.size() <= 32 - TN_LAYOUT_FLAG, ValueError, "layout '", name, "': at most ",
              32 - TN_LAYOUT_FLAG, " flags, this names ", flags.size());
  const int slot = reserve_layout(name);
  Layouts& layouts = layout_registry();
  std::lock_guard hold(layouts.lock);
  Entry& entry = layouts.entries[slot];
  const tn_ext_layout* present = entry.ext.load(std::memory_order_relaxed);
  if (present == ext) return slot;
  TENON_CHECK(slot != 0 && present == nullptr, ValueError, "layout '", name,
              "' is registered already");
  entry.components = std::move(components);
  entry.flags = std::move(flags);
  entry.ext.store(ext, std::memory_order_release);
  g_layouts_in_use.store(true, std::memory_order_release);
  return slot;
}

void unregister_layout(int slot) {
  if (slot <= 0 || !known(slot)) return;
  TENON_CHECK(layout_tensors(slot) == 0, ValueError, layout_tensors(slot), " tensors of layout ",
              layout_name(slot), " are alive");
  layout_registry().entries[slot].ext.store(nullptr, std::memory_order_release);
}

int usable_layout(std::string_view name) {
  int slot = layout_slot_from_name(name);
  if (slot == 0) return 0;
  if (slot < 0 || layout_ext(slot) == nullptr) {
    backend_source().scan();
    backend_source().open_for_layout(name);
    slot = layout_slot_from_name(name);
  }
  TENON_CHECK(slot >= 0 && layout_ext(slot) != nullptr, ValueError,
              "no loaded plugin provides the layout '", name,
              "': ", backend_source().why_no_layout(name));
  return slot;
}

std::string_view layout_name(int slot) {
  TENON_CHECK(known(slot), ValueError, "no layout has slot ", slot);
  return layout_registry().entries[slot].name;
}

const tn_ext_layout* layout_ext(int slot) noexcept {
  return known(slot) ? layout_registry().entries[slot].ext.load(std::memory_order_acquire)
                     : nullptr;
}

const std::vector<std::string>& layout_components(int slot) { return open_entry(slot).components; }
const std::vector<std::string>& layout_flags(int slot) { return open_entry(slot).flags; }
int64_t layout_tensors(int slot) noexcept {
  return known(slot) ? layout_registry().entries[slot].alive.load(std::memory_order_acquire) : 0;
}
void count_composite(int slot, int by) noexcept {
  layout_registry().entries[slot].alive.fetch_add(by, std::memory_order_acq_rel);
}

}  // namespace tenon::core
