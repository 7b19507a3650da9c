// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Generators: Philox 4x32-10 by counter. A generator is a seed and an offset of 128-bit blocks;
// core reserves the range of each call, so that results depend on neither threads nor device.
#pragma once

#include <cstdint>
#include <mutex>

#include "tenon/runtime/device.h"
#include "tenon/runtime/ref.h"

namespace tenon::core {

class TENON_API GeneratorImpl : public RefCounted {
 public:
  GeneratorImpl(Device device, uint64_t seed) : device_(device), seed_(seed) {}
  // Hands out the given range; its end is not checked.
  GeneratorImpl(Device device, const tn_generator& range)
      : device_(device), seed_(range.seed), offset_(range.offset), state_(range.state_ptr) {}
  static void destroy(GeneratorImpl* g) noexcept { delete g; }
  Device device() const { return device_; }
  uint64_t seed() const;
  void set_seed(uint64_t s);  // and the offset to zero
  uint64_t offset() const;
  void set_offset(uint64_t o);
  // Takes `words` 32-bit words, rounded up to whole blocks; returns seed and the old offset.
  // Thread-safe.
  tn_generator reserve(uint64_t words);
  const void* state() const { return state_; }  // tn_generator's
  std::mutex& mutex() { return mutex_; }        // of programs

 private:
  Device device_;
  uint64_t seed_;
  uint64_t offset_ = 0;
  const void* state_ = nullptr;
  std::mutex mutex_;  // fork: locked by programs alone
};

TENON_API GeneratorImpl& default_generator(Device d);
// Seeds every device, those included whose plugin loads later.
TENON_API void manual_seed(uint64_t seed);

}  // namespace tenon::core
