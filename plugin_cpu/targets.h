// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The Highway targets of every kernel file: the compiler's baseline, AVX2 and AVX3. A file defines HWY_TARGET_INCLUDE
// and includes this in place of hwy/foreach_target.h.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include "hwy/foreach_target.h"
