// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The value that a search has found so far, and where.
#pragma once

#include <cstdint>

namespace tenon::cuda {

template <class C, class Index = int64_t>
struct Found {
  C value;
  Index index;  // -1: none yet
};

}  // namespace tenon::cuda
