// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reductions of losses as operators take them: integers.
#pragma once

#include <torch/namespaces.h>

#include <cstdint>

namespace at::Reduction {
enum Reduction : int64_t { None, Mean, Sum, END };
}
