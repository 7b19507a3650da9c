// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Bases of counted classes of a program's own, by libtorch's names.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/runtime/ref.h"

namespace tenon {

// Held by core::Ref. A weak pointer keeps the object's memory, but not its resources: at the end of
// the last Ref release_resources() is called, and the destructor at the end of the last weak one.
class intrusive_ptr_target : public core::RefCounted {
 public:
  static void destroy(const intrusive_ptr_target* t) noexcept {
    if (!t->die()) return;  // a weak pointer was locked meanwhile
    if (t->weak_use_count() > 1) const_cast<intrusive_ptr_target*>(t)->release_resources();
    t->drop_weak();
  }
  void retain_weak() const noexcept { weak_.fetch_add(1, std::memory_order_relaxed); }
  void drop_weak() const noexcept {
    if (weak_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  uint32_t weak_use_count() const noexcept { return weak_.load(std::memory_order_acquire); }

 protected:
  intrusive_ptr_target() noexcept = default;
  // Counts are the object's own.
  intrusive_ptr_target(const intrusive_ptr_target& /*other*/) noexcept {}
  intrusive_ptr_target& operator=(const intrusive_ptr_target& /*other*/) noexcept { return *this; }
  virtual ~intrusive_ptr_target() = default;

 private:
  virtual void release_resources() {}
  mutable std::atomic<uint32_t> weak_{1};  // all strong references together count as one
};

// A base of classes whose objects programs hold: see class_ in jit/custom_class.h.
class CustomClassHolder : public intrusive_ptr_target {};

}  // namespace tenon
