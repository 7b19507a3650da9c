// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CRC-32 (the polynomial of zip and PNG), eight bytes at a step. It finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::serialize::detail {

// Goes on from `crc`, which is 0 at the start.
uint32_t crc32(uint32_t crc, const void* data, std::size_t bytes);

}  // namespace tenon::serialize::detail
