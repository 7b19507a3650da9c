// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that have changed since an archive was written.
#pragma once

#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

// Replaces calls in the function's graph by what they meant to archives of the version.
void upgrade_operators(Function& f, int64_t version);

// Constants that were numbers of Python when a program was traced become numbers again.
void unwrap_numbers(Function& f);

}  // namespace tenon::jit::formats
