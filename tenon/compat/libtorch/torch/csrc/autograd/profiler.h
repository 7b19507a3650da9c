// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/autograd/profiler_legacy.h>
#include <torch/csrc/autograd/variable.h>

#include "tenon/profiler.h"
