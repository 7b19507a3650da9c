// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/memory/packed.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

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
struct Table {
  std::mutex mutex;  // fork: the handlers below take it
  Entry entry[64];
  uint64_t calls = 0;
  int64_t bytes = 0, limit = int64_t{128} << 20;

  Entry* find(const Origin& from, sdk::Ints layout) {
    for (Entry& e : entry) {
      if (e.from.id == from.id && e.from.data == from.data &&
          static_cast<int64_t>(e.layout.size()) == layout.size() &&
          std::equal(layout.begin(), layout.end(), e.layout.begin())) {
        return &e;
      }
    }
    return nullptr;
  }
  Entry& oldest(bool with_memory) {
    Entry* found = nullptr;
    for (Entry& e : entry) {
      if (with_memory && !e.memory) continue;
      if (!found || e.used < found->used) found = &e;
    }
    return *found;
  }
  void drop(Entry& e) {
    bytes -= std::exchange(e.bytes, 0);
    e.memory.reset();
  }
};

Table& g_table = *new Table;  // worker threads may outlive statics

void lock_table() { g_table.mutex.lock(); }
void unlock_table() { g_table.mutex.unlock(); }
[[maybe_unused]] const int g_fork_handlers = pthread_atfork(lock_table, unlock_table, unlock_table);

}  // namespace

Origin origin(sdk::Tensor t) {
  const tn_storage* s = t.storage();
  if (!s || (__atomic_load_n(&s->flags, __ATOMIC_RELAXED) & TN_STORAGE_EXPOSED)) return {};
  return {s->id, __atomic_load_n(&s->writes, __ATOMIC_RELAXED), t.data()};
}

Found find(const Origin& from, sdk::Ints layout, int64_t bytes) {
  Table& t = g_table;
  const std::unique_lock<std::mutex> hold(t.mutex, std::try_to_lock);
  if (from.id == 0 || !hold.owns_lock() || bytes > t.limit) return {};
  Entry* e = t.find(from, layout);
  if (e && e->from.writes == from.writes) {
    e->used = ++t.calls;
    return {e->memory, !e->memory};
  }
  if (!e) e = &t.oldest(false);
  t.drop(*e);
  e->from = from;
  e->layout.assign(layout.begin(), layout.end());
  e->used = ++t.calls;
  return {};
}

Kept add(const Origin& from, sdk::Ints layout, Buffer packed, int64_t bytes) {
  Kept made = std::make_shared<const Buffer>(std::move(packed));
  Table& t = g_table;
  const std::unique_lock<std::mutex> hold(t.mutex, std::try_to_lock);
  Entry* e = hold.owns_lock() ? t.find(from, layout) : nullptr;
  if (!e || e->from.writes != from.writes || e->memory) return made;
  while (t.bytes > 0 && t.bytes + bytes > t.limit) t.drop(t.oldest(true));
  e->memory = made;
  e->bytes = bytes;
  t.bytes += bytes;
  return made;
}

void set_limit(int64_t bytes) {
  Table& t = g_table;
  const std::lock_guard<std::mutex> hold(t.mutex);
  t.limit = bytes;
  while (t.bytes > bytes) t.drop(t.oldest(true));
}

int64_t bytes_kept() {
  Table& t = g_table;
  const std::lock_guard<std::mutex> hold(t.mutex);
  return t.bytes;
}

}  // namespace tenon::cpu::packed
