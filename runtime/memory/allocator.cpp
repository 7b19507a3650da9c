// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The entry points: small host blocks from the thread's own lists, everything else from the
// device's pool.
#include "tenon/runtime/allocator.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "runtime/device/capture.h"
#include "runtime/memory/allocator.h"
#include "runtime/memory/device_pool.h"
#include "runtime/memory/pinned_pool.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/thread_end.h"

namespace tenon::core {
namespace {

constexpr uint64_t kMinBlock = 64;
constexpr uint64_t kSmallLimit = uint64_t{1} << 20;
constexpr int kSmallClasses = 57;
#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t kSmallKept = 0;  // a cache would hide a use after free
#else
constexpr int64_t kSmallKept = int64_t{64} << 20;  // bytes that a thread keeps
#endif

// 64, then four classes per doubling up to 1 MiB: a block is at most a quarter larger than asked.
int small_class(uint64_t bytes) {
  if (bytes <= kMinBlock) return 0;
  uint64_t n = bytes - 1;
  int top = 63 - __builtin_clzll(n);
  return (top - 6) * 4 + static_cast<int>(n >> (top - 2) & 3) + 1;
}

struct SmallSizes {
  int64_t of[kSmallClasses];
  constexpr SmallSizes() : of{} {
    of[0] = kMinBlock;
    for (int c = 1; c < kSmallClasses; ++c) of[c] = int64_t{(c - 1) % 4 + 5} << ((c - 1) / 4 + 4);
  }
};
constexpr SmallSizes kSmallSizes;

int64_t small_bytes(int c) { return kSmallSizes.of[c]; }

// Written by its thread alone, read by memory_stats.
class Counter {
 public:
  int64_t get() const { return v_.load(std::memory_order_relaxed); }
  void set(int64_t v) { v_.store(v, std::memory_order_relaxed); }
  void add(int64_t d) { set(get() + d); }

 private:
  std::atomic<int64_t> v_{0};
};

// Bytes in use are `reserved` minus `kept`, so the fast path counts `kept` alone. The peak
// since the last change of `reserved` follows from the lowest `kept`. One thread's counts may be
// negative, when others free what it allocated; only sums over threads are meaningful.
struct ThreadStats {
  Counter reserved, reserved_peak, kept, kept_low, peak, calls, device_calls;

