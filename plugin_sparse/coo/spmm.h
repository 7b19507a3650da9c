// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin_sparse/coo/coo.h"

namespace tenon::coo {

// The terms of a product of matrices: values[i] * dense[columns[i]] is added to row rows[i].
struct Terms {
  Tensor rows, columns, values;
};

// out = start + alpha * the product; all but the terms are strided matrices, start is undefined for
// 0.
void add_product(Ops& op, const Tensor& out, const Terms& terms, const Tensor& dense,
                 const Scalar& alpha, const Tensor& start);

}  // namespace tenon::coo
