// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The host as a device: aligned memory, memcpy, no streams.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tenon/runtime/device.h"

namespace tenon::core {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

tn_status host_count(void*, int32_t* n) {
  *n = 1;
  return TN_OK;
}

tn_status host_props(void*, int32_t, tn_device_props* out) {
  tn_device_props p{};
  p.struct_size = sizeof p;
  std::strcpy(p.name, "cpu");
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  p.total_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  p.free_bytes = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  p.alignment = kAlignment;
  p.flags = TN_DEVICE_HOST_READABLE;
  p.compute_units = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  std::memcpy(out, &p, out->struct_size < sizeof p ? out->struct_size : sizeof p);
  return TN_OK;
}

// Large blocks are mapped directly, aligned so that the kernel can back all of them by huge pages:
// a first touch by 4 KiB pages costs 10 times as much.
tn_status map_large(uint64_t bytes, void** handle) {
  if (bytes > UINT64_MAX - 2 * kHugePage) return TN_ERROR_MEMORY;
  uint64_t whole = bytes + kHugePage;
  void* raw = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return TN_ERROR_MEMORY;
  auto begin = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (begin + kHugePage - 1) & ~(kHugePage - 1);
  if (aligned != begin) munmap(raw, aligned - begin);
  uint64_t tail = whole - (aligned - begin) - bytes;
  if (tail != 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  *handle = reinterpret_cast<void*>(aligned);
  return TN_OK;
}

uint64_t whole_pages(uint64_t bytes) { return (bytes + 4095) & ~uint64_t{4095}; }

tn_status host_alloc(void*, int32_t, uint64_t bytes, tn_stream*, void** handle) {
  if (bytes > uint64_t{1} << 56)
    return TN_ERROR_MEMORY;  // beyond any address space; keeps the sums below in range
  if (bytes >= kHugePage) return map_large(whole_pages(bytes), handle);
  void* p = nullptr;
  if (posix_memalign(&p, kAlignment, bytes == 0 ? 1 : bytes) != 0) return TN_ERROR_MEMORY;
  *handle = p;
  return TN_OK;
}

void host_free(void*, int32_t, void* handle, uint64_t bytes, tn_stream*) {
  if (bytes >= kHugePage) {
    munmap(handle, whole_pages(bytes));
  } else {
    std::free(handle);
  }
}

tn_status host_copy(void*, tn_device, void* dst, uint64_t dst_offset, tn_device, const void* src,
                    uint64_t src_offset, uint64_t bytes, tn_stream*) {
  if (bytes != 0)
    std::memmove(static_cast<char*>(dst) + dst_offset, static_cast<const char*>(src) + src_offset,
                 bytes);
  return TN_OK;
}

tn_status host_sync(void*, int32_t, tn_stream*) { return TN_OK; }

tn_status host_fill(void*, int32_t, void* dst, uint64_t offset, const void* pattern,
                    uint32_t pattern_bytes, uint64_t count, tn_stream*) {
  char* at = static_cast<char*>(dst) + offset;
  if (pattern_bytes == 1) {
    std::memset(at, *static_cast<const unsigned char*>(pattern), count);
    return TN_OK;
  }
  for (uint64_t i = 0; i < count; ++i) std::memcpy(at + i * pattern_bytes, pattern, pattern_bytes);
  return TN_OK;
}

constexpr tn_device_api make_api() {
  tn_device_api api{};
  api.struct_size = sizeof(tn_device_api);
  api.count = host_count;
  api.props = host_props;
  api.alloc = host_alloc;
  api.free = host_free;
  api.copy = host_copy;
  api.sync = host_sync;
  api.fill = host_fill;
  return api;
}

constexpr tn_device_api kHostApi = make_api();

}  // namespace

const tn_device_api& host_device_api() noexcept { return kHostApi; }

}  // namespace tenon::core
