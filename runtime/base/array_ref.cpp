// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/runtime/array_ref.h"

namespace tenon::core {

std::string text(IntArrayRef v) { return join({v}); }

}  // namespace tenon::core
