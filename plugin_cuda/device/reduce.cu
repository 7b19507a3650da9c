// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/device/reduce.cuh"

namespace tenon::cuda {
namespace reduction {

void split_dims(const sdk::Tensor* results, int n_results, const sdk::Tensor& self, uint64_t mask,
                bool keepdim, DimSubset* kept, DimSubset* reduced) {
  int at = 0;
  for (int d = 0; d < self.ndim(); ++d) {
    const bool is_reduced = mask >> d & 1;
    DimSubset* c = is_reduced ? reduced : kept;
    c->sizes[c->n] = self.size(d);
    if (is_reduced) {
      c->strides[0][c->n] = self.stride(d) * sdk::item_size(self.dtype());
    } else {
      c->strides[2][c->n] = self.stride(d) * sdk::item_size(self.dtype());
      for (int k = 0; k < 2; ++k) {
        const sdk::Tensor& r = results[k < n_results ? k : n_results - 1];
        c->strides[k][c->n] = r.stride(at) * sdk::item_size(r.dtype());
      }
    }
    ++c->n;
    if (!is_reduced || keepdim) ++at;
  }
}

sdk::StridedLoop loop_of(const DimSubset& c, int operands, char* const* base, int key) {
  sdk::StridedLoop loop(sdk::Ints(c.sizes, c.n));
  loop.operands = operands;
  for (int k = 0; k < operands; ++k) {
    loop.base[k] = base[k];
    for (int d = 0; d < c.n; ++d) loop.strides[d][k] = c.strides[k][c.n - 1 - d];
  }
  loop.finish(key);
  return loop;
}

}  // namespace reduction

// 0 if one pass is enough.
tn_status reduction_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = 0;
  for (uint32_t i = 0; i < call->n_in; ++i) {
    if (call->in[i].tag != TN_TAG_TENSOR) continue;
    if (sdk::Tensor(call->in[i].u.tensor).numel() > 4096) *bytes = reduction::kMaxBytes;
    break;
  }
  return TN_OK;
}

}  // namespace tenon::cuda
