// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The Highway targets of every kernel file: the compiler's baseline, AVX2 and AVX3, as far as TENON_CPU_MOST (an Isa)
// goes. A file defines HWY_TARGET_INCLUDE and includes this in place of hwy/foreach_target.h.
#undef HWY_DISABLED_TARGETS
#if TENON_CPU_MOST == 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)
#elif TENON_CPU_MOST == 1
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#include "hwy/foreach_target.h"
