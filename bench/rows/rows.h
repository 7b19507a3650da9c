// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The programs that are measured, written against libtorch's frontend: compiled once for each
// library.
#pragma once

#include <torch/torch.h>

#include <ATen/Parallel.h>

#include <memory>

#include "bench/harness.h"

namespace F = torch::nn::functional;
using at::Tensor;
using bench::keep;
using bench::Suite;
using torch::indexing::Slice;

inline constexpr int64_t M = 1 << 20;

inline Tensor grad(Tensor t) { return t.requires_grad_(); }
inline void clear(std::vector<Tensor> const& params) {
  for (auto& p : params) const_cast<Tensor&>(p).mutable_grad() = Tensor();
}

void small_rows(Suite& s);
void abi_rows(Suite& s);  // of ours alone
void train_rows(Suite& s);
void memory_rows(Suite& s);
void pointwise_rows(Suite& s);
void compute_rows(Suite& s);
void nets_rows(Suite& s);
void linalg_rows(Suite& s);
void sparse_rows(Suite& s);
void files_rows(Suite& s);
