// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "isa/isa.h"

#include <algorithm>
#include <iterator>

namespace tenon::cpu {
namespace {

// The features that Highway's targets of these names require. (A processor with AVX2, FMA and BMI2
// has F16C and LZCNT.)
Isa machine_isa() noexcept {
#ifdef __x86_64__
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
  if (!avx2) return Isa::Base;
  const bool avx3 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return avx3 ? Isa::Avx3 : Isa::Avx2;
#else
  return Isa::Base;
#endif
}

Isa best_isa() noexcept { return std::min(machine_isa(), static_cast<Isa>(TENON_CPU_MAX_ISA)); }

}  // namespace

Isa detail::g_isa = best_isa();

bool choose_isa(std::string_view name) {
  constexpr std::string_view kNames[] = {"base", "avx2", "avx3"};
  auto at =
      static_cast<Isa>(std::find(std::begin(kNames), std::end(kNames), name) - std::begin(kNames));
  if (at > best_isa()) return false;
  detail::g_isa = at;
  return true;
}

std::string_view isa_name() noexcept {
  switch (isa()) {
    case Isa::Avx3:
      return "AVX3";
    case Isa::Avx2:
      return "AVX2";
    case Isa::Base:
#ifdef __aarch64__
      return "NEON";
#else
      return "base";
#endif
  }
  return "";
}

}  // namespace tenon::cpu
