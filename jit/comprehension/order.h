// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which loop of a nest is the innermost.
#pragma once

#include "tenon/sdk/loop_program/program.h"

namespace tenon::jit::comprehension {

// Moves the loop inside that walks most arrays along their last dimension: takers run blocks of the
// innermost loop.
void order_loops(sdk::loop_program::Nest& nest);

}  // namespace tenon::jit::comprehension
