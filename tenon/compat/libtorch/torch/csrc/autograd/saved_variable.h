// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/autograd/saved_variable.h"

namespace tenon::autograd {
using saved_variable_list = std::vector<SavedVariable>;
}  // namespace tenon::autograd
