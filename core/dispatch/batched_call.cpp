// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/batched_call.h"

namespace tenon::core {

std::atomic<BatchedCall> g_batched_call{nullptr};

}  // namespace tenon::core
