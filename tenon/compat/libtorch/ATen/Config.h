// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What libtorch was built with, for programs that call those libraries themselves: none of them is
// linked with Tenon.
#pragma once

#define AT_MKLDNN_ENABLED() 0
#define AT_MKLDNN_ACL_ENABLED() 0
#define AT_MKL_ENABLED() 0
#define AT_MKL_SEQUENTIAL() 0
#define AT_POCKETFFT_ENABLED() 0
#define AT_NNPACK_ENABLED() 0
#define AT_BUILD_WITH_BLAS() 0
#define AT_BUILD_WITH_LAPACK() 0
#define AT_PARALLEL_OPENMP 0
#define AT_PARALLEL_NATIVE 1
