// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels on tensors in host memory. Results do not depend on the number of threads: sums are taken
// in the order of the elements, each by one thread.
#pragma once

#include "plugin_sparse/coo/spmm.h"

namespace tenon::coo::loops {

Coo coalesce(Ops& op, const Tensor& indices, const Tensor& values, Ints sizes);

// out = start + alpha * the product; out contiguous, start undefined for 0.
void product(Ops& op, const Tensor& out, const Terms& terms, const Tensor& dense,
             const Scalar& alpha, const Tensor& start);

// a + b of tensors without duplicates, in order; the result is one, too. False if an operand is not
// coalesced although its flag says so.
bool merge(Ops& op, const Coo& a, const Coo& b, Ints sizes, Coo& sum);

// a * b by elements, of coalesced tensors: the intersection of their elements.
bool intersect(Ops& op, const Coo& a, const Coo& b, Ints sizes, Coo& product);

// The product of matrices of sizes [m, k] and [k, n]: each element once, in order, its terms added
// in the order of a's. False if there are too many elements.
bool matmul(Ops& op, const Coo& a, const Coo& b, Ints sizes_a, Ints sizes_b, Coo& product);

// out += alpha * the tensor, or with `set` out = the tensor; out is contiguous.
void scatter(Ops& op, const Tensor& out, const Coo& from, const Scalar& alpha, bool set);

// The rows of values at columns of indices, 0 if `from` has no such element.
void gather(Ops& op, const Tensor& out, const Coo& from, Ints sparse_sizes, const Tensor& at);

inline bool share_memory(const Tensor& a, const Tensor& b) {
  return a.storage() != nullptr && a.storage() == b.storage();
}

// Integers wrap; for bool, adding is "or".
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

}  // namespace tenon::coo::loops
