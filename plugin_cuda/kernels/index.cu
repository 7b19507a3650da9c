// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Indexing expressions: _index and index_put. A mask becomes a vector of offsets into the
// dimensions that it covers, whose length the host waits for, unless one value is written wherever
// it is set.
#include <list>
#include <vector>

#include "plugin_cuda/device/combine.cuh"
#include "plugin_cuda/device/selection.cuh"
#include "tenon/sdk/index.h"
#include "tenon/sdk/ops/_index.h"
#include "tenon/sdk/ops/index_put.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// An entry of the expression: an index into one dimension, offsets into several, or nothing for all
// of one.
struct Entry {
  OptTensor index;
  int covers = 1;
  bool offsets = false;  // in elements
};
using Entries = std::vector<Entry>;

bool is_mask(const OptTensor& t) {
  return t.defined() && (is_bool(t.dtype()) || t.dtype() == kUInt8);
}

// False if there are masks.
bool entries_of(const TensorList& indices, Entries* out) {
  for (int64_t k = 0; k < indices.size(); ++k) {
    if (is_mask(indices[k])) return false;
    out->push_back({indices[k]});
  }
  return true;
}

// The shape and layout of an expression's result.
struct Expression {
  struct Indexed {
    Tensor index;
    int64_t size, step;  // as in Indices
  };
  std::vector<int64_t> shape, sizes;  // of the index tensors together; of the result
  std::vector<int> kept;              // dimensions without an index
  std::vector<Indexed> indexed;
  int at = 0;  // where `shape` begins in `sizes`

  // False for too many tensors, or tensors on the host.
  bool parse(const Tensor& self, const Entries& entries) {
    int first = -1, last = -1, count = 0, d = 0;
    for (const Entry& e : entries) {
      if (!e.index.defined()) {
        kept.push_back(d++);
        continue;
      }
      if (e.index.device().type == TN_CPU) return false;
      if (first < 0) first = d;
      const int64_t item = item_size(self.dtype());
      indexed.push_back({e.index, e.offsets ? INT64_MAX : self.size(d),
                         e.offsets ? item : self.stride(d) * item});
      broadcast_index(shape, e.index);
      d += e.covers;
      count += e.covers;
      last = d;
    }
    while (d < self.ndim()) kept.push_back(d++);
    if (indexed.empty() || static_cast<int>(indexed.size()) > kMaxIndices) return false;
    at = last - first == count ? first : 0;
    for (int dim : kept) {
      if (static_cast<int>(sizes.size()) == at)
        sizes.insert(sizes.end(), shape.begin(), shape.end());
      sizes.push_back(self.size(dim));
    }
    if (static_cast<int>(kept.size()) <= at) sizes.insert(sizes.end(), shape.begin(), shape.end());
    return true;
  }
  int index_dims() const { return static_cast<int>(shape.size()); }
  int64_t combinations() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
  // Adds the indexed tensor and the index tensors.
  void add(IndexLoop& loop, const Tensor& self) const {
    int64_t strides[kMaxDims] = {};
    for (std::size_t k = 0; k < kept.size(); ++k) {
      const int dim =
          static_cast<int>(k) < at ? static_cast<int>(k) : static_cast<int>(k) + index_dims();
      strides[dim] = self.stride(kept[k]);
    }
    loop.by.from_end = true;
    loop.add(self, strides);
    for (const Indexed& i : indexed) {
      int64_t along[kMaxDims] = {};
      const Tensor& t = i.index;
      for (int k = 0; k < t.ndim(); ++k)
        along[at + index_dims() - t.ndim() + k] = t.size(k) == 1 ? 0 : t.stride(k);
      loop.add_index(t, along, i.size, i.step);
    }
  }
};

tn_status index(Call& call, Tensor out, Tensor self, TensorList indices) {
  Entries entries;
  Expression e;
  if (!entries_of(indices, &entries) || !e.parse(self, entries)) return TN_DECLINED;
  if (out.numel() == 0) return TN_OK;
  IndexLoop loop(call, out.sizes());
  loop.add(out, Strides(out).of);
  e.add(loop, self);
  launch_gather(call, loop, out.dtype());
  return TN_OK;
}

