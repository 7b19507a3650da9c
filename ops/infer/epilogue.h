// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What operators with an epilogue share: `other` is added to a product of the same shape, then an
// activation by name is applied. Private to ops/infer.
#pragma once

#include "tenon/core/infer.h"

namespace tenon::core {

// ValueError unless the activation is one of tenon/abi/activations.def, with its parameters.
void check_activation(Infer& c, int activation, int parameters);
// ValueError or TypeError unless `other`, if there is one, has these sizes and this dtype.
void check_other(Infer& c, int other, IntArrayRef sizes, ScalarType dtype);

}  // namespace tenon::core
