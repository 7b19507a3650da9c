// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/memory/per_thread.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace tenon::cpu::per_thread {
namespace {

constexpr int kMaxTypes = 256;  // types

struct Entries {
  Entry of[kMaxTypes];
};

// The destructor of a value may create another one: the C library then calls this again.
void drop_all(void* p) {
  std::unique_ptr<Entries> all(static_cast<Entries*>(p));
  for (Entry& e : all->of) {
    if (e.value != nullptr) e.drop(e.value);
  }
}

struct Key {
  pthread_key_t key = 0;
  bool made = pthread_key_create(&key, drop_all) == 0;
};
const Key g_key;

}  // namespace

int next_index() noexcept {
  static std::atomic<int> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Entry& entry(int index) {
  auto* all = g_key.made ? static_cast<Entries*>(pthread_getspecific(g_key.key)) : nullptr;
  if (__builtin_expect(all == nullptr, 0)) {
    auto made = std::make_unique<Entries>();
    if (!g_key.made || pthread_setspecific(g_key.key, made.get()) != 0) throw std::bad_alloc();
    all = made.release();
  }
  if (index >= kMaxTypes) throw std::bad_alloc();  // a type too many: raise kMaxTypes
  return all->of[index];
}

}  // namespace tenon::cpu::per_thread
