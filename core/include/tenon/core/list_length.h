// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tenon::core {

// The lengths that a list of a schema's int[N] or bool[N] may have; no flag set: any.
enum ListLength : unsigned char { kLengthFixed = 1, kLengthOne = 2, kLengthNone = 4 };

}  // namespace tenon::core
