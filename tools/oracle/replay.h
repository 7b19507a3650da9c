// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs one case, of an operator, a module, an optimizer or a schedule, and judges it.
#pragma once

#include <string>

#include "arguments.h"

namespace tenon::oracle {

enum class Verdict { Passed, Failed, Skipped };

struct Outcome {
  Verdict verdict;
  std::string reason;  // empty when passed
};

// Never throws: what a case throws is part of its outcome.
Outcome replay(const CaseFile& file, const json& c, core::DeviceId place);

}  // namespace tenon::oracle
