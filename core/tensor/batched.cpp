// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/batched.h"

namespace tenon::core {

void BatchLevel::destroy(BatchLevel* l) noexcept { delete l; }

}  // namespace tenon::core
