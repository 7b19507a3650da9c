// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/onednn/bf16.h"

#include "isa/isa.h"
#include "plugin_cpu/onednn/onednn.h"

namespace tenon::cpu {
namespace {

struct Choice {
  std::string_view name;
  const TileUnit* unit;
  bool onednn;
};

Choice best() {
  const bool native = onednn::native_bf16();
  if (isa() == Isa::Avx3) {
    if (const TileUnit* amx = amx_unit()) return {"amx", amx, native};
    if (const TileUnit* dots = dot_unit()) return {"avx512_bf16", dots, native};
  }
  return {native ? "onednn" : "float", nullptr, native};
}

Choice& choice() {
  static Choice chosen = best();
  return chosen;
}

}  // namespace

bool choose_bf16(std::string_view name) {
  const bool native = onednn::native_bf16();
  if (name == "amx" && amx_unit())
    choice() = {"amx", amx_unit(), native};
  else if (name == "avx512_bf16" && isa() == Isa::Avx3 && dot_unit())
    choice() = {"avx512_bf16", dot_unit(), native};
  else if (name == "amx_emulated")
    choice() = {"amx_emulated", emulated_unit(), native};
  else if (name == "onednn" && native)
    choice() = {"onednn", nullptr, true};
  else if (name == "float")
    choice() = {"float", nullptr, false};
  else
    return false;
  return true;
}

std::string_view bf16_name() { return choice().name; }
const TileUnit* tile_unit() { return choice().unit; }
const TileUnit* convolution_unit() {
  const Choice& c = choice();
  return c.onednn && c.unit == dot_unit() ? nullptr : c.unit;
}
bool bf16_by_onednn() { return choice().onednn; }

}  // namespace tenon::cpu
