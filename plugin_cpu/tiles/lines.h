// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whole tiles from lines of 32 elements, in the widest registers: what packing and gathering spend
// their time on.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// 16 lines as the rows of a tile: line i is at from + i * step, or at from + 32 * at[i].
void copy_lines(const uint16_t* from, int64_t step, char* to);
void copy_lines_at(const uint16_t* from, const int32_t* at, char* to);
// 16 pairs of such lines, the even one's element below the odd one's in a word, as the rows of two
// tiles: the first 16 words of each pair go to one tile, the others to the second.
void pair_lines(const uint16_t* from, int64_t step, char* to, char* second);
void pair_lines_at(const uint16_t* from, const int32_t* at, char* to, char* second);

}  // namespace tenon::cpu
