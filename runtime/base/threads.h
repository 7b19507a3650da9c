// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tenon::core {

// Whether this thread counts as inside of a parallel region, where parallel_for works alone.
// Returns what held before.
bool exchange_parallel_region(bool inside) noexcept;

}  // namespace tenon::core
