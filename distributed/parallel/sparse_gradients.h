// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of tables of which a batch uses few rows.
#pragma once

#include "distributed/parallel/comm.h"

namespace tenon::distributed {

// The ranks' gradients of a parameter, each divided by `divisor`, added up: a coalesced tensor of
// the same bits on all ranks. An undefined one has no rows. A collective, which waits. Error: a
// gradient has more than one sparse dimension.
Tensor average_rows(const Comm& comm, const Tensor& gradient, const Tensor& parameter, int divisor);

}  // namespace tenon::distributed
