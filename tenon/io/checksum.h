// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// CRC-32 (the polynomial of zip and PNG), as fast as memory is read where the processor multiplies
// without carries. It finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::serialize::detail {

// Goes on from `crc`, which is 0 at the start.
TENON_API uint32_t crc32(uint32_t crc, const void* data, std::size_t bytes);

}  // namespace tenon::serialize::detail
