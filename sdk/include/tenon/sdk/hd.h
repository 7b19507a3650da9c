// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Marks functions that a device compiler builds for host and device.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TN_HD __host__ __device__
#else
#define TN_HD
#endif
