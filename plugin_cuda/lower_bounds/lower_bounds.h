// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds (roofline) that bench/gpu compares with. Negative: failed.
#pragma once

#include <cstdint>

extern "C" {
enum tenon_bound_type { TENON_BOUND_FLOAT32, TENON_BOUND_FLOAT16, TENON_BOUND_BFLOAT16 };
int tenon_bound_devices(void);
double tenon_bound_launch_us(int launches);  // host time of one empty launch
// One launch of a graph of `nodes` kernels of one element.
double tenon_bound_graph_us(int nodes, int launches);
double tenon_bound_copy_gb_s(int64_t bytes);  // read and written, within the device
// A sparse matrix of `rows` rows and columns, `each` elements per row, times a dense one of k
// columns, by cuSPARSE.
double tenon_bound_cusparse_ms(int64_t rows, int64_t each, int64_t k);
double tenon_bound_first_ms(void);  // from nothing to the end of one launch, in a fresh process
double tenon_bound_pinned_gb_s(int64_t bytes);  // host to device
// Products of m x k by k x n, by the fastest algorithm that cuBLASLt proposes.
double tenon_bound_matmul_ms(enum tenon_bound_type type, int64_t batch, int64_t m, int64_t k,
                             int64_t n);
// The three products of a convolution of float32 without TF32 (images of channels x side x side by
// channels filters of kernel x kernel, same size), each by the fastest engine that cuDNN proposes.
// Negative without cuDNN, too.
double tenon_bound_conv_ms(int64_t images, int64_t channels, int64_t side, int64_t kernel);
}
