// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules that are only run: their weights become constants of the program, so that passes may
// compute with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/jit/module.h"

namespace tenon::jit {

// A module of its own that computes what `module` does in evaluation. Called functions and methods
// are put where they are called; attributes become constants, but those that a method writes and
// those that `preserved` names ("sub.counter"; a method's name keeps that method beside forward);
// submodules without such attributes are gone. Constants share memory with the module's tensors and
// need no gradients; written attributes are copies. `optimize_numerics`: batch normalization and
// scaling go into the weights before them. Works for modules of every format and for frozen ones.
// The result can be run, saved, cloned and moved: `to` takes the constants along. Error for a
// module that is training, ValueError for a name that it does not have.
TENON_API Module freeze(const Module& module,
                        const std::optional<std::vector<std::string>>& preserved = std::nullopt,
                        bool optimize_numerics = true);

// Freezes a module that is not frozen, and puts together what one operator can do: convolutions and
// linear layers with what follows them, attention, layers of the same input. `other_methods` are
// kept and treated as forward is. Results differ by rounding. A program saved after this is read by
// Tenon alone.
TENON_API Module optimize_for_inference(const Module& module,
                                        const std::vector<std::string>& other_methods = {});

}  // namespace tenon::jit
