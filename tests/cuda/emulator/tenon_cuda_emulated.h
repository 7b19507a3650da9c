// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CUDA C++ for sources that g++ compiles: plugin_cuda/device/device.cuh includes this instead of
// cuda_runtime.h if TENON_CUDA_EMULATED is defined.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "tests/cuda/emulator/emulator.h"

// The runtime's headers give these a meaning for other compilers.
#undef __global__
#undef __device__
#undef __host__
#undef __forceinline__
#undef __launch_bounds__
#undef __align__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

#define threadIdx (::tenon::emulator::thread_index())
#define blockIdx (::tenon::emulator::block_index())
#define blockDim (::tenon::emulator::block_size())
#define gridDim (::tenon::emulator::grid_size())

#define __syncthreads() ::tenon::emulator::barrier(__FILE__, __LINE__)
#define TN_DETAIL_WARP(op, mask, value, operand, width)                                         \
  ::tenon::emulator::warp<::tenon::emulator::WarpOp::op>(mask, value, operand, width, __FILE__, \
                                                         __LINE__)
#define __syncwarp(mask) static_cast<void>(TN_DETAIL_WARP(Sync, mask, 0, 0, 32))
#define __shfl_up_sync(mask, value, delta, width) \
  TN_DETAIL_WARP(ShuffleUp, mask, value, delta, width)
#define __shfl_down_sync(mask, value, delta, width) \
  TN_DETAIL_WARP(ShuffleDown, mask, value, delta, width)
#define __shfl_xor_sync(mask, value, lanes, width) \
  TN_DETAIL_WARP(ShuffleXor, mask, value, lanes, width)
#define __shfl_sync(mask, value, lane, width) TN_DETAIL_WARP(Shuffle, mask, value, lane, width)
#define __ballot_sync(mask, condition) \
  static_cast<unsigned>(TN_DETAIL_WARP(Ballot, mask, int{(condition)}, 0, 32))
#define __any_sync(mask, condition) \
  static_cast<int>(TN_DETAIL_WARP(Any, mask, int{(condition)}, 0, 32))
#define __all_sync(mask, condition) \
  static_cast<int>(TN_DETAIL_WARP(All, mask, int{(condition)}, 0, 32))

namespace tenon::emulator {

template <WarpOp Op, class T>
T warp(uint32_t mask, T value, int operand, int width, const char* file, int line) {
  static_assert(sizeof(T) <= 8, "a shuffle moves up to eight bytes");
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = warp_op(Op, mask, word, operand, width, file, line);
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// A reference to an element of shared memory, whose reads and writes are checked. auto does not
// copy the element.
template <class T>
class SharedElement {
 public:
  SharedElement(SharedRegion* region, std::size_t offset) : region_(region), offset_(offset) {}
  SharedElement(const SharedElement&) = default;
  operator T() const {
    check_read(region_, offset_, sizeof(T));
    T v;
    std::memcpy(static_cast<void*>(&v), shared_bytes(region_) + offset_, sizeof v);
    return v;
  }
  const SharedElement& operator=(const T& v) const {
    check_write(region_, offset_, sizeof(T), &v);
    std::memcpy(shared_bytes(region_) + offset_, static_cast<const void*>(&v), sizeof v);
    return *this;
  }
  const SharedElement& operator=(const SharedElement& v) const { return *this = static_cast<T>(v); }
  const SharedElement& operator+=(const T& v) const {
    return *this = static_cast<T>(static_cast<T>(*this) + v);
  }
  // For atomics.
  const SharedElement* operator&() const { return this; }
  T* atomic_address() const {
    check_atomic(region_, offset_, sizeof(T));
    return reinterpret_cast<T*>(shared_bytes(region_) + offset_);
  }

 private:
  SharedRegion* region_;
  std::size_t offset_;
};

template <class T>
class SharedArray {
 public:
  SharedArray(SharedRegion* region, std::size_t offset) : region_(region), offset_(offset) {}
  template <class I>
  SharedElement<T> operator[](I i) const {
    return SharedElement<T>(region_, offset_ + static_cast<std::size_t>(i) * sizeof(T));
  }
  template <class I>
  SharedArray operator+(I i) const {
    return SharedArray(region_, offset_ + static_cast<std::size_t>(i) * sizeof(T));
  }

 private:
  SharedRegion* region_;
  std::size_t offset_;
};

// Blocks of one launch, and launches of several streams, may update the same word.
template <class T, class F>
T update(T* p, F&& f) {
  T old;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  for (;;) {
    T next = f(old);
    if (__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

}  // namespace tenon::emulator

#define TN_DETAIL_ATOMIC(name, expr)                                                  \
  template <class T>                                                                  \
  T name(T* p, std::common_type_t<T> v) {                                             \
    return ::tenon::emulator::update(p, [&](T old) { return static_cast<T>(expr); }); \
  }                                                                                   \
  template <class T>                                                                  \
  T name(const ::tenon::emulator::SharedElement<T>* p, std::common_type_t<T> v) {     \
    return ::tenon::emulator::update(p->atomic_address(),                             \
                                     [&](T old) { return static_cast<T>(expr); });    \
  }
TN_DETAIL_ATOMIC(atomicAdd, old + v)
TN_DETAIL_ATOMIC(atomicMax, old < v ? v : old)
TN_DETAIL_ATOMIC(atomicMin, v < old ? v : old)
TN_DETAIL_ATOMIC(atomicOr, old | v)
TN_DETAIL_ATOMIC(atomicAnd, old& v)
TN_DETAIL_ATOMIC(atomicExch, ((void)old, v))
#undef TN_DETAIL_ATOMIC
template <class T>
T atomicCAS(T* p, std::common_type_t<T> compare, std::common_type_t<T> v) {
  return ::tenon::emulator::update(p, [&](T old) { return old == compare ? v : old; });
}
template <class T>
T atomicCAS(const ::tenon::emulator::SharedElement<T>* p, std::common_type_t<T> compare,
            std::common_type_t<T> v) {
  return atomicCAS(p->atomic_address(), compare, v);
}

template <class T>
T __ldg(const T* p) {
  return *p;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}
inline int __popc(uint32_t a) { return __builtin_popcount(a); }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz(static_cast<unsigned>(a)); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __threadfence(); }

// T name[n] in shared memory.
#define TN_SHARED(T, name, n)                                                    \
  static constexpr char name##_tag = 0;                                          \
  const ::tenon::emulator::SharedArray<T> name(                                  \
      ::tenon::emulator::shared_region(&name##_tag, #name,                       \
                                       sizeof(T) * static_cast<std::size_t>(n)), \
      0)

namespace tenon::cuda {
template <class T>
using Shared = emulator::SharedArray<T>;

// The launch's dynamic shared memory from byte `offset` on.
template <class T>
Shared<T> dynamic_shared(std::size_t offset = 0) {
  return Shared<T>(emulator::shared_region(nullptr, "dynamic_shared", 0), offset);
}
}  // namespace tenon::cuda