tn_status put(const Call& call, const Tensor& out, const Tensor& self, const Entries& entries,
              const Tensor& values, bool accumulate, bool distinct) {
  Expression e;
  if (!e.parse(out, entries)) return TN_DECLINED;
  const int rank = static_cast<int>(e.sizes.size()), lead = rank - values.ndim();
  int64_t strides[kMaxDims] = {};
  for (int d = 0; d < values.ndim(); ++d) {
    if (values.size(d) == 1) continue;
    if (lead + d < 0 || values.size(d) != e.sizes[static_cast<std::size_t>(lead + d)]) {
      throw Error(TN_ERROR_INDEX, "argument 'values' of shape ", values.sizes(),
                  " cannot be broadcast to the indexed shape ", Ints(e.sizes.data(), rank));
    }
    strides[lead + d] = values.stride(d);
  }
  IndexLoop loop(call, Ints(e.sizes.data(), rank));
  loop.add(values, strides);
  e.add(loop, out);
  CombineRule how{accumulate ? CombineOp::Add : CombineOp::Last};
  how.distinct = distinct;
  if (accumulate || (call.deterministic() && !distinct))
    return combine_elements(call, loop, out, self, how);
  copy_unless_same(call, out, self);
  launch_scatter(call, loop, out.dtype());
  return TN_OK;
}

// A single mask and one value: no offsets are needed.
bool fill_by_mask(const Call& call, const Tensor& out, const Tensor& self,
                  const TensorList& indices, const Tensor& value) {
  if (value.numel() != 1 || value.device().type == TN_CPU) return false;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  std::fill_n(sizes, out.ndim(), int64_t{1});
  std::fill_n(strides, out.ndim(), int64_t{0});
  int masks = 0, d = 0;
  const tn_tensor* like = nullptr;
  for (int64_t k = 0; k < indices.size(); ++k) {
    const OptTensor t = indices[k];
    if (!t.defined()) {
      ++d;
      continue;
    }
    if (!is_mask(t) || t.ndim() == 0 || t.device().type == TN_CPU || ++masks > 1) return false;
    for (int i = 0; i < t.ndim(); ++i, ++d) {
      sizes[d] = t.size(i);
      strides[d] = t.stride(i);
    }
    like = t.abi();
  }
  if (masks == 0) return false;
  tn_tensor mask = *like;
  mask.ndim = out.ndim();
  mask.sizes = sizes;
  mask.strides = strides;
  mask.flags = 0;
  tn_tensor one = *value.abi();
  one.ndim = 0;
  fill_where(call, out, self, Tensor(&mask), Tensor(&one));
  return true;
}

tn_status index_put(Call& call, Tensor out, Tensor self, TensorList indices, Tensor values,
                    bool accumulate) {
  Entries entries;
  if (entries_of(indices, &entries))
    return put(call, out, self, entries, values, accumulate, false);
  return !accumulate && fill_by_mask(call, out, self, indices, values) ? TN_OK : TN_DECLINED;
}

struct Offsets {
  int64_t* out;
  int32_t rank;
  int64_t size[kMaxDims], stride[kMaxDims];
  TN_DEVICE void operator()(int64_t i, int64_t to) const {
    int64_t at = 0;
    for (int d = rank - 1; d >= 0; --d) {
      at += i % size[d] * stride[d];
      i /= size[d];
    }
    out[to] = at;
  }
};

// Workspace: counts, a contiguous copy of the mask, offsets.
uint64_t mask_bytes(const Tensor& mask) {
  return kStartsBytes + static_cast<uint64_t>((mask.numel() + 7) / 8 * 8 + mask.numel() * 8);
}

