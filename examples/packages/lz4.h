// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The LZ4 frame format, which apt keeps its lists in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packages {

bool is_lz4(std::string_view bytes);

// The bytes that the frames hold. std::runtime_error where the frames are damaged, cut short or
// hold more than `most`.
std::string unpack_lz4(std::string_view bytes, std::size_t most);

}  // namespace packages
