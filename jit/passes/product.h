// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers, whatever operator they are written with.
#pragma once

#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::jit {

// What it is made of.
struct Product {
  Node* node = nullptr;
  bool convolution = false;
  Value *input = nullptr, *bias = nullptr;  // bias may be None
  Tensor weight;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

// Where a kind has input, weight and bias; the weight of matmul and addmm is [in, out].
struct ProductLayout {
  int input, weight, bias;  // bias: -1 if there is none
  bool convolution, transposed;
};
// Null for other nodes.
const ProductLayout* product_layout(const Node& n);
// Fills in the window of a convolution whose weight is known; false for a transposed one, and where
// it is not constant.
bool fill_convolution(const Node& n, Product& p);

}  // namespace tenon::jit
