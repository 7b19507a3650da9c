// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/tiles/emulated.h"

#include "plugin_cpu/tiles/block.h"

namespace tenon::cpu {

const TileUnit* emulated_unit() {
  static constexpr TileUnit unit = tile_unit_of<emulated::Tiles>();
  return &unit;
}

}  // namespace tenon::cpu
