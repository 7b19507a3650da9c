// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions of two buffers, by dtype.
#pragma once

#include <cstddef>

#include "tenon/abi/ext/collective.h"

namespace tenon::gloo_engine {

// c[i] = a[i] op b[i]; c may be a or b.
using Combine = void (*)(void* c, const void* a, const void* b, size_t n);
Combine combine_of(tn_dtype dtype, int32_t reduction);  // null: not served
// Divides each of n elements, for averages of floating dtypes.
using Divide = void (*)(void* c, size_t n, int size);
Divide divide_of(tn_dtype dtype);
inline size_t item_bytes(tn_dtype d) { return size_t{d.bits} * d.lanes / 8; }

}  // namespace tenon::gloo_engine
