// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/function_ref.h"
#include "tenon/runtime/export.h"

namespace tenon::autograd {

// From a hook or a node: calls the function at the end of the backward pass that runs in this
// thread, when all gradients are in place; of passes within passes, at the end of the outermost. In
// the order in which they were given; what one throws ends the pass, and after an exception of the
// pass none is called. Error where no pass runs. libtorch has it as Engine::queue_callback.
TENON_API void queue_callback(SharedFunction<void()> callback);

}  // namespace tenon::autograd
