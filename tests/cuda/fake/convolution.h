// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A convolution and its gradients in plain loops over row-major tensors.
#pragma once

#include <cudnn.h>

#include <cstdint>

namespace tenon::fake {

enum class ConvOp { Forward, BackwardData, BackwardFilter };

struct Convolution {
  ConvOp op;
  cudnnDataType_t type;
  int64_t nd;  // spatial dimensions
  int64_t x[5], w[5], y[5];
  int64_t padding[3], stride[3], dilation[3];
};

// Whether the three shapes match.
bool fits(const Convolution& c);
// Writes y, x or w, depending on `op`.
void convolve(const Convolution& c, void* x, void* w, void* y);

// out = alpha * bias + beta * out, with one element of bias for every channel.
struct Bias {
  cudnnDataType_t type;
  int64_t batch, channels, plane;
  double alpha, beta;
};
void add_bias(const Bias& b, const void* bias, void* image);

}  // namespace tenon::fake
