// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The Highway targets of every kernel file: the compiler's baseline, AVX2 and AVX3, up to
// TENON_CPU_MAX_ISA (an Isa); of other processors than x86-64 the baseline alone. A file defines
// HWY_TARGET_INCLUDE and includes this in place of hwy/foreach_target.h.
#undef HWY_DISABLED_TARGETS
#if !defined(__x86_64__)
#define HWY_COMPILE_ONLY_STATIC  // what the compiler's options say: NEON
#elif TENON_CPU_MAX_ISA == 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL)
#elif TENON_CPU_MAX_ISA == 1
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
#ifndef TENON_EXPORT
#include "isa/isa.h"
// Highway compiles a function of such a file once for each target. TENON_EXPORT(f); puts them into
// a table, in the namespace of f; TENON_DISPATCH(f)(arguments) calls the function of the chosen
// target. (Highway's own dispatch needs its library, which measures its timer for milliseconds
// whenever it is loaded.)
#if TENON_CPU_MAX_ISA == 0 || !defined(__x86_64__)
#define TENON_TARGETS_OF(f) &HWY_STATIC_DISPATCH(f)
#elif TENON_CPU_MAX_ISA == 1
#define TENON_TARGETS_OF(f) &HWY_STATIC_DISPATCH(f), &N_AVX2::f
#else
#define TENON_TARGETS_OF(f) &HWY_STATIC_DISPATCH(f), &N_AVX2::f, &N_AVX3::f
#endif
#define TENON_EXPORT(f) \
  static decltype(&HWY_STATIC_DISPATCH(f)) const f##_by_isa[] = {TENON_TARGETS_OF(f)}
#define TENON_DISPATCH(f) (*f##_by_isa[static_cast<int>(::tenon::cpu::isa())])
#endif
#include "hwy/foreach_target.h"
