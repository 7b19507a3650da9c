// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/object.h>

#include <string>
#include <vector>

#include "tenon/jit/freeze.h"
