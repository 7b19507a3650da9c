// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_sparse/coo/coo.h"

#include <algorithm>

namespace tenon::coo {

std::vector<int64_t> value_sizes(int64_t n, Ints sizes, int sparse_dim) {
  std::vector<int64_t> out{n};
  out.insert(out.end(), sizes.begin() + sparse_dim, sizes.end());
  return out;
}

Ops::~Ops() {
  for (tn_value& v : kept_) host().release(&v);
}

std::vector<Tensor> Ops::call_many(std::string_view op, std::initializer_list<tn_value> in, int n) {
  const std::size_t first = kept_.size();
  std::vector<tn_value> out(static_cast<std::size_t>(n));
  const tn_status s =
      host().call_op(call_.abi(), detail::text(op), in.begin(), static_cast<uint32_t>(in.size()),
                     out.data(), static_cast<uint32_t>(n));
  if (s != TN_OK) throw Error(s, op, " failed");
  kept_.insert(kept_.end(), out.begin(), out.end());
  std::vector<Tensor> results;
  for (std::size_t i = first; i < kept_.size(); ++i) results.emplace_back(kept_[i].u.tensor);
  return results;
}

Tensor Ops::stack(const std::vector<Tensor>& parts, int64_t dim, std::string_view op) {
  std::vector<const tn_tensor*> list;
  list.reserve(parts.size());
  for (const Tensor& t : parts) list.push_back(t.abi());
  tn_value v{TN_TAG_TENSOR_LIST, static_cast<uint32_t>(list.size()), {}};
  v.u.tensors = list.data();
  return (*this)(op, {v, value(dim)});
}

Tensor Ops::empty(Ints sizes, DType dtype, Device device) {
  return (*this)("empty.memory_format", {value(sizes), value(dtype), no_value(), value(device)});
}
Tensor Ops::zeros(Ints sizes, DType dtype, Device device) {
  return (*this)("zeros", {value(sizes), value(dtype), no_value(), value(device)});
}
Tensor Ops::arange(int64_t n, Device device) {
  return (*this)("arange", {value(n), value(kInt64), no_value(), value(device)});
}

std::vector<int64_t> Ops::read(const Tensor& t) {
  const Tensor there =
      on_host(t) && t.contiguous() ? t : empty(t.sizes(), kInt64, Device{TN_CPU, 0});
  if (there.abi() != t.abi()) copy(there, t);
  const auto* p = there.data<const int64_t>();
  return {p, p + there.numel()};
}

Tensor Ops::gather_rows(const Tensor& t, const Tensor& at) {
  if (at.size(0) == 0) {
    std::vector<int64_t> sizes{at.size(1)};
    sizes.insert(sizes.end(), t.sizes().begin(), t.sizes().end());
    return (*this)(
        "expand", {value((*this)("unsqueeze", {value(t), value(int64_t{0})})), value(span(sizes))});
  }
  std::vector<Tensor> rows;
  std::vector<const tn_tensor*> list;
  for (int64_t d = 0; d < at.size(0); ++d) rows.push_back(row(at, d));
  list.reserve(rows.size());
  for (const Tensor& r : rows) list.push_back(r.abi());
  tn_value v{TN_TAG_TENSOR_LIST, static_cast<uint32_t>(list.size()), {}};
  v.u.tensors = list.data();
  return (*this)("index.Tensor", {value(t), v});
}

namespace {

// The only function where the host uses indices as addresses: they may have changed since they were
// checked.
void number_columns(const Tensor& indices, Ints sizes, int64_t* out) {
  const int64_t n = indices.size(1);
  std::fill(out, out + n, int64_t{0});
  for (int64_t d = 0; d < sizes.size(); ++d) {
    const int64_t *row = indices.data<const int64_t>() + d * indices.stride(0),
                  step = indices.stride(1);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = row[i * step];
      if (at < 0 || at >= sizes[d])
        throw Error(TN_ERROR_INDEX, "index ", at, " of element ", i,
                    " is out of bounds for dimension ", d, " of size ", sizes[d]);
      out[i] = out[i] * sizes[d] + at;
    }
  }
}

}  // namespace

