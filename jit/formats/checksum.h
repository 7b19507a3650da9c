// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tenon/runtime/export.h"

namespace tenon::jit::formats {

// The CRC-32 of ZIP files. Weights are checked whenever they are mapped, so that it matters how
// long it takes: zlib's takes longer than all else in a load.
TENON_API uint32_t checksum(const void* data, uint64_t size);

}  // namespace tenon::jit::formats
