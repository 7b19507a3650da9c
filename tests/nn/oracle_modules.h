// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tenon/nn.h"
#include "tools/oracle/case_reader.h"

namespace tenon::oracle {

struct BuiltModule {
  nn::AnyModule module;
  bool with_indices = false;  // the case wants the indices of a maximum too
};

// The module of a case from its constructor's arguments; false if there is no such module.
bool build_module(const CaseFile& file, const json& c, BuiltModule* out);
std::vector<std::string> known_modules();
Tensor case_tensor(const CaseFile& file, const json& ref);

}  // namespace tenon::oracle
