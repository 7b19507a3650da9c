// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Dtypes and reductions of NCCL.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tenon/abi/tensor.h"

namespace tenon::nccl_engine {

// How NCCL reduces elements of a dtype: as so many elements each of its own type.
struct Reduction {
  ncclDataType_t type;
  ncclRedOp_t op;
  size_t per_element;
};

// Nothing: NCCL has no such reduction, as bitwise ones, or of 16-bit integers.
std::optional<Reduction> reduction_of(tn_dtype dtype, int32_t reduction);

}  // namespace tenon::nccl_engine
