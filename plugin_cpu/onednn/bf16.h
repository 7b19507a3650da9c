// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The implementations of bfloat16 products: tiles, oneDNN, or float products of widened operands,
// each for the cases that the one before it does not support. The best is chosen at the first
// product; TENON_CPU_BF16 names another one.
#pragma once

#include <string_view>

#include "plugin_cpu/tiles/unit.h"

namespace tenon::cpu {

// Before any kernel and after choose_isa. False if it is not available: "amx",
// "avx512_bf16", "amx_emulated", "onednn", "float".
bool choose_bf16(std::string_view name);
std::string_view bf16_name();

const TileUnit* tile_unit();  // null: none is used
// Of convolutions: dot products over gathered windows are slower than oneDNN's own, where that has
// them.
const TileUnit* convolution_unit();
bool bf16_by_onednn();

}  // namespace tenon::cpu
