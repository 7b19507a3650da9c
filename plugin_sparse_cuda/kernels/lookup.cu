// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements found in another tensor by binary search: _values_at, sparse_mask, and products of
// elements.
#include "plugin_cuda/device/selection.cuh"
#include "plugin_sparse_cuda/device/places.cuh"
#include "tenon/sdk/ops/_values_at.h"
#include "tenon/sdk/ops/mul.h"
#include "tenon/sdk/ops/sparse_mask.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

__global__ void write_linear_indices(Places p, uint64_t* linear) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) linear[i] = p.linear_index(i);
}

// The position of each linear index among n ascending ones; -1: none.
__global__ void find_places(Places p, const uint64_t* linear, int64_t n, int64_t* found) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    const uint64_t mine = p.linear_index(i);
    const int64_t at = count_below(linear, n, mine);
    found[i] = at < n && linear[at] == mine ? at : -1;
  }
}

// Rows of `from`, 0 if none was found.
template <class U>
__global__ void gather_found(const U* from, const int64_t* found, U* out, int64_t all,
                             int64_t width) {
  for (int64_t t = global_thread(); t < all; t += global_threads()) {
    const int64_t i = width == 1 ? t : t / width;
    out[t] = found[i] < 0 ? U(0) : from[found[i] * width + t - i * width];
  }
}

// Positions of the elements `at` in a coalesced tensor: in the first at.n words of the workspace,
// before its linear indices.
const int64_t* look_up(const Call& call, const Places& at, const Tensor& indices,
                       const Ints& sizes) {
  auto* found = call.workspace<int64_t>();
  const Places own(call, indices, sizes);
  auto* linear = reinterpret_cast<uint64_t*>(found + at.n);
  if (own.dims == 1)
    linear = reinterpret_cast<uint64_t*>(
        const_cast<int64_t*>(own.at));  // the only index is the linear one
  else if (own.n > 0)
    launch<write_linear_indices>(call, shape_for(call, own.n), own, linear);
  if (at.n > 0) launch<find_places>(call, shape_for(call, at.n), at, linear, own.n, found);
  return found;
}

struct Coalesced {
  Tensor indices, values;
  Coalesced(coo::Ops& op, const Tensor& t) {
    const Tensor once = coo::coalesced(t) ? t : op("_coalesce", {value(t)});
    indices = coo::indices(once);
    values = coo::values(once);
  }
};

void gather_values(const Call& call, coo::Ops& op, const Tensor& out, const Tensor& self,
                   const Tensor& at) {
  const Coalesced own(op, self);
  const Places wanted(call, at, self.sizes());
  const int64_t* found = look_up(call, wanted, own.indices, self.sizes());
  if (out.numel() == 0) return;
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    launch<gather_found<U>>(call, shape_for(call, out.numel()), own.values.data<U>(), found,
                            out.data<U>(), out.numel(), out.numel() / wanted.n);
  });
}

// Rows of a strided tensor are another operator.
tn_status values_at(Call& call, Tensor out, Tensor self, Tensor at) {
  if (is_strided(self) || at.size(0) != coo::sparse_dim(self) || !out.contiguous())
    return TN_DECLINED;
  coo::Ops op(call);
  gather_values(call, op, out, self, at);
  return TN_OK;
}

tn_status sparse_mask(Call& call, Tensor, Tensor self, Tensor mask) {
  if (is_strided(self) || coo::sparse_dim(self) != coo::sparse_dim(mask)) return TN_DECLINED;
  coo::Ops op(call);
  const Coalesced at(op, mask);
  share_component(call, 0, coo::kIndices, at.indices);
  const std::vector<int64_t> sizes =
      coo::value_sizes(at.indices.size(1), self.sizes(), coo::sparse_dim(self));
  gather_values(call, op, alloc_component(call, 0, coo::kValues, coo::span(sizes), self.dtype()),
                self, at.indices);
  set_layout_flags(call, 0, coo::kCoalesced);
  return TN_OK;
}

__global__ void mark_found(const int64_t* found, int64_t n, uint8_t* marks) {
  for (int64_t i = global_thread(); i < n; i += global_threads()) marks[i] = found[i] >= 0;
}

