// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Every operator as a function, and the factories that read C++ data.
#pragma once

#include "tenon/creation.h"
#include "tenon/indexing.h"
#include "tenon/ops.gen.h"
#include "tenon/tensor.h"
