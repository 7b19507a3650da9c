// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin_sparse/coo/coo.h"

namespace tenon::coo {

// The values of a tensor, strided or sparse, at columns of indices: [n, dense sizes...].
Tensor values_at(Ops& op, const Tensor& self, const Tensor& at);

}  // namespace tenon::coo
