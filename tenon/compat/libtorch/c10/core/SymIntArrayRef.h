// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/SymInt.h>

#define C10_AS_INTARRAYREF_SLOW(a) ::tenon::asIntArrayRefUnchecked(a)
