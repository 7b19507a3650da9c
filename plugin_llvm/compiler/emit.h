// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From what is compiled (spec.h) to a function of LLVM, `tn_kernel` with the type Kernel, in
// vectors of `lanes` elements written out, not left to the loop vectorizer: tiles of accumulators
// stay in registers, and ends of loops are masked. Throws NotCompiled.
#pragma once

#include <llvm/IR/Module.h>

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

void emit_kernel(const Spec& spec, int lanes, llvm::Module& module);

}  // namespace tenon::llvm_loops
