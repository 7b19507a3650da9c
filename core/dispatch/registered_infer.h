// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The shape rule of operators that plugins register: it asks the plugin's callback, which has
// services as a kernel has.
#pragma once

#include "tenon/core/infer.h"

namespace tenon::core {

void infer_registered(Infer& infer);

}  // namespace tenon::core