// Copies the indices of element i to column `to`, and i itself.
struct WriteKept {
  const int64_t* indices;
  int64_t* out;
  int64_t* which;
  int64_t n, all;
  int32_t dims;
  TN_DEVICE void operator()(int64_t i, int64_t to) const {
    for (int d = 0; d < dims; ++d) out[d * all + to] = indices[d * n + i];
    which[to] = i;
  }
};

template <class C>
__global__ void multiply_found(Dense a, Dense b, Dense out, const int64_t* which,
                               const int64_t* found, int64_t all, int64_t width) {
  for (int64_t t = global_thread(); t < all; t += global_threads()) {
    const int64_t row = width == 1 ? t : t / width, column = t - row * width, i = which[row];
    out.put<C>(t,
               static_cast<C>(a.get<C>(i * width + column) * b.get<C>(found[i] * width + column)));
  }
}

// Products of the elements that both have.
tn_status mul(Call& call, Tensor, Tensor self, Tensor other) {
  if (is_strided(self) || is_strided(other) || coo::sparse_dim(self) != coo::sparse_dim(other))
    return TN_DECLINED;
  coo::Ops op(call);
  const Coalesced a(op, self), b(op, other);
  const Places places(call, a.indices, self.sizes());
  const int64_t n = places.n;
  const int64_t* found = look_up(call, places, b.indices, self.sizes());
  auto* which = call.workspace<int64_t>() + n + coo::nnz(other);
  auto* marks = reinterpret_cast<uint8_t*>(which + n);
  auto* starts =
      reinterpret_cast<int64_t*>(call.workspace<char>() + call.workspace_bytes() - kStartsBytes);
  if (n > 0) launch<mark_found>(call, shape_for(call, n), found, n, marks);
  const Selection s = select(reinterpret_cast<const char*>(marks), kBool, n, starts);
  const int64_t all = count_all(call, s), sizes[] = {places.dims, all};
  const Tensor indices = alloc_component(call, 0, coo::kIndices, Ints(sizes, 2), kInt64);
  const std::vector<int64_t> value_sizes = coo::value_sizes(all, self.sizes(), places.dims);
  const Tensor values =
      alloc_component(call, 0, coo::kValues, coo::span(value_sizes), a.values.dtype());
  set_layout_flags(call, 0, coo::kCoalesced);
  if (all == 0) return TN_OK;
  launch_scatter_selected(
      call, s, WriteKept{places.at, indices.data<int64_t>(), which, n, all, places.dims});
  const int64_t elements = values.numel();
  if (elements == 0) return TN_OK;
  with_compute(values.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    launch<multiply_found<C>>(call, shape_for(call, elements), Dense(a.values), Dense(b.values),
                              Dense(values), which, found, elements, elements / all);
  });
  return TN_OK;
}

tn_status values_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor), at(call->in[1].u.tensor);
  if (is_strided(self)) return TN_DECLINED;
  *bytes = static_cast<uint64_t>(coo::nnz(self) + at.size(1)) * 8;
  return TN_OK;
}
tn_status mask_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor), mask(call->in[1].u.tensor);
  if (is_strided(self)) return TN_DECLINED;
  *bytes = static_cast<uint64_t>(coo::nnz(self) + coo::nnz(mask)) * 8;
  return TN_OK;
}
tn_status mul_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor), other(call->in[1].u.tensor);
  if (is_strided(self) || is_strided(other)) return TN_DECLINED;
  const auto n = static_cast<uint64_t>(coo::nnz(self));
  *bytes = 16 * n + 8 * static_cast<uint64_t>(coo::nnz(other)) + (n + 7) / 8 * 8 + kStartsBytes;
  return TN_OK;
}

}  // namespace

TN_KERNEL(_values_at, values_at,
          layouts("strided|sparse_coo,strided")
              .mixed_dtypes()
              .workspace(values_workspace)
              .capture_safe());
TN_KERNEL(sparse_mask, sparse_mask,
          layouts("strided|sparse_coo,sparse_coo")
              .mixed_dtypes()
              .workspace(mask_workspace)
              .capture_safe());
TN_KERNEL(
    mul_Tensor, mul,
    layouts("strided|sparse_coo,strided|sparse_coo").host_blocking().workspace(mul_workspace));

}  // namespace tenon::cuda
