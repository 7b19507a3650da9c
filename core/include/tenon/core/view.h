// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether a shape fits over given memory without a copy.
#pragma once

#include "tenon/core/tensor_impl.h"

namespace tenon::core {

// Strides of `shape` (of as many elements as t) over the memory of t; false if only a copy can have it. `strides` has
// room for the shape's dimensions.
TENON_API bool view_strides(const TensorImpl& t, IntArrayRef shape, int64_t* strides);

}  // namespace tenon::core
