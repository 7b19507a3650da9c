// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/processor.h"

#include <cpuid.h>

#include <array>
#include <cstdio>

namespace tenon::llvm_loops {
namespace {

using Registers = std::array<unsigned, 4>;  // eax, ebx, ecx, edx

Registers leaf(unsigned number, unsigned part) {
  Registers r{};
  if (!__get_cpuid_count(number, part, &r[0], &r[1], &r[2], &r[3])) return {};
  return r;
}

// The registers that the system saves.
unsigned long long saved_state() {
  if (!(leaf(1, 0)[2] & bit_OSXSAVE)) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<unsigned long long>(high) << 32 | low;
}

}  // namespace

std::string processor() {
  const Registers vendor = leaf(0, 0), model = leaf(1, 0), features = leaf(7, 0), more = leaf(7, 1),
                  extended = leaf(0x80000001, 0);
  char text[200];
  std::snprintf(text, sizeof text, "%08x%08x%08x %08x %08x%08x %08x%08x%08x %08x%08x %08x%08x %llx",
                vendor[1], vendor[3], vendor[2], model[0], model[2], model[3], features[1],
                features[2], features[3], more[0], more[3], extended[2], extended[3],
                saved_state());
  return text;
}

}  // namespace tenon::llvm_loops
