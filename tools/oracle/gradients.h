// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The gradients that tenon's autograd gives for one case, and their comparison with the case.
#pragma once

#include <string>
#include <vector>

#include "results.h"

namespace tenon::oracle {

// Asks for a gradient of each argument that the case has one for. Before the call.
void require_gradients(const json& c, const Arguments& args);
// Runs backward from `results` with the case's cotangents and compares. After the call.
std::string judge_gradients(const CaseFile& file, const json& c, const Arguments& args,
                            const std::vector<Result>& results, core::DeviceId place);
// A copy of `leaf` that autograd has recorded: an in-place form may write to it.
core::Impl recorded_copy(const core::Impl& leaf);

}  // namespace tenon::oracle
