// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/memory/packed.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "plugin_cpu/memory/hash.h"

namespace tenon::cpu::packed {
namespace {

struct Entry {
  Origin from;
  std::vector<int64_t> layout;
  Kept memory;
  int64_t bytes = 0;
  uint64_t used = 0;  // number of the last call that used it
};

// A thread that finds it locked does not use it: packing again costs less than waiting.
class Table {
 public:
  std::mutex mutex;  // fork: the handlers below take it

  Entry* find(const Origin& from, sdk::Ints layout) {
    for (Entry& e : set_of(from, layout)) {
      if (e.from.id == from.id && e.from.data == from.data &&
          static_cast<int64_t>(e.layout.size()) == layout.size() &&
          std::equal(layout.begin(), layout.end(), e.layout.begin())) {
        return &e;
      }
    }
    return nullptr;
  }
  // An entry for these weights in place of another; null if all others are in use.
  Entry* take(const Origin& from, sdk::Ints layout) {
    Entry* found = nullptr;
    for (Entry& e : set_of(from, layout)) {
      if (e.memory && !stale(e)) continue;
      if (!found || e.used < found->used) found = &e;
    }
    if (!found) return nullptr;
    if (found->from.id == 0) ++entries_;
    drop(*found);
    found->from = from;
    found->layout.assign(layout.begin(), layout.end());
    return found;
  }
  void use(Entry& e) { e.used = ++calls_; }
  void keep(Entry& e, Kept memory, int64_t bytes) {
    e.memory = std::move(memory);
    e.bytes = bytes;
    bytes_ += bytes;
  }
  void drop(Entry& e) {
    bytes_ -= std::exchange(e.bytes, 0);
    e.memory.reset();
  }
  // False if that would take memory from what is in use.
  bool make_room(int64_t bytes) {
    while (bytes_ > 0 && bytes_ + bytes > limit_) {
      Entry* oldest = oldest_with_memory();
      if (!stale(*oldest)) return false;
      drop(*oldest);
    }
    return true;
  }
  void set_limit(int64_t bytes) {
    limit_ = bytes;
    while (bytes_ > bytes) drop(*oldest_with_memory());
  }
  int64_t limit() const { return limit_; }
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kSets = 128, kWays = 8;
  using Set = std::array<Entry, kWays>;

  Set& set_of(const Origin& from, sdk::Ints layout) {
    return sets_[hash_of(layout, from.id ^ reinterpret_cast<uintptr_t>(from.data)) % kSets];
  }
  // A program that uses its weights in turn comes back to each of them before that, so that more
  // weights than there is room for do not evict each other.
  bool stale(const Entry& e) const { return calls_ - e.used > 2 * entries_; }
  Entry* oldest_with_memory() {
    Entry* found = nullptr;
    for (Set& set : sets_) {
      for (Entry& e : set) {
        if (e.memory && (!found || e.used < found->used)) found = &e;
      }
    }
    return found;
  }

  std::array<Set, kSets> sets_;
  uint64_t calls_ = 0, entries_ = 0;
  int64_t bytes_ = 0, limit_ = int64_t{128} << 20;
};

// Never destroyed, as worker threads may outlive statics; and not from the heap, since a library
// whose initializer throws ends the process.
alignas(Table) unsigned char g_memory[sizeof(Table)];
Table& g_table = *new (g_memory) Table;

void lock_table() { g_table.mutex.lock(); }
void unlock_table() { g_table.mutex.unlock(); }
[[maybe_unused]] const int g_fork_handlers = pthread_atfork(lock_table, unlock_table, unlock_table);

// What was packed is read, and rarely the weights that it was packed from: the process need not
// hold both.
void release_pages(const Origin& from) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(from.data);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t end = (begin + static_cast<uintptr_t>(from.file_bytes)) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace

Origin origin(sdk::Tensor t, bool lasting) {
  const tn_storage* s = t.storage();
  if (!s) return {};
  const uint32_t flags = __atomic_load_n(&s->flags, __ATOMIC_RELAXED);
  if (flags & TN_STORAGE_EXPOSED) return {};
  Origin from{s->id, __atomic_load_n(&s->writes, __ATOMIC_RELAXED), t.data(), lasting, 0};
  if ((flags & TN_STORAGE_FILE_PAGES) && from.writes == 0 && t.numel() > 0) {
    int64_t last = 0;  // element, from the first
    for (int d = 0; d < t.ndim(); ++d) last += (t.size(d) - 1) * t.stride(d);
    from.file_bytes = (last + 1) * sdk::item_size(t.dtype());
  }
  return from;
}

Found find(const Origin& from, sdk::Ints layout, int64_t bytes) {
  Table& t = g_table;
  const std::unique_lock<std::mutex> hold(t.mutex, std::try_to_lock);
  if (from.id == 0 || !hold.owns_lock() || bytes > t.limit()) return {};
  Entry* e = t.find(from, layout);
  if (e && e->from.writes == from.writes) {
    t.use(*e);
    return {e->memory, !e->memory};
  }
  if (e) {
    t.drop(*e);
    e->from = from;
  } else {
    e = t.take(from, layout);
  }
  if (e) t.use(*e);
  return {nullptr, e != nullptr && from.lasting};
}

Kept add(const Origin& from, sdk::Ints layout, Buffer packed, int64_t bytes) {
  Kept made = std::make_shared<const Buffer>(std::move(packed));
  Table& t = g_table;
  const std::unique_lock<std::mutex> hold(t.mutex, std::try_to_lock);
  Entry* e = hold.owns_lock() ? t.find(from, layout) : nullptr;
  if (!e || e->from.writes != from.writes || e->memory || !t.make_room(bytes)) return made;
  t.keep(*e, made, bytes);
  release_pages(from);
  return made;
}

void set_limit(int64_t bytes) {
  Table& t = g_table;
  const std::lock_guard<std::mutex> hold(t.mutex);
  t.set_limit(bytes);
}

int64_t bytes_kept() {
  Table& t = g_table;
  const std::lock_guard<std::mutex> hold(t.mutex);
  return t.bytes();
}

}  // namespace tenon::cpu::packed
