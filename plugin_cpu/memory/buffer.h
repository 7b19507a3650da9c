// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Host memory of one call: taken from the heap, 64-byte aligned, given back at the end of the
// scope.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "plugin_cpu/memory/per_thread.h"

namespace tenon::cpu {

class Buffer {
 public:
  explicit Buffer(int64_t bytes) {
    if (bytes <= 0) return;
    const auto size = static_cast<std::size_t>(bytes);
    const bool large = size >= kHugePage;
    // Of a last page that is half full, too.
    const std::size_t huge = large ? (size + kHugePage / 2) / kHugePage * kHugePage : 0;
    p_ = std::aligned_alloc(large ? kHugePage : 64, std::max(huge, (size + 63) / 64 * 64));
    if (!p_) throw std::bad_alloc();
    // A first touch by pages of 4 KiB costs several times as much.
    if (large) madvise(p_, huge, MADV_HUGEPAGE);
  }
  Buffer(Buffer&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(p_); }
  template <class T = void>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  void* p_ = nullptr;
};

// Memory that a thread keeps between calls. Contents are undefined after each `get`.
template <class Tag>
class ThreadBuffer {
 public:
  ThreadBuffer() = default;
  ThreadBuffer(const ThreadBuffer&) = delete;
  static void* get(int64_t bytes) {
    ThreadBuffer& s = of_this_thread<ThreadBuffer>();
    if (bytes > s.size_) {
      std::free(s.p_);
      s.size_ = (bytes + 4095) / 4096 * 4096;
      s.p_ = std::aligned_alloc(64, static_cast<std::size_t>(s.size_));
      if (!s.p_) {
        s.size_ = 0;
        throw std::bad_alloc();
      }
    }
    return s.p_;
  }
  ~ThreadBuffer() { std::free(p_); }

 private:
  void* p_ = nullptr;
  int64_t size_ = 0;
};

// Memory of one call that the thread keeps, unless it is large: page faults cost more than the
// computation.
template <class Tag>
class CallBuffer {
 public:
  explicit CallBuffer(int64_t bytes) : heap_(bytes > kMaxKept ? bytes : 0) {
    p_ = bytes > kMaxKept ? heap_.as<>() : ThreadBuffer<Tag>::get(bytes);
  }
  template <class T = void>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  static constexpr int64_t kMaxKept = 16 << 20;
  Buffer heap_;
  void* p_;
};

}  // namespace tenon::cpu
