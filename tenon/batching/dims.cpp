// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "tenon/batching/rules.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

bool names_dims(std::string_view argument) {
  for (const std::string_view name : {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}) {
    if (argument == name) return true;
  }
  return false;
}

std::vector<int64_t> ints_of(const tn_value& v) {
  if (v.tag == TN_TAG_I64) return {v.u.i64};
  return {v.u.i64s, v.u.i64s + v.len};
}

void shift_dims(const Call& call, SameOperator& all, int i, int64_t rank) {
  if (call.in[i].tag == TN_TAG_I64) {
    all.set(i, shifted(call.in[i].u.i64, rank));
  } else if (call.in[i].tag == TN_TAG_I64_LIST) {
    std::vector<int64_t> dims = ints_of(call.in[i]);
    for (int64_t& d : dims) d = shifted(d, rank);
    all.set(i, dims);
  }
}

// Each result with the shape that its slices have; the operator was called with an additional
// dimension for slices without any.
Results shaped(const Call& call, Results results) {
  for (int k = 0; k < static_cast<int>(results.size()); ++k) {
    Tensor& t = results[static_cast<std::size_t>(k)];
    if (t.defined() && t.dim() != call.one.out[k].ndim + 1) t = t.view(call.result_sizes(k));
  }
  return results;
}

int first_tensor(const Call& call) {
  int i = 0;
  while (!call.is_tensor(i)) ++i;
  return i;
}

Results with_dims(Call& call, bool none_is_all) {
  const int sizes = call.position("input_sizes");
  const int64_t given = call.rank(first_tensor(call));
  const int64_t rank = sizes < 0 ? given : static_cast<int64_t>(call.in[sizes].len);
  if (sizes >= 0 && rank == 0) return call_slice_by_slice(call);
  SameOperator all(call);
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_tensor(i)) {
      const Tensor t = call.expanded(i);
      all.set(i, rank <= 1 && sizes < 0 && t.dim() == 1 ? t.unsqueeze(1) : t);
    } else if (names_dims(call.op.args[i].name)) {
      shift_dims(call, all, i, rank);
      const bool none = call.in[i].tag == TN_TAG_NONE ||
                        (call.in[i].tag == TN_TAG_I64_LIST && call.in[i].len == 0);
      if (!none_is_all || !none) continue;
      std::vector<int64_t> dims;
      for (int64_t d = 1; d <= std::max<int64_t>(rank, 1); ++d) dims.push_back(d);
      all.set(i, dims);
    } else if (i == sizes) {
      std::vector<int64_t> list = ints_of(call.in[i]);
      list.insert(list.begin(), call.size);
      all.set(i, list);
    }
  }
  return shaped(call, all.run());
}

Tensor flat(const Call& call) { return call.front(0).reshape({call.size, -1}); }

}  // namespace

Results along_dims(Call& call) { return with_dims(call, false); }
Results reduction(Call& call) { return with_dims(call, true); }

Results full_prod(Call& call) {
  const tn_value& dtype = call.in[1];
  const Tensor slices = flat(call);
  return {dtype.tag == TN_TAG_NONE ? slices.prod(1)
                                   : slices.prod(1, false, core::dtype_from_abi(dtype.u.dtype))};
}
Results full_all(Call& call) { return {flat(call).all(1)}; }
Results full_any(Call& call) { return {flat(call).any(1)}; }
Results full_max(Call& call) { return {flat(call).amax(1)}; }
Results full_min(Call& call) { return {flat(call).amin(1)}; }

Results arg_extremum(Call& call) {
  if (call.in[1].tag != TN_TAG_NONE) return along_dims(call);
  SameOperator all(call);
  return {all.set(0, flat(call)).set(1, int64_t{1}).run()[0].reshape(call.result_sizes(0))};
}

Results cat(Call& call) {
  const int64_t rank = call.one.out[0].ndim;
  std::vector<Tensor> parts;
  for (const Tensor& t : call.given_list(0)) {
    if (t.dim() == rank) parts.push_back(call.expanded(t));  // of another rank: without elements
  }
  return SameOperator(call).set(0, parts).set(1, shifted(call.in[1].u.i64, rank)).run();
}

Results leading(Call& call) {
  const int64_t rank = call.rank(first_tensor(call));
  SameOperator all(call);
  for (int i = 0; i < call.op.n_args; ++i) {
    if (!call.is_tensor(i)) continue;
    if (call.rank(i) != rank) return call_slice_by_slice(call);
    all.set(i, call.expanded(i));
  }
  return all.run();
}

}  // namespace tenon::batching::rules
