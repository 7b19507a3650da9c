// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/random.h"

#include <atomic>
#include <mutex>

#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

constexpr uint64_t kFirstSeed = 67280421310721;  // libtorch's

// Held for a few instructions.
class SpinGuard {
 public:
  explicit SpinGuard(std::atomic<bool>& lock) : lock_(lock) {
    while (lock_.exchange(true, std::memory_order_acquire)) {
      while (lock_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    }
  }
  ~SpinGuard() { lock_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& lock_;
};

std::atomic<GeneratorImpl*> g_generators[kMaxDevices][kMaxOrdinals];
std::mutex g_lock;
uint64_t g_seed = kFirstSeed;  // under g_lock; what generators made later start with

TENON_COLD GeneratorImpl& make_generator(DeviceId device) {
  std::lock_guard<std::mutex> hold(g_lock);
  std::atomic<GeneratorImpl*>& generator = g_generators[device.slot][device.index];
  if (generator.load(std::memory_order_relaxed) == nullptr) {
    generator.store(new GeneratorImpl(device_of(device), g_seed),
                    std::memory_order_release);  // never destroyed
  }
  return *generator.load(std::memory_order_relaxed);
}

}  // namespace

uint64_t GeneratorImpl::seed() const {
  SpinGuard hold(lock_);
  return seed_;
}

void GeneratorImpl::set_seed(uint64_t s) {
  SpinGuard hold(lock_);
  seed_ = s;
  offset_ = 0;
}

uint64_t GeneratorImpl::offset() const {
  SpinGuard hold(lock_);
  return offset_;
}

void GeneratorImpl::set_offset(uint64_t o) {
  SpinGuard hold(lock_);
  offset_ = o;
}

tn_generator GeneratorImpl::reserve(uint64_t words) {
  SpinGuard hold(lock_);
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
  std::lock_guard<std::mutex> hold(g_lock);
  g_seed = seed;
  for (auto& of_type : g_generators) {
    for (auto& generator : of_type) {
      if (GeneratorImpl* g = generator.load(std::memory_order_acquire)) g->set_seed(seed);
    }
  }
}

}  // namespace tenon::core
