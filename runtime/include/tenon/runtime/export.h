// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Marks what a shared library of the host side exports; everything else is hidden.
#define TENON_API __attribute__((visibility("default")))
#define TENON_COLD __attribute__((cold, noinline))
#define TENON_INLINE inline __attribute__((always_inline))
#define TENON_LIKELY(x) __builtin_expect(!!(x), 1)
#define TENON_UNLIKELY(x) __builtin_expect(!!(x), 0)
