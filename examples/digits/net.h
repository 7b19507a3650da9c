// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A small convolutional network: two pairs of 3x3 convolutions, halving once, then two fully
// connected layers. A plain one has no batch normalization and no dropout, whose results depend on
// how a batch is divided among processes.
#pragma once

#include <tenon/tenon.h>

namespace digits {

struct NetImpl : tenon::nn::Module {
  NetImpl(int64_t rows, int64_t cols, bool plain = false)
      : conv1(register_module("conv1", conv(1, 32))),
        norm1(norm("norm1", 32, plain)),
        conv2(register_module("conv2", conv(32, 32))),
        norm2(norm("norm2", 32, plain)),
        conv3(register_module("conv3", conv(32, 64))),
        norm3(norm("norm3", 64, plain)),
        drop(register_module("drop", tenon::nn::Dropout(plain ? 0.0 : 0.4))),
        fc1(register_module("fc1", tenon::nn::Linear(64 * (rows / 2) * (cols / 2), 64))),
        fc2(register_module("fc2", tenon::nn::Linear(64, 10))) {}

  tenon::Tensor forward(tenon::Tensor x) {
    x = tenon::relu(normalize(norm1, conv1(x)));
    x = tenon::relu(normalize(norm2, conv2(x)));
    x = tenon::max_pool2d(x, 2);
    x = tenon::relu(normalize(norm3, conv3(x)));
    x = drop(x.flatten(1));
    return fc2(tenon::relu(fc1(x)));
  }

  static tenon::nn::Conv2d conv(int64_t in, int64_t out) {
    return tenon::nn::Conv2d(tenon::nn::Conv2dOptions(in, out, 3).padding(1));
  }
  tenon::nn::BatchNorm2d norm(const char* name, int64_t channels, bool plain) {
    if (plain) return tenon::nn::BatchNorm2d(nullptr);
    return register_module(name, tenon::nn::BatchNorm2d(channels));
  }
  static tenon::Tensor normalize(tenon::nn::BatchNorm2d& norm, const tenon::Tensor& x) {
    return norm.is_empty() ? x : norm(x);
  }

  tenon::nn::Conv2d conv1;
  tenon::nn::BatchNorm2d norm1;
  tenon::nn::Conv2d conv2;
  tenon::nn::BatchNorm2d norm2;
  tenon::nn::Conv2d conv3;
  tenon::nn::BatchNorm2d norm3;
  tenon::nn::Dropout drop;
  tenon::nn::Linear fc1;
  tenon::nn::Linear fc2;
};
TENON_MODULE(Net);

}  // namespace digits
