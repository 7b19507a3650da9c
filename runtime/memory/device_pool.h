// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Large host blocks and all device memory of one device. Private to libtenon_core.
//
// Memory comes from the device in segments. A segment is a chain of spans in the order of their
// offsets; neighbors that are free and of one stream are always merged. Free spans are kept in
// lists, per stream and per kind (small requests have segments of their own, or they would pin
// large ones), binned by size, 16 bins per doubling.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "tenon/runtime/block.h"
#include "tenon/runtime/device.h"

namespace tenon::core {

inline constexpr int kSpanStreams = 4;

struct Span {
  Span *prev, *next;                  // neighbors in the segment
  Span *bin_prev, *bin_next;          // in the list of free spans, or of pending ones
  Span *segment_prev, *segment_next;  // among the first spans of segments
  void* handle;
  uint64_t offset, bytes;
  tn_stream* stream;  // whose order a free span follows
  tn_stream* used_on[kSpanStreams];
  tn_event* events[kSpanStreams];
  uint32_t pool;  // of a capture; 0: the shared pool. The same for all spans of a segment
  uint8_t n_used;
  bool used_on_many;  // more streams than fit above
  bool free;
  bool small;
};

// Free spans of one stream, one kind and one pool.
class FreeLists {
 public:
  static constexpr int kBins = 640;
  FreeLists(tn_stream* stream, bool small, uint32_t pool)
      : stream(stream), pool(pool), small(small) {}
  void insert(Span* s) noexcept;
  void remove(Span* s) noexcept;
  // Still in the list; null if none is large enough.
  Span* find_best(uint64_t bytes) const noexcept;
  tn_stream* stream;
  uint32_t pool;
  bool small;

 private:
  Span* bin_[kBins] = {};
  uint64_t map_[kBins / 64] = {};
};

class DevicePool {
 public:
  explicit DevicePool(DeviceId device);
  Block alloc(uint64_t bytes, tn_stream* stream);
  void free(Span* s) noexcept;
  void record_stream(Span* s, tn_stream* stream);
  void trim();
  void end_capture() noexcept;
  void release_capture(uint32_t pool) noexcept;
  // Gives all memory back and refuses further requests; false, and nothing has changed, while
  // blocks are alive.
  bool close();
  void open();  // again
  MemoryStats stats();
  uint64_t blocks_alive();
  std::mutex& lock() { return lock_; }  // for fork

 private:
  const tn_device_api* api() const;
  // The lists of a span exist from its first allocation on: freeing finds them, and allocates
  // nothing.
  FreeLists* find_lists(tn_stream* stream, bool small,
                        uint32_t pool) noexcept;  // null if there are none
  FreeLists* make_lists(tn_stream* stream, bool small, uint32_t pool);
  Span* find(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool);
  Span* take_from_other_stream(uint64_t bytes, tn_stream* stream, bool small, bool wait);
  bool is_idle(tn_stream* stream) noexcept;
  Span* grow(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool);
  const char* block_fault(const void* handle, uint64_t bytes) const;
  Span* alloc_segment(uint64_t bytes, tn_stream* stream, bool small, uint32_t pool);
  void split(Span* s, uint64_t bytes);
  bool order_streams(tn_stream* from, tn_stream* to) noexcept;
  void put_free(Span* s) noexcept;
  void retire(Span* s) noexcept;
  void absorb_next(Span* s) noexcept;
  void poll_pending(bool wait) noexcept;
  void trim_locked() noexcept;
  tn_event* record(tn_stream* stream) noexcept;
  [[noreturn]] void out_of_memory(uint64_t bytes);

  const DeviceId device_;
  uint64_t granule_;
  uint64_t alignment_ = 1;  // that the device promises for its blocks
  uint64_t cache_limit_;    // bytes that may lie unused before they go back
  bool
      exact_;  // a block is an allocation of its own, rounded up to words only: for memory checkers
  bool closed_ = false;
  tn_status last_status_ = TN_OK;  // of the device's alloc
  std::mutex lock_;                // fork: before_fork of allocator.cpp takes it
  std::vector<FreeLists*> lists_;
  FreeLists* recent_ = nullptr;  // of these, the one that was asked for last
  Span* segments_ = nullptr;
  Span* held_ = nullptr;  // freed in a capture that used them on further streams, until its end
  // Freed, but used on further streams that have not passed their events yet.
  Span* pending_ = nullptr;
  MemoryStats stats_{};
  uint64_t alive_ = 0;  // blocks that were handed out
};

}  // namespace tenon::core
