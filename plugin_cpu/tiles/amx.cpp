// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The tiles of AMX.
#include "plugin_cpu/tiles/unit.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin_cpu/tiles/block.h"

namespace tenon::cpu {
namespace {

// Written as assembly: the compilers' intrinsics need literal tile numbers, and a target attribute
// on every caller.
struct Amx {
  template <int T>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  static void load(const void* from, int64_t row) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row), "i"(T) : "memory");
  }
  template <int T>
  static void store(void* to, int64_t row) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
  // Palette 1: eight tiles of 16 lines of 64 bytes.
  static void configure() {
    struct alignas(64) Config {
      uint8_t palette, start_row, reserved[14];
      uint16_t line_bytes[16];
      uint8_t lines[16];
    } config = {};
    static_assert(sizeof(Config) == 64, "what ldtilecfg reads");
    config.palette = 1;
    for (int i = 0; i < 8; ++i) config.line_bytes[i] = 64, config.lines[i] = 16;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  // Threads without tiles in use are switched without saving 8 KiB.
  static void release() { asm volatile("tilerelease" ::: "memory"); }
};

// Leaf 0x1D, which describes the tiles, is not read: virtual machines leave it empty though palette
// 1 works.
bool processor_has_it() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  constexpr unsigned kBFloat16 = 1u << 22, kTile = 1u << 24;
  return (d & kBFloat16) && (d & kTile);
}

// XCR0: the system saves the tiles' configuration (17) and their data (18).
bool system_saves_it() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kXsaveInUse = 1u << 27, kTileState = 3u << 17;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kXsaveInUse)) return false;
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return (a & kTileState) == kTileState;
}

bool system_permits_it() {
  constexpr long kRequestPermission = 0x1023,
                 kTileData = 18;  // ARCH_REQ_XCOMP_PERM; of the whole process
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const TileUnit* amx_instructions() {
  static constexpr TileUnit unit = tile_unit_of<Amx>();
  return &unit;
}

const TileUnit* amx_unit() {
  static const bool works = processor_has_it() && system_saves_it() && system_permits_it();
  return works ? amx_instructions() : nullptr;
}

}  // namespace tenon::cpu
#else
namespace tenon::cpu {
const TileUnit* amx_instructions() { return nullptr; }
const TileUnit* amx_unit() { return nullptr; }
}  // namespace tenon::cpu
#endif
