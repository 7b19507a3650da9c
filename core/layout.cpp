// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layouts by name. Core knows "strided"; "sparse_coo" has c10's number but no code here.
#include <atomic>
#include <mutex>

#include "tenon/core/device.h"
#include "tenon/core/error.h"

namespace tenon::core {
namespace {

struct Layouts {
  std::string name[kMaxLayouts] = {"strided", "sparse_coo"};
  std::atomic<const void*> ext[kMaxLayouts] = {};
  std::atomic<int> count{2};
  std::mutex lock;
};

Layouts& layouts() {
  static Layouts& l = *new Layouts;
  return l;
}

bool known(int slot) { return slot >= 0 && slot < layouts().count.load(std::memory_order_acquire); }

}  // namespace

int layout_slot_from_name(std::string_view name) {
  for (int i = 0; known(i); ++i) {
    if (layouts().name[i] == name) return i;
  }
  return -1;
}

int register_layout(std::string_view name, const void* ext) {
  TENON_CHECK(!name.empty() && name.size() <= 64, ValueError, "a layout needs a name of 1 to 64 bytes");
  Layouts& l = layouts();
  std::lock_guard<std::mutex> hold(l.lock);
  int slot = layout_slot_from_name(name);
  if (slot < 0) {
    slot = l.count.load(std::memory_order_relaxed);
    TENON_CHECK(slot < kMaxLayouts, ValueError, "layout '", name, "': this process knows ", kMaxLayouts, " already");
    l.name[slot] = name;
    l.count.store(slot + 1, std::memory_order_release);
  }
  if (ext == nullptr) return slot;
  const void* present = l.ext[slot].load(std::memory_order_relaxed);
  TENON_CHECK(slot != 0 && (present == nullptr || present == ext), ValueError, "layout '", name,
              "' is registered already");
  l.ext[slot].store(ext, std::memory_order_release);
  return slot;
}

void unregister_layout(int slot) noexcept {
  if (known(slot)) layouts().ext[slot].store(nullptr, std::memory_order_release);
}

std::string_view layout_name(int slot) {
  TENON_CHECK(known(slot), ValueError, "no layout has slot ", slot);
  return layouts().name[slot];
}

const void* layout_ext(int slot) noexcept {
  return known(slot) ? layouts().ext[slot].load(std::memory_order_acquire) : nullptr;
}

}  // namespace tenon::core
