// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sparse tensors.
#include "bench/rows/rows.h"

namespace {

Tensor random_coo(int64_t rows, int64_t cols, int64_t nnz) {
  const Tensor at = torch::stack(
      {torch::randint(0, rows, {nnz}, torch::kLong), torch::randint(0, cols, {nnz}, torch::kLong)});
  return torch::sparse_coo_tensor(at, torch::rand({nnz}), {rows, cols});
}

}  // namespace

void sparse_rows(Suite& s) {
  auto row = [&](char const* name, auto make, char const* note = "") {
    s.row("sparse", name, make, note);
  };
  row("coalesce_655k",
      [] { return [a = random_coo(65536, 65536, 655360)] { keep(a.coalesce()); }; });
  auto spmm = [](int64_t n) {
    return [n] {
      return [a = random_coo(n, n, 10 * n).coalesce(), b = torch::rand({n, 64})] {
        keep(torch::mm(a, b));
      };
    };
  };
  row("spmm_65k", spmm(65536), "coalesced, 10 elements per row, k = 64");
  row("spmm_262k", spmm(262144), "coalesced, 10 elements per row, k = 64");
  row(
      "sparse_add",
      [] {
        return [a = random_coo(65536, 65536, 655360).coalesce(),
                b = random_coo(65536, 65536, 655360).coalesce()] { keep(a + b); };
      },
      "both coalesced");
  row("sparse_add_coalesce", [] {
    return [a = random_coo(65536, 65536, 655360).coalesce(),
            b = random_coo(65536, 65536, 655360).coalesce()] { keep((a + b).coalesce()); };
  });
  row(
      "sparse_mul_200k",
      [] {
        return [a = random_coo(2000, 2000, 200000).coalesce(),
                b = random_coo(2000, 2000, 200000).coalesce()] { keep(a * b); };
      },
      "both coalesced, 10k elements in both");
  row(
      "sparse_mm_20k",
      [] {
        return [a = random_coo(20000, 20000, 200000).coalesce(),
                b = random_coo(20000, 20000, 200000).coalesce()] { keep(torch::mm(a, b)); };
      },
      "both sparse, 2M products");
  row(
      "strided_add_duplicates",
      [] {
        return [a = torch::rand({2000, 2000}), b = random_coo(2000, 2000, 200000)] { keep(a + b); };
      },
      "strided + 200k elements, not coalesced");
  row(
      "sparse_to_dense_2000",
      [] { return [a = random_coo(2000, 2000, 40000).coalesce()] { keep(a.to_dense()); }; },
      "40k elements");
}
