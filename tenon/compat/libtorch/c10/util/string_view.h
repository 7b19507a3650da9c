// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <string_view>

namespace c10 {
using std::basic_string_view;
using std::string_view;
}  // namespace c10
