// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Slices of a sparse tensor, and concatenation. None is a view: the elements of a slice have their
// own indices.
#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/ops/cat.h"
#include "tenon/sdk/ops/index_select.h"
#include "tenon/sdk/ops/permute.h"
#include "tenon/sdk/ops/select.h"
#include "tenon/sdk/ops/slice.h"
#include "tenon/sdk/ops/t.h"
#include "tenon/sdk/ops/transpose.h"
#include "tenon/sdk/ops/unsqueeze.h"

namespace tenon::coo {
namespace {

Tensor flat(Ops& op, const Tensor& t) { return op("reshape", {value(t), value(Ints(&kAll, 1))}); }

// All rows of the indices, row d replaced, or left out if undefined.
Tensor with_row(Ops& op, const Tensor& at, int d, const Tensor& row) {
  std::vector<Tensor> rows;
  for (int i = 0; i < at.size(0); ++i) {
    if (i != d)
      rows.push_back(op.row(at, i));
    else if (row.defined())
      rows.push_back(row);
  }
  return op.stack(rows, 0);
}

tn_status select(Call& call, Tensor out, Tensor self, int64_t dim, int64_t index) {
  Ops op(call);
  const int d = wrap_dim(dim, self.ndim()), sparse = sparse_dim(self);
  if (index < 0) index += self.size(d);
  if (d >= sparse) {
    set_output(
        call, 0, indices(self),
        op("contiguous", {value(op("select.int", {value(values(self)),
                                                  value(int64_t{d - sparse + 1}), value(index)}))}),
        coalesced(self));
    return TN_OK;
  }
  const Tensor kept = flat(
      op, op("nonzero", {value(op("eq.Scalar", {value(op.row(indices(self), d)), value(index)}))}));
  const Tensor v = op.index_select(values(self), 0, kept);
  if (sparse == 1) {
    const int64_t first = 0;
    op.copy(out, op("sum.dim_IntList",
                    {value(v), value(Ints(&first, 1)), value(false), value(v.dtype())}));
    return TN_OK;
  }
  set_output(call, 0, with_row(op, op.index_select(indices(self), 1, kept), d, Tensor()), v,
             coalesced(self));
  return TN_OK;
}
TN_KERNEL(select_int, select, layouts("sparse_coo").any_strides());

tn_status slice(Call& call, Tensor out, Tensor self, int64_t dim, std::optional<int64_t> start,
                std::optional<int64_t> end, int64_t step) {
  Ops op(call);
  const int d = wrap_dim(dim, self.ndim()), sparse = sparse_dim(self);
  const int64_t size = self.size(d);
  const auto within = [&](int64_t i) {
    return i < 0 ? std::max<int64_t>(i + size, 0) : std::min(i, size);
  };
  const int64_t from = within(start.value_or(0)), to = within(end.value_or(size));
  if (d >= sparse) {
    const Tensor part = op("slice.Tensor", {value(values(self)), value(int64_t{d - sparse + 1}),
                                            value(from), value(to), value(step)});
    set_output(call, 0, indices(self), op("contiguous", {value(part)}), coalesced(self));
    return TN_OK;
  }
  (void)out;
  const Tensor from_start = op("sub.Scalar", {value(op.row(indices(self), d)), value(from)});
  Tensor inside =
      op("logical_and", {value(op("ge.Scalar", {value(from_start), value(int64_t{0})})),
                         value(op("lt.Scalar", {value(from_start), value(to - from)}))});
  if (step != 1) {
    const Tensor rest = op("remainder.Scalar", {value(from_start), value(step)});
    inside = op("logical_and",
                {value(inside), value(op("eq.Scalar", {value(rest), value(int64_t{0})}))});
  }
  const Tensor kept = flat(op, op("nonzero", {value(inside)}));
  Tensor row = op.index_select(from_start, 0, kept);
  if (step != 1) row = op("floor_divide.Scalar", {value(row), value(step)});
  set_output(call, 0, with_row(op, op.index_select(indices(self), 1, kept), d, row),
             op.index_select(values(self), 0, kept), coalesced(self));
  return TN_OK;
}
TN_KERNEL(slice_Tensor, slice, layouts("sparse_coo").any_strides());

// Each element once for each entry of index that names it.
tn_status index_select(Call& call, Tensor, Tensor self, int64_t dim, Tensor index) {
  Ops op(call);
  const int d = wrap_dim(dim, self.ndim()), sparse = sparse_dim(self);
  if (d >= sparse) {
    set_output(call, 0, indices(self), op.index_select(values(self), d - sparse + 1, index),
               coalesced(self));
    return TN_OK;
  }
  const int64_t zero = 0, last = std::max<int64_t>(self.size(d) - 1, 0);
  const Tensor wanted = op("to.dtype", {value(index), value(kInt64)});
  if (wanted.numel() > 0) {
    const int64_t min_index = op.read(op("amin", {value(wanted), value(Ints(&zero, 1))}))[0],
                  max_index = op.read(op("amax", {value(wanted), value(Ints(&zero, 1))}))[0];
    if (min_index < 0 || max_index > last)
      throw Error(TN_ERROR_INDEX, "index ", min_index < 0 ? min_index : max_index,
                  " is out of bounds for dimension ", int64_t{d}, " with size ", self.size(d));
  }
  const std::vector<Tensor> sorted =
      op.call_many("sort.stable", {value(wanted), value(true), value(int64_t{0}), value(false)}, 2);
  const auto [element, entry] = op.matches(op.row(indices(self), d), sorted[0]);
  const Tensor place = op.index_select(sorted[1], 0, entry);
  set_output(call, 0, with_row(op, op.index_select(indices(self), 1, element), d, place),
             op.index_select(values(self), 0, element), false);
  return TN_OK;
}
TN_KERNEL(index_select, index_select, layouts("sparse_coo,strided").any_strides().mixed_dtypes());

tn_status cat(Call& call, Tensor, TensorList tensors, int64_t dim) {
  Ops op(call);
  const Tensor model = tensors[0];
  for (int64_t i = 0; i < tensors.size(); ++i) {
    if (is_strided(tensors[i]) || sparse_dim(tensors[i]) != sparse_dim(model) ||
        tensors[i].ndim() != model.ndim())
      throw Error(TN_ERROR_VALUE,
                  "all tensors must be sparse with the same numbers of sparse and dense "
                  "dimensions; tensor ",
                  i, " differs from the first");
  }
  const int d = wrap_dim(dim, model.ndim()), sparse = sparse_dim(model);
  std::vector<Tensor> at, v;
  int64_t offset = 0;
  for (int64_t i = 0; i < tensors.size(); ++i) {
    const Tensor t = tensors[i];
    if (d < sparse) {
      at.push_back(with_row(op, indices(t), d,
                            op("add.Scalar", {value(op.row(indices(t), d)), value(offset)})));
      v.push_back(values(t));
    } else {
      // The values of the others' parts are 0.
      std::vector<int64_t> before = to_vector(values(t).sizes()), after = before;
      const std::size_t k = static_cast<std::size_t>(d - sparse + 1);
      int64_t whole = 0;
      for (int64_t j = 0; j < tensors.size(); ++j) whole += tensors[j].size(d);
      before[k] = offset;
      after[k] = whole - offset - t.size(d);
      at.push_back(indices(t));
      v.push_back(op.cat({op.zeros(span(before), t.dtype(), t.device()), values(t),
                          op.zeros(span(after), t.dtype(), t.device())},
                         static_cast<int64_t>(k)));
    }
    offset += t.size(d);
  }
  set_output(call, 0, op.cat(at, 1), op.cat(v, 0), false);
  return TN_OK;
}
TN_KERNEL(cat, cat, layouts("sparse_coo").any_strides());

// Sparse dimensions among themselves, and dense ones.
void permuted(Call& call, const Tensor& self, const std::vector<int64_t>& dims) {
  Ops op(call);
  const int sparse = sparse_dim(self);
  std::vector<Tensor> rows;
  std::vector<int64_t> dense{0};
  bool moved = false;
  for (int i = 0; i < self.ndim(); ++i) {
    const int64_t d = dims[static_cast<std::size_t>(i)];
    if ((d < sparse) != (i < sparse))
      throw Error(TN_ERROR_VALUE, "a sparse and a dense dimension cannot change places (", d,
                  " and ", int64_t{i}, ")");
    moved |= d != i && i < sparse;
    if (i < sparse)
      rows.push_back(op.row(indices(self), d));
    else
      dense.push_back(d - sparse + 1);
  }
  set_output(call, 0, moved ? op.stack(rows, 0) : indices(self),
             op("contiguous", {value(op("permute", {value(values(self)), value(span(dense))}))}),
             !moved && coalesced(self));
}

std::vector<int64_t> in_place(const Tensor& self) {
  std::vector<int64_t> dims(static_cast<std::size_t>(self.ndim()));
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

tn_status transpose(Call& call, Tensor, Tensor self, int64_t a, int64_t b) {
  std::vector<int64_t> dims = in_place(self);
  if (self.ndim() > 0)
    std::swap(dims[static_cast<std::size_t>(wrap_dim(a, self.ndim()))],
              dims[static_cast<std::size_t>(wrap_dim(b, self.ndim()))]);
  permuted(call, self, dims);
  return TN_OK;
}
TN_KERNEL(transpose_int, transpose, layouts("sparse_coo").any_strides());

tn_status t(Call& call, Tensor, Tensor self) {
  std::vector<int64_t> dims = in_place(self);
  if (dims.size() == 2) std::swap(dims[0], dims[1]);
  permuted(call, self, dims);
  return TN_OK;
}
TN_KERNEL(t, t, layouts("sparse_coo").any_strides());

tn_status permute(Call& call, Tensor, Tensor self, Ints dims) {
  std::vector<int64_t> all;
  for (int64_t d : dims) all.push_back(wrap_dim(d, self.ndim()));
  permuted(call, self, all);
  return TN_OK;
}
TN_KERNEL(permute, permute, layouts("sparse_coo").any_strides());

tn_status unsqueeze(Call& call, Tensor, Tensor self, int64_t dim) {
  Ops op(call);
  const int d = wrap_dim(dim, self.ndim() + 1), sparse = sparse_dim(self);
  if (d > sparse) {
    set_output(call, 0, indices(self),
               op("unsqueeze", {value(values(self)), value(int64_t{d - sparse + 1})}),
               coalesced(self));
    return TN_OK;
  }
  std::vector<Tensor> rows;
  const int64_t n[] = {nnz(self)};
  for (int i = 0; i <= sparse; ++i) {
    rows.push_back(i == d ? op.zeros(Ints(n, 1), kInt64, self.device())
                          : op.row(indices(self), i < d ? i : i - 1));
  }
  set_output(call, 0, op.stack(rows, 0), values(self), coalesced(self));
  return TN_OK;
}
TN_KERNEL(unsqueeze, unsqueeze, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