// The offsets of the elements that a mask sets, in the dimensions of `out` from `dim` on, as a
// tensor of one dimension in *views.
struct OffsetView {
  int64_t size, stride = 1;
  tn_tensor view;
};
OptTensor offsets_of(const Call& call, const Tensor& out, int dim, const Tensor& mask, char* memory,
                     std::list<OffsetView>* views) {
  const int64_t n = mask.numel();
  auto* starts = reinterpret_cast<int64_t*>(memory);
  char* flags = memory + kStartsBytes;
  Offsets to{reinterpret_cast<int64_t*>(flags + (n + 7) / 8 * 8), mask.ndim(), {}, {}};
  int64_t strides[kMaxDims], below = 1;
  for (int d = mask.ndim() - 1; d >= 0; --d) {
    strides[d] = below;
    below *= mask.size(d);
    to.size[d] = mask.size(d);
    to.stride[d] = out.stride(dim + d);
  }
  if (!mask.contiguous() && n > 0) {
    const tn_tensor dense =
        view_of(mask, flags, mask.dtype(), mask.sizes(), strides, TN_TENSOR_CONTIGUOUS);
    copy_elements(call, Tensor(&dense), mask);
  }
  const Selection s =
      select(mask.contiguous() ? mask.data<char>() : flags, mask.dtype(), n, starts);
  OffsetView& v = views->emplace_back();
  v.size = count_all(call, s);
  if (v.size > 0) launch_scatter_selected(call, s, to);
  v.view = view_of(mask, to.out, kInt64, Ints(&v.size, 1), &v.stride, TN_TENSOR_CONTIGUOUS);
  return OptTensor(&v.view);
}

tn_status index_put_masks(Call& call, Tensor out, Tensor self, TensorList indices, Tensor values,
                          bool accumulate) {
  int given = 0, masks = 0;
  for (int64_t k = 0; k < indices.size(); ++k) {
    const OptTensor t = indices[k];
    if (!t.defined()) continue;
    if (t.device().type == TN_CPU || (is_mask(t) && t.ndim() == 0)) return TN_DECLINED;
    ++given;
    masks += is_mask(t);
  }
  const bool distinct = given == 1 && masks == 1;
  if (given > kMaxIndices || (call.deterministic() && !distinct)) return TN_DECLINED;
  std::list<OffsetView> views;
  Entries entries;
  char* memory = call.workspace<char>();
  int d = 0;
  for (int64_t k = 0; k < indices.size(); ++k) {
    const OptTensor t = indices[k];
    if (is_mask(t)) {
      entries.push_back({offsets_of(call, out, d, t, memory, &views), t.ndim(), true});
      memory += mask_bytes(t);
    } else {
      entries.push_back({t});
    }
    d += entries.back().covers;
  }
  return put(call, out, self, entries, values, accumulate, distinct);
}

tn_status put_workspace(tn_call* c, uint64_t* bytes) {
  const Call call(c);
  const Tensor self(c->in[0].u.tensor);
  *bytes = 0;
  const bool accumulate = c->in[3].u.i64 != 0;
  if (!call.deterministic() ||
      !combines_in_order(call, self.dtype(), {accumulate ? CombineOp::Add : CombineOp::Last}))
    return TN_OK;
  Entries entries;
  Expression e;
  if (!entries_of(TensorList(c->in[1].u.tensors, c->in[1].len), &entries) ||
      !e.parse(self, entries))
    return TN_OK;
  *bytes = combine_workspace_bytes(e.combinations());
  return TN_OK;
}
tn_status masks_workspace(tn_call* call, uint64_t* bytes) {
  const TensorList indices(call->in[1].u.tensors, call->in[1].len);
  *bytes = 0;
  for (int64_t k = 0; k < indices.size(); ++k) {
    if (is_mask(indices[k])) *bytes += mask_bytes(indices[k]);
  }
  return TN_OK;
}
tn_status has_masks(const tn_call* call) {
  const TensorList indices(call->in[1].u.tensors, call->in[1].len);
  for (int64_t k = 0; k < indices.size(); ++k) {
    if (is_mask(indices[k])) return TN_OK;
  }
  return TN_DECLINED;
}

}  // namespace

TN_KERNEL(_index, index, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(index_put, index_put,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(put_workspace)
              .priority(1)
              .capture_safe());
TN_KERNEL(index_put, index_put_masks,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(masks_workspace)
              .supports(has_masks)
              .host_blocking());

}  // namespace tenon::cuda
