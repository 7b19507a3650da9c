// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The loops of the pointwise operators, which compute the nodes of loop programs: same bits.
#pragma once

#include "plugin_cpu/pointwise/engine.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::cpu::loop_program {

// Of a unary, binary or select node whose operands (of select: the last two) are of this kind;
// null if there is none.
pw::LoopFn loop_of(const sdk::loop_program::Node& node, pw::Kind operand);

}  // namespace tenon::cpu::loop_program
