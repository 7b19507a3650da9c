// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <optional>

#include "tenon/runtime/array_ref.h"

namespace c10 {
using std::bad_optional_access;
using std::in_place;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
}  // namespace c10
