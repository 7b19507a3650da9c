// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/jit/unit.h"

namespace tenon::jit::formats {

// Constants that were numbers of Python when a program was traced become numbers again.
void unwrap_numbers(Function& f);

}  // namespace tenon::jit::formats
