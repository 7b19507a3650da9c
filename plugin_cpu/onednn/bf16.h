// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Who multiplies bfloat16: the tiles, oneDNN, or float products of widened operands, each serving what the one before
// it leaves. The best is chosen at the first product; TENON_CPU_BF16 names another one.
#pragma once

#include <string_view>

#include "plugin_cpu/tiles/unit.h"

namespace tenon::cpu {

// Before any kernel and after choose_isa. False if it cannot be had: "amx", "amx_emulated", "onednn", "float".
bool choose_bf16(std::string_view name);
std::string_view bf16_name();

const TileUnit* tile_unit();  // null: none is used
bool bf16_by_onednn();

}  // namespace tenon::cpu
