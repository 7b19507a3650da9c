// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to core: op.cpp and registered_op.cpp.
#pragma once

#include <memory>

#include "tenon/core/op.h"

namespace tenon::core {

// op.cpp: appends to the table; ValueError if the name is taken.
int add_op(std::unique_ptr<Op> op);

}  // namespace tenon::core