Tensor Ops::keys(const Tensor& indices, Ints sizes) {
  if (on_host(indices)) {
    const Tensor out = empty(Ints(indices.sizes().data() + 1, 1), kInt64, indices.device());
    number_columns(indices, sizes, out.data<int64_t>());
    return out;
  }
  if (sizes.empty()) return zeros(Ints(indices.sizes().data() + 1, 1), kInt64, indices.device());
  Tensor key = row(indices, 0);
  for (int64_t d = 1; d < sizes.size(); ++d) {
    key = (*this)("add.Tensor", {value((*this)("mul.Scalar", {value(key), value(sizes[d])})),
                                 value(row(indices, d))});
  }
  return key;
}

Tensor Ops::columns(const Tensor& keys, Ints sizes) {
  if (sizes.empty()) {
    const std::vector<int64_t> none{0, keys.numel()};
    return empty(span(none), kInt64, keys.device());
  }
  std::vector<Tensor> rows(static_cast<std::size_t>(sizes.size()));
  Tensor rest = keys;
  for (int64_t d = sizes.size() - 1; d > 0; --d) {
    rows[static_cast<std::size_t>(d)] = (*this)("remainder.Scalar", {value(rest), value(sizes[d])});
    rest = (*this)("floor_divide.Scalar", {value(rest), value(sizes[d])});
  }
  rows[0] = rest;
  return stack(rows, 0);
}

Ops::Matches Ops::matches(const Tensor& wanted, const Tensor& sorted) {
  Ops& op = *this;
  const Tensor begin = op("searchsorted.Tensor", {value(sorted), value(wanted)});
  const Tensor end =
      op("searchsorted.Tensor", {value(sorted), value(wanted), value(false), value(true)});
  const Tensor count = op("sub.Tensor", {value(end), value(begin)});
  const Tensor of_wanted = op("repeat_interleave.Tensor", {value(count)});
  // The index of each match among those of its key.
  const Tensor before =
      op("sub.Tensor", {value(op("cumsum", {value(count), value(int64_t{0})})), value(count)});
  const Tensor within = op("sub.Tensor", {value(arange(of_wanted.numel(), wanted.device())),
                                          value(index_select(before, 0, of_wanted))});
  return {of_wanted, op("add.Tensor", {value(index_select(begin, 0, of_wanted)), value(within)})};
}

void Ops::add_rows(const Tensor& to, const Tensor& index, const Tensor& from, const Scalar& alpha) {
  (*this)("index_add_", {value(to), value(int64_t{0}), value(index), value(from), value(alpha)});
}

void Ops::add_rows_in_order(const Tensor& to, const Tensor& index, const Tensor& from,
                            const Scalar& alpha) {
  const Tensor rows = (*this)("unsqueeze", {value(index), value(int64_t{0})});
  const Tensor t = (*this)("_sparse_coo_tensor", {value(rows), value(from), value(to.sizes()),
                                                  value(false), value(false)});
  (*this)("add_.Tensor", {value(to), value(t), value(alpha)});
}

void set_output(const Call& call, uint32_t i, const Tensor& indices, const Tensor& values,
                bool coalesced) {
  share_component(call, i, kIndices, indices);
  share_component(call, i, kValues, values);
  set_layout_flags(call, i, coalesced ? kCoalesced : 0);
}

void set_empty_output(const Call& call, Ints sizes, int sparse_dim, DType dtype) {
  const int64_t at[] = {sparse_dim, 0};
  alloc_component(call, 0, kIndices, Ints(at, 2), kInt64);
  alloc_component(call, 0, kValues, span(value_sizes(0, sizes, sparse_dim)), dtype);
  set_layout_flags(call, 0, kCoalesced);
}

}  // namespace tenon::coo
