// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules by their names, as the cases build them.
#pragma once

#include "case_reader.h"
#include "tenon/nn.h"

namespace tenon::oracle {

struct BuiltModule {
  nn::AnyModule module;
  bool with_indices = false;  // the case wants the indices of a maximum too
};

// The module of a case from its constructor's arguments; false if there is no such module.
bool build_module(const CaseFile& file, const json& c, BuiltModule* out);
Tensor case_tensor(const CaseFile& file, const json& ref);

}  // namespace tenon::oracle
