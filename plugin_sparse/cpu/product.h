// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A product as loops see it: row-major matrices, terms whose rows should ascend.
#pragma once

#include "tenon/sdk/kernel.h"

namespace tenon::coo::loops {

struct Product {
  const int64_t *rows, *columns;
  int64_t n, height, width, k;  // terms; rows of out and of dense; columns of both
  const void *values, *dense, *start;
  void* out;
  sdk::DType dtype;
  sdk::Scalar alpha;
  bool non_temporal;  // written with non-temporal stores
};

// Rows and terms before this one belong to other blocks.
struct Cut {
  int64_t row, term;
};

enum class Outcome { Done, OutOfRange, Unordered };

}  // namespace tenon::coo::loops
