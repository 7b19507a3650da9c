// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Guards that turn the recording of gradients off, as they do in libtorch for what runs inside of a
// kernel.
#pragma once

#include <c10/util/warning_handler.h>
#include <torch/library.h>
#include <torch/namespaces.h>

#include "tenon/autograd/mode.h"

namespace tenon {

// The older name; each one warns.
struct AutoNonVariableTypeMode : AutoGradMode {
  explicit AutoNonVariableTypeMode(bool enabled = true)
      : AutoGradMode(GradMode::is_enabled() && !enabled) {
    warn("deprecated",
         "AutoNonVariableTypeMode is deprecated and will be removed; AutoDispatchBelowAutograd has "
         "its place, InferenceMode that of a whole program");
  }
};

}  // namespace tenon
