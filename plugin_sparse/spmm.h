// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin_sparse/coo.h"

namespace tenon::coo {

// out += alpha * (a @ b), out and b strided.
void add_product(Ops& op, const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha);

}  // namespace tenon::coo
