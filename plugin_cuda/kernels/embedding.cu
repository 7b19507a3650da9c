// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// embedding and its gradient.
#include "tenon/sdk/ops/embedding.h"

#include "plugin_cuda/device/indexed.cuh"
#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/ops/embedding_dense_backward.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

tn_status embedding(Call& call, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  IndexLoop loop(call, out.sizes());
  loop.add(out, Strides(out).of);
  loop.add(weight, Strides(out.ndim(), out.ndim() - 1, weight.stride(1)).of);
  int64_t along[kMaxDims];
  for (int d = 0; d < indices.ndim(); ++d) along[d] = indices.stride(d);
  along[indices.ndim()] = 0;
  loop.add_index(indices, along, weight.size(0), step_of(weight, 0));
  launch_gather(call, loop, out.dtype());
  return TN_OK;
}

// The gradient of an embedding: positions are sorted by row index, so that each row is summed in
// order.
struct Rows {
  char* out;
  const char* grad;
  const char* index;
  Code code, index_code;
  int64_t width, height, skipped;
  bool by_count;
  Faults faults;
};

__global__ void index_keys(Rows r, Pairs p) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    const int64_t v = load<int64_t>(r.index + i * code_bytes(r.index_code), r.index_code);
    const bool inside = v >= 0 && v < r.height;
    if (!inside) r.faults.report(TN_ERROR_INDEX, v, r.height);
    p.keys[i] = static_cast<uint64_t>(inside ? v : r.height);
    p.values[i] = static_cast<uint32_t>(i);
  }
}

// The thread at the first position of a row sums one column of it.
template <class C>
__global__ void sum_rows(Rows r, Pairs p) {
  const int64_t item = code_bytes(r.code);
  for (int64_t t = global_thread(); t < p.n * r.width; t += global_threads()) {
    const int64_t first = t / r.width, column = t % r.width;
    const uint64_t row = p.keys_out[first];
    if (first > 0 && p.keys_out[first - 1] == row) continue;
    if (static_cast<int64_t>(row) >= r.height || static_cast<int64_t>(row) == r.skipped) continue;
    C sum = 0;
    int64_t i = first;
    for (; i < p.n && p.keys_out[i] == row; ++i) {
      sum += load<C>(r.grad + (p.values_out[i] * r.width + column) * item, r.code);
    }
    if (r.by_count) sum /= static_cast<C>(i - first);
    store(r.out + (static_cast<int64_t>(row) * r.width + column) * item, r.code, sum);
  }
}

tn_status embedding_dense_backward(Call& call, Tensor out, Tensor grad, Tensor indices,
                                   int64_t height, int64_t padding_idx, bool by_count) {
  fill_elements(call, out, 0);
  const int64_t n = indices.numel();
  if (out.numel() == 0 || n == 0) return TN_OK;
  if (n >= int64_t{1} << 31) return TN_DECLINED;
  const SortMemory memory(call, n);
  const Rows r{out.data<char>(),
               grad.data<char>(),
               indices.data<char>(),
               code_of(grad.dtype()),
               code_of(indices.dtype()),
               out.size(1),
               height,
               padding_idx,
               by_count,
               Faults(call)};
  launch<index_keys>(call, shape_for(call, n), r, memory.pairs);
  sort_pairs(call, memory.pairs, bits_for(height + 1), memory.scratch, memory.scratch_bytes);
  if (grad.dtype() == kFloat64)
    launch<sum_rows<double>>(call, shape_for(call, n * r.width), r, memory.pairs);
  else
    launch<sum_rows<float>>(call, shape_for(call, n * r.width), r, memory.pairs);
  return TN_OK;
}

tn_status indices_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = sort_workspace_bytes(Tensor(call->in[1].u.tensor).numel());
  return TN_OK;
}

}  // namespace

TN_KERNEL(embedding, embedding, dtypes("floating").mixed_dtypes().capture_safe());
TN_KERNEL(embedding_dense_backward, embedding_dense_backward,
          dtypes("floating").mixed_dtypes().workspace(indices_workspace).capture_safe());

}  // namespace tenon::cuda
