// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Intrusive reference counting.
//
// Invariants (cited elsewhere as "the rules of Ref"):
//  1. An object starts with one reference, owned by the Ref that make() returned.
//  2. The last release() calls T::destroy(T*), which returns the memory to where it came from.
//  3. Counts are atomic; a count of one seen by its owner means that no one else can see the
//  object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/runtime/export.h"

namespace tenon::core {

class RefCounted {
 public:
  TENON_INLINE void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  // True when the caller held the last reference.
  TENON_INLINE bool drop() const noexcept {
    if (refs_.load(std::memory_order_acquire) == 1) return true;  // rule 3: no atomic write needed
    return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  // Takes a reference unless the last one is gone already.
  bool try_retain() const noexcept {
    uint32_t n = refs_.load(std::memory_order_relaxed);
    while (n != 0) {
      if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }
  // For types with weak pointers, after drop() said true: false if another thread took a reference
  // in between.
  bool die() const noexcept {
    uint32_t one = 1;
    if (refs_.compare_exchange_strong(one, 0, std::memory_order_acq_rel) || one == 0) return true;
    return refs_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

 private:
  mutable std::atomic<uint32_t> refs_{1};
};

// Like libtorch's, a class template with a second parameter, so that a program may befriend
// intrusive_ptr<X> and deduce X from one. `Kind` chooses the specialization for classes that are
// not counted this way.
template <class T, class Kind = void>
class intrusive_ptr {
 public:
  intrusive_ptr() noexcept = default;
  intrusive_ptr(std::nullptr_t) noexcept {}
  TENON_INLINE intrusive_ptr(const intrusive_ptr& o) noexcept : p_(o.p_) {
    if (p_) p_->retain();
  }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  intrusive_ptr(const intrusive_ptr<U>& o) noexcept : p_(o.get()) {
    if (p_) p_->retain();
  }
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  intrusive_ptr(intrusive_ptr<U>&& o) noexcept : p_(o.leak()) {}
  TENON_INLINE ~intrusive_ptr() {
    if (p_) release(p_);
  }
  intrusive_ptr& operator=(const intrusive_ptr& o) noexcept {
    intrusive_ptr(o).swap(*this);
    return *this;
  }
  intrusive_ptr& operator=(intrusive_ptr&& o) noexcept {
    intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }

  // Takes over a reference that the caller owns.
  static intrusive_ptr adopt(T* p) noexcept {
    intrusive_ptr r;
    r.p_ = p;
    return r;
  }
  // Adds a reference.
  static intrusive_ptr share(T* p) noexcept {
    if (p) p->retain();
    return adopt(p);
  }

  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  T* leak() noexcept { return std::exchange(p_, nullptr); }
  void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }
  void reset() noexcept {
    if (T* p = std::exchange(p_, nullptr)) release(p);
  }

  // The same by libtorch's names.
  template <class... A>
  static intrusive_ptr make(A&&... args) {
    return adopt(new T(std::forward<A>(args)...));
  }
  static intrusive_ptr reclaim(T* p) noexcept { return adopt(p); }
  static intrusive_ptr reclaim_copy(T* p) noexcept { return share(p); }
  static intrusive_ptr unsafe_reclaim_from_nonowning(T* p) noexcept { return share(p); }
  T* release() noexcept { return leak(); }
  bool defined() const noexcept { return p_ != nullptr; }
  uint32_t use_count() const noexcept { return p_ ? p_->use_count() : 0; }
  bool unique() const noexcept { return use_count() == 1; }

 private:
  static void release(T* p) noexcept {
    if (p->drop()) T::destroy(p);
  }

  T* p_ = nullptr;
};

// Templates, as libtorch's, so that a program may compare its own pointers by what they point to.
template <class A, class KindA, class B, class KindB>
bool operator==(const intrusive_ptr<A, KindA>& a, const intrusive_ptr<B, KindB>& b) noexcept {
  return a.get() == b.get();
}
template <class A, class KindA, class B, class KindB>
bool operator!=(const intrusive_ptr<A, KindA>& a, const intrusive_ptr<B, KindB>& b) noexcept {
  return a.get() != b.get();
}
template <class A, class Kind>
bool operator==(const intrusive_ptr<A, Kind>& a, std::nullptr_t) noexcept {
  return a.get() == nullptr;
}
template <class A, class Kind>
bool operator!=(const intrusive_ptr<A, Kind>& a, std::nullptr_t) noexcept {
  return a.get() != nullptr;
}
template <class A, class Kind>
bool operator==(std::nullptr_t, const intrusive_ptr<A, Kind>& a) noexcept {
  return a.get() == nullptr;
}
template <class A, class Kind>
bool operator!=(std::nullptr_t, const intrusive_ptr<A, Kind>& a) noexcept {
  return a.get() != nullptr;
}

// Its short name in Tenon.
template <class T>
using Ref = intrusive_ptr<T>;

}  // namespace tenon::core
