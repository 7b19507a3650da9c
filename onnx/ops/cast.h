// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "onnx/import/builder.h"

namespace tenon::onnx {

// The type of ONNX that the value has; 0: unknown.
int32_t type_of_item(const Item& i);
// `mode`: how float8e8m0 rounds, "up", "down" or "nearest".
ItemPtr cast_to(Builder& b, const ItemPtr& x, int32_t type, bool saturate = true,
                const std::string& mode = "up");

}  // namespace tenon::onnx
