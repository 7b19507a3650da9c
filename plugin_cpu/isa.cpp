// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/isa.h"

#include <algorithm>

#include "hwy/targets.h"

namespace tenon::cpu {
namespace {

// Of the machine and of what this library was built for.
Isa best() noexcept {
  const auto have = hwy::SupportedTargets();
  const Isa most = (have & HWY_AVX3) ? Isa::Avx3 : (have & HWY_AVX2) ? Isa::Avx2 : Isa::Base;
  return std::min(most, static_cast<Isa>(TENON_CPU_MOST));
}

}  // namespace

Isa isa() noexcept {
  static const Isa chosen = best();
  return chosen;
}

// From here on Highway's dispatch and isa() know no more than these. (DisableTargets lasts until somebody asks
// SupportedTargets: that sets the dispatch to all that the machine has.)
void keep(int64_t targets) { hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & targets); }

bool choose_isa(std::string_view name) {
  const Isa most = best();
  const int64_t above_avx2 = HWY_AVX3 | HWY_AVX3_DL, above_base = above_avx2 | HWY_AVX2;
  if (name == "avx3") return most == Isa::Avx3;
  if (name == "avx2") {
    if (most == Isa::Base) return false;
    keep(~above_avx2);
    return true;
  }
  if (name != "base") return false;
  keep(~(above_base | HWY_SSE4 | HWY_SSSE3));
  return true;
}

std::string_view isa_name() noexcept {
  switch (isa()) {
    case Isa::Avx3:
      return "AVX3";
    case Isa::Avx2:
      return "AVX2";
    case Isa::Base:
      return "base";
  }
  return "";
}

}  // namespace tenon::cpu
