// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions that the gradient formulas of operators call: one header per family in formulas/, each
// in namespace tenon::autograd::formulas. CMake writes the list.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {}

#include "formulas.gen.h"
