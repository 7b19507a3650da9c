// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/random.h"

#include <atomic>
#include <mutex>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

constexpr uint64_t kFirstSeed = 67280421310721;  // libtorch's

// Held for a few instructions. Generators come and go, so those of a few addresses share one.
class Guard {
 public:
  explicit Guard(const GeneratorImpl* g) : lock_(lock_of(g)) { lock_.lock(); }
  ~Guard() { lock_.unlock(); }
  Guard(const Guard&) = delete;

 private:
  static LeafMutex& lock_of(const GeneratorImpl* g) {
    return g_locks[reinterpret_cast<uintptr_t>(g) / 32 % kLocks];
  }
  static constexpr int kLocks = 8;
  static LeafMutex g_locks[kLocks];
  LeafMutex& lock_;
};
LeafMutex Guard::g_locks[kLocks];

std::atomic<GeneratorImpl*> g_generators[kMaxDevices][kMaxOrdinals];
LeafMutex g_lock;
uint64_t g_seed = kFirstSeed;  // under g_lock; what generators made later start with

TENON_COLD GeneratorImpl& make_generator(DeviceId device) {
  std::lock_guard hold(g_lock);
  std::atomic<GeneratorImpl*>& generator = g_generators[device.slot][device.index];
  if (generator.load(std::memory_order_relaxed) == nullptr) {
    generator.store(new GeneratorImpl(device_of(device), g_seed),
                    std::memory_order_release);  // never destroyed
  }
  return *generator.load(std::memory_order_relaxed);
}

}  // namespace

uint64_t GeneratorImpl::seed() const {
  const Guard hold(this);
  return seed_;
}

void GeneratorImpl::set_seed(uint64_t s) {
  const Guard hold(this);
  seed_ = s;
  offset_ = 0;
}

uint64_t GeneratorImpl::offset() const {
  const Guard hold(this);
  return offset_;
}

void GeneratorImpl::set_offset(uint64_t o) {
  const Guard hold(this);
  offset_ = o;
}

tn_generator GeneratorImpl::reserve(uint64_t words) {
  const Guard hold(this);
  tn_generator range{seed_, offset_, state_};
  offset_ += words / 4 + (words % 4 != 0);
  return range;
}

GeneratorImpl& default_generator(Device d) {
  DeviceId device;
  if (!d.is_cpu()) {
    const DeviceSlot slot = usable_slot(d.type());
    device = {slot, d.has_index() ? d.index() : current_index(slot)};
  }
  TENON_CHECK(device.index < kMaxOrdinals, ValueError, "device index must be below ", kMaxOrdinals,
              ", got ", int{device.index});
  if (GeneratorImpl* g = g_generators[device.slot][device.index].load(std::memory_order_acquire))
    return *g;
  return make_generator(device);
}

void manual_seed(uint64_t seed) {
  {
    std::lock_guard hold(g_lock);
    g_seed = seed;
  }
  for (auto& of_type : g_generators) {
    for (auto& generator : of_type) {
      if (GeneratorImpl* g = generator.load(std::memory_order_acquire)) g->set_seed(seed);
    }
  }
}

}  // namespace tenon::core
