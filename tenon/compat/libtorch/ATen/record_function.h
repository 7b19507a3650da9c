// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/record_function.h"

#define RECORD_FUNCTION_WITH_SCOPE TENON_RECORD_FUNCTION_WITH_SCOPE
#define RECORD_FUNCTION TENON_RECORD_FUNCTION
#define RECORD_USER_SCOPE TENON_RECORD_USER_SCOPE
