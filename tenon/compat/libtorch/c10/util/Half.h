// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/float_arithmetic.h>
#include <c10/util/float_bits.h>
#include <c10/util/float_limits.h>
#include <torch/namespaces.h>

#include "tenon/core/half.h"
