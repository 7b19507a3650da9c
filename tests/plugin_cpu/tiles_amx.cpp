// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The machine code of the AMX unit against the emulated one. On a processor without AMX each of its
// instructions traps; a handler decodes it and does what the manual says. With AMX the processor
// executes them.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "plugin_cpu/tiles/block.h"
#include "plugin_cpu/tiles/emulated.h"

#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

using namespace tenon::cpu;

[[noreturn]] void refuse(const char* why) {
  [[maybe_unused]] const auto n = write(STDERR_FILENO, why, std::strlen(why));
  _exit(3);
}

emulated::Tile g_tile[8];
bool g_configured;

// VEX with three bytes, map 0F38, W and L zero: all that AMX has.
struct Instruction {
  int prefix, opcode, reg, rm, third;
  bool memory;
  char* base;
  int64_t index;  // what is added to base; the stride of loads and stores
  int length;
};

int64_t value(const ucontext_t* u, int number) {
  constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};
  return u->uc_mcontext.gregs[order[number]];
}

Instruction decode(const ucontext_t* u) {
  const auto* p = reinterpret_cast<const unsigned char*>(u->uc_mcontext.gregs[REG_RIP]);
  if (p[0] != 0xc4 || (p[1] & 31) != 2 || (p[2] & 0x84) != 0) refuse("another instruction traps\n");
  const int more_reg = p[1] & 0x80 ? 0 : 8, more_index = p[1] & 0x40 ? 0 : 8,
            more_base = p[1] & 0x20 ? 0 : 8;
  const int mode = p[4] >> 6, low = p[4] & 7;
  Instruction i{
      p[2] & 3, p[3], (p[4] >> 3 & 7) | more_reg, low | more_base, ~p[2] >> 3 & 15, mode != 3, {},
      0,        5};
  if (!i.memory) return i;
  int base = low | more_base;
  if (low == 4) {
    const int index = (p[5] >> 3 & 7) | more_index;
    if (index != 4) i.index = value(u, index) << (p[5] >> 6);
    base = (p[5] & 7) | more_base;
    i.length = 6;
  }
  if (mode == 0 && (base & 7) == 5) refuse("an address without a base register\n");
  int32_t offset = 0;
  if (mode == 1) offset = static_cast<signed char>(p[i.length]), i.length += 1;
  if (mode == 2) std::memcpy(&offset, p + i.length, 4), i.length += 4;
  i.base = reinterpret_cast<char*>(value(u, base)) + offset;
  return i;
}

// Eight tiles of 16 lines of 64 bytes, palette 1, nothing else.
void configure(const char* from) {
  unsigned char want[64] = {1};
  for (int i = 0; i < 8; ++i) want[16 + 2 * i] = 64, want[48 + i] = 16;
  if (std::memcmp(from, want, 64) != 0) refuse("another configuration\n");
  g_configured = true;
  std::memset(g_tile, 0, sizeof(g_tile));
}

void execute(const Instruction& i) {
  enum Prefix { kNone, k66, kF3, kF2 };
  if (i.opcode == 0x49 && i.prefix == kNone && i.memory) return configure(i.base);
  if (!g_configured) refuse("no configuration\n");
  if (i.opcode == 0x49 && i.prefix == kNone) {
    g_configured = false;
  } else if (i.opcode == 0x49 && i.prefix == kF2 && !i.memory) {
    std::memset(&g_tile[i.reg], 0, sizeof(emulated::Tile));
  } else if (i.opcode == 0x4b && i.prefix == kF2 && i.memory) {
    for (int r = 0; r < 16; ++r) std::memcpy(g_tile[i.reg].line[r], i.base + r * i.index, 64);
  } else if (i.opcode == 0x4b && i.prefix == kF3 && i.memory) {
    for (int r = 0; r < 16; ++r) std::memcpy(i.base + r * i.index, g_tile[i.reg].line[r], 64);
  } else if (i.opcode == 0x5c && i.prefix == kF3 && !i.memory) {
    if (i.reg == i.rm || i.reg == i.third || i.rm == i.third)
      refuse("a tile twice in one product\n");
    emulated::multiply(g_tile[i.reg], g_tile[i.rm], g_tile[i.third]);
  } else {
    refuse("an instruction that is not known here\n");
  }
}

void on_trap(int, siginfo_t*, void* context) {
  auto* u = static_cast<ucontext_t*>(context);
  const Instruction i = decode(u);
  execute(i);
  u->uc_mcontext.gregs[REG_RIP] += i.length;
}

std::vector<tenon::sdk::BFloat16> numbers(std::size_t n) {
  std::mt19937 random(1);
  std::vector<tenon::sdk::BFloat16> out(n);
  for (auto& x : out) x = static_cast<float>(random() % 2001) / 500 - 2;
  return out;
}

std::vector<float> sums(const TileUnit& unit, TileBlock block, int rows, int cols) {
  std::vector<float> out(32 * 48, 3.0f);
  block.sum = out.data();
  unit.configure();
  unit.block[rows - 1][cols - 1](block);
  unit.release();
  return out;
}

}  // namespace

TEST(AmxInstructions, BlocksAreThoseOfTheEmulatedUnit) {
  struct sigaction trap = {}, before = {};
  trap.sa_sigaction = on_trap;
  trap.sa_flags = SA_SIGINFO;
  // A processor that has them runs them itself.
  const bool here = amx_unit() != nullptr;
  if (!here) {
    ASSERT_EQ(sigaction(SIGILL, &trap, &before), 0);
  }
  constexpr TileUnit emulation = tile_unit_of<emulated::Tiles>();
  const auto a = numbers(20 * 512), b = numbers(24 * 512);
  const char *pa = reinterpret_cast<const char*>(a.data()),
             *pb = reinterpret_cast<const char*>(b.data());
  for (int rows : {1, 2}) {
    for (int cols : {1, 2}) {
      for (int64_t depth : {1, 3, 9}) {
        for (bool add : {false, true}) {
          const TileBlock block{pa, pb, 10 * kTileBytes, 12 * kTileBytes, depth, nullptr, 48, add};
          EXPECT_EQ(sums(*amx_instructions(), block, rows, cols),
                    sums(emulation, block, rows, cols));
        }
      }
    }
  }
  if (!here) sigaction(SIGILL, &before, nullptr);
}
#endif
