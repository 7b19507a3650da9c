// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows on tensors of a layout other than strided.
#include "tenon/core/error.h"
#include "tenon/core/infer.h"

namespace tenon::core {

// The layout itself has ruled before this is asked: here is nothing but strided tensors.
TENON_INFER(layout) { fail<TypeError>(c, "expected a tensor with a layout of its own, got a strided one"); }

TENON_INFER(to_dense) { c.set(0, c.tensor(0).sizes(), c.dtype(1, c.tensor(0).dtype)); }

}  // namespace tenon::core