  void close_epoch() {
    int64_t top = reserved.get() - kept_low.get();
    if (top > peak.get()) peak.set(top);
    kept_low.set(kept.get());
  }
  void add_reserved(int64_t bytes) {
    close_epoch();
    reserved.add(bytes);
    if (bytes > 0) device_calls.add(1);
    if (reserved.get() > reserved_peak.get()) reserved_peak.set(reserved.get());
    close_epoch();
  }
  void add_kept(int64_t bytes) { kept.add(bytes); }
  void take_kept(int64_t bytes) {
    calls.add(1);
    int64_t now = kept.get() - bytes;
    kept.set(now);
    if (now < kept_low.get()) kept_low.set(now);
  }
  int64_t current_peak() const { return std::max(peak.get(), reserved.get() - kept_low.get()); }
  void merge(const ThreadStats& o) {
    reserved.add(o.reserved.get());
    reserved_peak.add(o.reserved_peak.get());
    kept.add(o.kept.get());
    kept_low.set(kept.get());
    peak.add(o.current_peak());
    calls.add(o.calls.get());
    device_calls.add(o.device_calls.get());
  }
};

// Free small blocks of one thread; the first word of a free block links to the next.
struct SmallCache {
  struct Node {
    Node* next;
  };
  Node* head[kSmallClasses] = {};
  ThreadStats stats;
  SmallCache *prev = nullptr, *next = nullptr;  // among all threads' caches
};

__thread SmallCache* t_small __attribute__((tls_model("initial-exec")));
__thread bool t_ended __attribute__((tls_model("initial-exec")));

// Every thread's statistics. Threads that have ended, or are about to, share `shared`.
struct AllCaches {
  std::mutex lock;  // fork: before_fork takes it
  SmallCache* first = nullptr;
  ThreadStats shared;
};

AllCaches& all_caches();

void free_lists(SmallCache& c) noexcept {
  for (int k = 0; k < kSmallClasses; ++k) {
    while (SmallCache::Node* n = c.head[k]) {
      c.head[k] = n->next;
      c.stats.add_kept(-small_bytes(k));
      c.stats.add_reserved(-small_bytes(k));
      std::free(n);
    }
  }
}

void close_cache() noexcept {
  SmallCache* c = t_small;
  t_small = nullptr;
  t_ended = true;
  free_lists(*c);
  AllCaches& all = all_caches();
  std::lock_guard<std::mutex> hold(all.lock);
  all.shared.merge(c->stats);
  (c->prev != nullptr ? c->prev->next : all.first) = c->next;
  if (c->next != nullptr) c->next->prev = c->prev;
  delete c;
}
__thread ThreadEnd t_cache_end __attribute__((tls_model("initial-exec"))) = {close_cache};

// Null for a thread that is ending, and if there is no memory for a cache: blocks then go to the
// heap one by one.
SmallCache* open_cache() noexcept {
  if (t_small != nullptr || t_ended) return t_small;
  auto* c = new (std::nothrow) SmallCache;
  if (c == nullptr || !at_thread_end(t_cache_end)) {
    delete c;
    return nullptr;
  }
  t_small = c;
  AllCaches& all = all_caches();
  std::lock_guard<std::mutex> hold(all.lock);
  c->next = all.first;
  if (all.first != nullptr) all.first->prev = c;
  all.first = c;
  return c;
}

inline void push_small(SmallCache& c, void* p, int k) noexcept {
  auto* n = static_cast<SmallCache::Node*>(p);
  n->next = c.head[k];
  c.head[k] = n;
  c.stats.add_kept(small_bytes(k));
}

TENON_COLD Block small_refill(int k, uint64_t bytes) {
  SmallCache* c = open_cache();
  int64_t size = small_bytes(k);
  void* p = nullptr;
  if (posix_memalign(&p, kMinBlock, static_cast<std::size_t>(size)) != 0) {
    cache_trim(kHost);
    if (posix_memalign(&p, kMinBlock, static_cast<std::size_t>(size)) != 0) {
      MemoryStats s = memory_stats(kHost);
      throw OutOfMemoryError(core::join("out of memory on cpu: wanted ", bytes,
                                        " bytes, allocated ", s.allocated, ", cached ",
                                        s.reserved - s.allocated, ", free 0"));
    }
  }
  std::unique_lock<std::mutex> hold;
  if (c == nullptr) hold = std::unique_lock<std::mutex>(all_caches().lock);
  ThreadStats& stats = c != nullptr ? c->stats : all_caches().shared;
  stats.add_reserved(size);
  stats.calls.add(1);
  return {p, 0, bytes, nullptr};
}

TENON_COLD void small_spill(void* p, int k) noexcept {
  int64_t size = small_bytes(k);
  SmallCache* c = open_cache();
  if (c == nullptr) {
    std::lock_guard<std::mutex> hold(all_caches().lock);
    all_caches().shared.add_reserved(-size);
    return std::free(p);
  }
  if (c->stats.kept.get() + size > kSmallKept) free_lists(*c);
  if (size > kSmallKept) {
    c->stats.add_reserved(-size);
    return std::free(p);
  }
  push_small(*c, p, k);
}

inline Block small_alloc(uint64_t bytes) {
  int k = small_class(bytes);
  SmallCache* c = t_small;
  if (TENON_UNLIKELY(c == nullptr || c->head[k] == nullptr)) return small_refill(k, bytes);
  SmallCache::Node* n = c->head[k];
  c->head[k] = n->next;
  c->stats.take_kept(small_bytes(k));
  return {n, 0, bytes, nullptr};
}

inline void small_free(void* p, uint64_t bytes) noexcept {
  int k = small_class(bytes);
  SmallCache* c = t_small;
  if (TENON_UNLIKELY(c == nullptr || c->stats.kept.get() + small_bytes(k) > kSmallKept))
    return small_spill(p, k);
  push_small(*c, p, k);
}

std::atomic<DevicePool*> g_pools[kMaxDevices][kMaxOrdinals];
std::mutex g_pools_lock;  // fork: before_fork takes it

template <class F>
void each_pool(F f) {
  for (auto& of_type : g_pools) {
    for (auto& pool : of_type) {
      if (DevicePool* p = pool.load(std::memory_order_acquire)) f(*p);
    }
  }
}

// A fork while another thread holds one of these locks would leave it locked in the child
// permanently.
void before_fork() {
  g_pools_lock.lock();
  all_caches().lock.lock();
  each_pool([](DevicePool& p) { p.lock().lock(); });
}
void after_fork() {
  each_pool([](DevicePool& p) { p.lock().unlock(); });
  all_caches().lock.unlock();
  g_pools_lock.unlock();
}

AllCaches& all_caches() {
  static AllCaches& a = *new AllCaches;
  return a;
}

// Registered at load, while there is one thread; a failure then stops the program from starting.
[[maybe_unused]] const int g_fork_handlers =
    (static_cast<void>(all_caches()), pthread_atfork(before_fork, after_fork, after_fork));

TENON_COLD DevicePool& make_pool(DeviceId device) {
  TENON_CHECK(device.index >= 0 && device.index < kMaxOrdinals, ValueError,
              "device index must be 0 to ", kMaxOrdinals - 1, ", got ", int{device.index});
  std::lock_guard<std::mutex> hold(g_pools_lock);
  std::atomic<DevicePool*>& pool = g_pools[device.slot][device.index];
  if (pool.load(std::memory_order_relaxed) == nullptr) {
    pool.store(new DevicePool(device), std::memory_order_release);
  }
  return *pool.load(std::memory_order_relaxed);
}

inline DevicePool* pool_or_null(DeviceId device) noexcept {
  if (device.slot >= kMaxDevices || device.index < 0 || device.index >= kMaxOrdinals)
    return nullptr;
  return g_pools[device.slot][device.index].load(std::memory_order_acquire);
}

// The pool that a block with an owner is from.
inline DevicePool& pool_of_block(DeviceId device) noexcept {
  return *g_pools[device.slot][device.index].load(std::memory_order_acquire);
}

}  // namespace

Block cache_alloc(DeviceId device, uint64_t bytes, tn_stream* stream) {
  if (bytes == 0) return {nullptr, 0, 0, nullptr};
  if (TENON_LIKELY(device.is_host() && bytes <= kSmallLimit)) return small_alloc(bytes);
  if (!device.is_host() && device_entry(device).api == nullptr)
    usable_slot(device_entry(device).type);
  DevicePool* p = pool_or_null(device);
  return (p != nullptr ? *p : make_pool(device)).alloc(bytes, stream);
}

void cache_free(DeviceId device, const Block& b, tn_stream*) noexcept {
  if (b.owner != nullptr) {
    pool_of_block(device).free(static_cast<Span*>(b.owner));
  } else if (b.bytes != 0) {
    small_free(b.handle, b.bytes);
  }
}

void cache_record_stream(DeviceId device, const Block& b, tn_stream* stream) {
  if (b.owner != nullptr) pool_of_block(device).record_stream(static_cast<Span*>(b.owner), stream);
}

void cache_trim(DeviceId device) {
  if (device.is_host() && t_small != nullptr) free_lists(*t_small);
  if (DevicePool* p = pool_or_null(device)) p->trim();
  trim_pinned(device.slot);
}

void end_capture_pool(DeviceId device) noexcept {
  if (DevicePool* p = pool_or_null(device)) p->end_capture();
}

void release_capture_pool(DeviceId device, uint32_t pool) noexcept {
  if (DevicePool* p = pool_or_null(device)) p->release_capture(pool);
}

int close_pools(DeviceSlot slot) {
  for (int i = 0; i < kMaxOrdinals; ++i) {
    DevicePool* p = pool_or_null({slot, i});
    if (p == nullptr || p->close()) continue;
    open_pools(slot);
    return i;
  }
  return -1;
}

uint64_t blocks_alive(DeviceId device) {
  DevicePool* p = pool_or_null(device);
  return p != nullptr ? p->blocks_alive() : 0;
}

void open_pools(DeviceSlot slot) {
  for (int i = 0; i < kMaxOrdinals; ++i) {
    if (DevicePool* p = pool_or_null({slot, i})) p->open();
  }
}

MemoryStats memory_stats(DeviceId device) {
  MemoryStats s{};
  if (DevicePool* p = pool_or_null(device)) s = p->stats();
  if (!device.is_host()) return s;
  AllCaches& all = all_caches();
  std::lock_guard<std::mutex> hold(all.lock);
  ThreadStats sum;
  sum.merge(all.shared);
  for (SmallCache* c = all.first; c != nullptr; c = c->next) sum.merge(c->stats);
  s.allocated += static_cast<uint64_t>(sum.reserved.get() - sum.kept.get());
  s.allocated_peak += static_cast<uint64_t>(sum.peak.get());
  s.reserved += static_cast<uint64_t>(sum.reserved.get());
  s.reserved_peak += static_cast<uint64_t>(sum.reserved_peak.get());
  s.allocations += static_cast<uint64_t>(sum.calls.get());
  s.device_allocations += static_cast<uint64_t>(sum.device_calls.get());
  return s;
}

}  // namespace tenon::core
