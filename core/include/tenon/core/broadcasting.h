// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the documentation of an operator says about broadcasting.
#pragma once

#include "tenon/core/op.h"

namespace tenon::core {

// The tensor arguments that broadcast against each other, or to what: "self, other; in place: other
// to self", "self to the result". Empty: none do. Null where nothing of the build tells: a
// composite operator broadcasts as those that it calls, one of a plugin as its own shape rule says.
TENON_API const char* broadcasting(const Op& op) noexcept;

}  // namespace tenon::core
