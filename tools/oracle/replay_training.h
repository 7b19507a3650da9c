// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Cases of modules, optimizers and schedules. They are replayed on the host.
#pragma once

#include <string>

#include "compare.h"
#include "replay.h"
#include "tenon/tensor.h"

namespace tenon::oracle {

Outcome replay_module(const CaseFile& file, const json& c);
Outcome replay_optimizer(const CaseFile& file, const json& c);
Outcome replay_schedule(const json& c);

// The first difference as a text; empty if there is none.
std::string close(const Tensor& got, const CaseFile& file, const json& ref,
                  const std::string& what);

}  // namespace tenon::oracle
