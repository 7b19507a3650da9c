// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The three products of a convolution. A transposed convolution is one of them with input and
// output exchanged:
//   forward of the transposed  = backward_data,    its gradient by the input  = forward,
//   its gradient by the weight = backward_weights with (grad of output, input) as (input, grad of
//   output).
#pragma once

#include <cstdint>

#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/memory/packed.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

// Three spatial dimensions always; leading ones of size 1. `channels` x `in` is the wider side:
// what a plain convolution reads. Weights are [filters, channels / groups, kernel...], everything
// row-major.
struct Conv {
  int64_t batch, channels, filters, groups;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];

  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t weights() const { return filters * (channels / groups) * taps(); }
  // One tap, stride 1, no padding: the image equals its unfolding.
  bool plain() const {
    for (int i = 0; i < 3; ++i) {
      if (kernel[i] != 1 || stride[i] != 1 || pad[i] != 0) return false;
    }
    return true;
  }
  // One tap, any stride, no padding, in one group.
  bool pointwise() const {
    for (int i = 0; i < 3; ++i) {
      if (kernel[i] != 1 || pad[i] != 0) return false;
    }
    return groups == 1;
  }
  // Multiply-adds of one image.
  int64_t work() const { return filters * (channels / groups) * taps() * out_plane(); }
};

// Tenon's own kernels, for every numeric dtype. `bias` may be null. Outputs are overwritten.
void conv_forward(sdk::DType t, const Conv& c, const void* x, const void* w, const void* bias,
                  void* y);
void conv_backward_data(sdk::DType t, const Conv& c, const void* dy, const void* w, void* dx);
void conv_backward_weights(sdk::DType t, const Conv& c, const void* x, const void* dy, void* dw);

// float32 and, if the processor has instructions for it, bfloat16, by oneDNN; false if oneDNN does
// not support the case, and then nothing was written. Gradients of weights are float32 for both.
// `from`: the storage of the weights.
bool conv_forward_onednn(sdk::DType t, const Conv& c, const void* x, const void* w,
                         const packed::Origin& from, const void* bias, void* y);
bool conv_backward_data_onednn(sdk::DType t, const Conv& c, const void* dy, const void* w,
                               const packed::Origin& from, void* dx);
bool conv_backward_weights_onednn(sdk::DType t, const Conv& c, const void* x, const void* dy,
                                  float* dw);

// bfloat16 on a unit of tiles; false if there is none or the case is too small for it, then nothing
// was written.
bool conv_forward_tiles(const Conv& c, const void* x, const void* w, const void* bias, void* y);
bool conv_backward_data_tiles(const Conv& c, const void* dy, const void* w, const void* bias,
                              void* dx);
bool conv_backward_weights_tiles(const Conv& c, const void* x, const void* dy, void* dw);

// float32 with as many groups as channels and filters, in two dimensions: 3x3 and 5x5 windows of
// stride 1 and 2, and little work; false: another case. `other`, as large as y, may be null.
bool conv_forward_depthwise(const Conv& c, const float* x, const float* w, const float* bias,
                            float* y, const Epilogue& e = {}, const float* other = nullptr);

// float32 with one tap: products of weights and pixels, whose blocks are finished while they are in
// the cache; `finish` has a row for each filter of the first image. False: another case.
bool conv_forward_pointwise(const Conv& c, const float* x, const float* w,
                            const packed::Origin& from, const Finish& finish);

// y[n][f] += bias[f] over `plane` elements, and its gradient: the sum over images and plane.
void add_bias(sdk::DType t, int64_t batch, int64_t filters, int64_t plane, const void* bias,
              void* y);
void bias_gradient(sdk::DType t, int64_t batch, int64_t filters, int64_t plane, const void* dy,
                   void* db);

}  // namespace tenon::cpu
