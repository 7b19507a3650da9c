// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A loop program one point at a time, in double and int64: what takers are compared with.
#pragma once

#include <map>
#include <vector>

#include "tenon/sdk/loop_program/bind.h"

namespace oracle {

// Row-major; integers are exact in double up to 2^53, which the tests stay below.
using Values = std::vector<double>;

// All arrays of the program after it ran, by index. `inputs` in order.
std::vector<Values> run(const tenon::sdk::loop_program::Program& program,
                        const tenon::sdk::loop_program::Binding& binding,
                        const std::vector<Values>& inputs);

}  // namespace oracle
