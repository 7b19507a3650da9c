// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a checkpoint asks of the engine. Private to libtenon.
#pragma once

namespace tenon::autograd {

// Whether the passes that this thread is in add to the gradients of all leaves: none is a grad() or
// a backward() with inputs.
bool in_whole_pass() noexcept;

}  // namespace tenon::autograd
