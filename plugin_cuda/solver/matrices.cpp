// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/solver/matrices.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// A batch of matrices in memory, as real numbers: complex ones are pairs in a last dimension.
struct View {
  int64_t sizes[4], strides[4];
  tn_tensor tensor;

  View(const Tensor& like, void* memory, const Matrices& m, bool by_columns) {
    const int64_t parts = is_complex(like.dtype()) ? 2 : 1;
    const int64_t shape[4] = {m.count, m.rows, m.columns, parts};
    const int64_t apart[4] = {m.elements() * parts, by_columns ? parts : m.columns * parts,
                              by_columns ? m.rows * parts : parts, 1};
    std::copy(shape, shape + 4, sizes);
    std::copy(apart, apart + 4, strides);
    tensor = view_of(like, memory, real_dtype(like.dtype()), Ints(sizes, parts == 2 ? 4 : 3),
                     strides, by_columns ? 0 : TN_TENSOR_CONTIGUOUS);
  }
};

}  // namespace

void to_columns(const Call& call, const Tensor& from, void* to) {
  const Matrices m(from);
  if (from.numel() == 0) return;
  const View rows(from, const_cast<char*>(from.data<char>()), m, false), columns(from, to, m, true);
  copy_elements(call, Tensor(&columns.tensor), Tensor(&rows.tensor));
}

void to_rows(const Call& call, void* from, const Tensor& to) {
  const Matrices m(to);
  if (to.numel() == 0) return;
  const View rows(to, to.data<char>(), m, false), columns(to, from, m, true);
  copy_elements(call, Tensor(&rows.tensor), Tensor(&columns.tensor));
}

}  // namespace tenon::cuda
