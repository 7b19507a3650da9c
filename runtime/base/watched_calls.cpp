// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/watched_calls.h"

namespace tenon::core {

std::atomic<int> g_watchers{0};

}  // namespace tenon::core
