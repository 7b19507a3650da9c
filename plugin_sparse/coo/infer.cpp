// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_sparse/coo/infer.h"

#include <algorithm>
#include <cstring>

#include "plugin_sparse/coo/coo.h"

namespace tenon::coo {
namespace {

// One call: its arguments, and what is inferred of its results.
struct Rule {
  tn_call* call;
  std::string_view op;
  tn_tensor* outputs;
  int64_t (*sizes)[64];

  Tensor tensor(uint32_t i) const { return Tensor(call->in[i].u.tensor); }
  bool is_tensor(uint32_t i) const { return call->in[i].tag == TN_TAG_TENSOR; }
  bool sparse(uint32_t i) const { return is_tensor(i) && !is_strided(tensor(i)); }
  Ints ints(uint32_t i) const { return {call->in[i].u.i64s, call->in[i].len}; }
  uint32_t own() const {
    for (uint32_t i = 0; i < call->n_in; ++i) {
      if (sparse(i)) return tensor(i).abi()->layout;
      const tn_value& v = call->in[i];
      for (uint32_t k = 0; v.tag == TN_TAG_TENSOR_LIST && k < v.len; ++k) {
        if (v.u.tensors[k] && v.u.tensors[k]->layout != TN_STRIDED) return v.u.tensors[k]->layout;
      }
    }
    return outputs[0].layout;
  }
  tn_status strided() const {
    outputs[0].layout = TN_STRIDED;
    return TN_OK;
  }
  tn_status coo() const {
    outputs[0].layout = own();
    return TN_OK;
  }
  void shape(Ints s, DType dtype) const {
    if (s.size() > 64) throw Error(TN_ERROR_VALUE, "at most 64 dimensions, got ", s.size());
    outputs[0].ndim = static_cast<int32_t>(s.size());
    std::copy(s.begin(), s.end(), sizes[0]);
    outputs[0].dtype = dtype;
  }
  void same_size(uint32_t a, uint32_t b) const {
    const Ints x = tensor(a).sizes(), y = tensor(b).sizes();
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end()))
      throw Error(TN_ERROR_VALUE, "expected tensors of the same size, got ", x, " and ", y,
                  "; sparse tensors are not broadcast");
  }
};

tn_status one_value_wise(const Rule& r) { return r.coo(); }

tn_status sums(const Rule& r) {
  const bool both = r.sparse(0) && r.sparse(1);
  r.same_size(0, 1);
  return both ? r.coo() : r.strided();
}

tn_status products(const Rule& r) {
  const uint32_t number = r.sparse(0) ? 1 : 0;
  if (r.is_tensor(number) && r.tensor(number).ndim() == 0 && !r.sparse(number)) return r.coo();
  r.same_size(0, 1);
  return r.coo();
}

tn_status quotients(const Rule& r) {
  if (r.sparse(1) || r.tensor(1).ndim() != 0)
    throw Error(TN_ERROR,
                "a sparse tensor can be divided by a scalar only, got a divisor of shape ",
                r.tensor(1).sizes());
  return r.coo();
}

tn_status matrices(const Rule& r) { return r.sparse(0) && r.sparse(1) ? r.coo() : r.strided(); }
tn_status to_strided(const Rule& r) { return r.strided(); }

// Sparse unless all sparse dimensions are summed.
tn_status reductions(const Rule& r) {
  const Tensor self = r.tensor(0);
  const tn_value& dims = r.call->in[1];
  if (dims.tag == TN_TAG_NONE || dims.len == 0) return r.strided();
  uint64_t summed = 0;
  for (int64_t d : r.ints(1)) summed |= uint64_t{1} << wrap_dim(d, self.ndim());
  const uint64_t all = (uint64_t{1} << sparse_dim(self)) - 1;
  return (summed & all) == all ? r.strided() : r.coo();
}

tn_status selected(const Rule& r) {
  const Tensor self = r.tensor(0);
  const bool of_values = wrap_dim(r.call->in[1].u.i64, self.ndim()) >= sparse_dim(self);
  return sparse_dim(self) == 1 && !of_values ? r.strided() : r.coo();
}

tn_status made(const Rule& r) {
  r.shape(r.ints(2), r.tensor(1).dtype());
  return r.coo();
}
tn_status made_of_parts(const Rule& r) {
  const tn_value& parts = r.call->in[0];
  if (parts.len == 0 || !parts.u.tensors[parts.len - 1])
    throw Error(TN_ERROR_VALUE, "expected indices and values");
  r.shape(r.ints(1), parts.u.tensors[parts.len - 1]->dtype);
  return r.coo();
}
tn_status resized(const Rule& r) {
  r.shape(r.ints(1), r.tensor(0).dtype());
  return r.coo();
}
tn_status empty_like(const Rule& r) {
  const tn_value& layout = r.call->in[2];
  return layout.tag == TN_TAG_LAYOUT && layout.u.i64 == TN_STRIDED ? r.strided() : r.coo();
}
tn_status like_self(const Rule& r) {
  r.shape(r.tensor(0).sizes(), r.tensor(0).dtype());
  return r.coo();
}
tn_status like_self_with_values(const Rule& r) {
  r.shape(r.tensor(0).sizes(), r.tensor(1).dtype());
  return r.coo();
}
tn_status made_sparse(const Rule& r) {
  r.shape(r.tensor(0).sizes(), r.tensor(0).dtype());
  return TN_OK;  // the operator definition gives the layout
}
tn_status masked(const Rule& r) {
  if (!r.sparse(1)) throw Error(TN_ERROR_TYPE, "mask must be sparse, got a strided tensor");
  r.same_size(0, 1);
  r.shape(r.tensor(0).sizes(), r.tensor(0).dtype());
  return r.coo();
}
tn_status masked_product(const Rule& r) {
  const Tensor mask = r.tensor(0), a = r.tensor(1), b = r.tensor(2);
  const bool fits = r.sparse(0) && !r.sparse(1) && !r.sparse(2) && mask.ndim() == 2 &&
                    sparse_dim(mask) == 2 && a.ndim() == 2 && b.ndim() == 2 &&
                    a.size(0) == mask.size(0) && b.size(1) == mask.size(1) &&
                    a.size(1) == b.size(0) && a.dtype() == b.dtype();
  if (!fits)
    throw Error(TN_ERROR_VALUE,
                "expected a sparse matrix and two strided ones of one dtype whose product has its "
                "sizes, got ",
                mask.sizes(), ", ", a.sizes(), " and ", b.sizes());
  r.shape(mask.sizes(), a.dtype());
  return r.coo();
}
tn_status value_rows(const Rule& r) {
  const Tensor self = r.tensor(0), at = r.tensor(1);
  if (at.ndim() != 2 || at.size(0) > self.ndim())
    throw Error(TN_ERROR_VALUE, "indices must be a matrix of at most ", self.ndim(), " rows, got ",
                at.sizes());
  const std::vector<int64_t> s =
      value_sizes(at.size(1), self.sizes(), static_cast<int>(at.size(0)));
  r.shape(span(s), self.dtype());
  return r.strided();
}
tn_status shared_values(const Rule& r) {
  r.shape(values(r.tensor(0)).sizes(), r.tensor(0).dtype());
  return r.strided();
}
tn_status hybrid_product(const Rule& r) {
  const Tensor a = r.tensor(0), b = r.tensor(1);
  if (!r.sparse(0) || r.sparse(1) || a.ndim() != 2 || b.ndim() != 2 || a.size(1) != b.size(0))
    throw Error(TN_ERROR_VALUE, "expected a sparse matrix and a strided one that fits it, got ",
                a.sizes(), " and ", b.sizes());
  const int64_t s[] = {a.size(0), b.size(1)};
  r.shape(Ints(s, 2), a.dtype());
  return r.coo();
}
tn_status sparse_sum_of_product(const Rule& r) {
  const Tensor a = r.tensor(1), b = r.tensor(2);
  if (!r.sparse(0) || !r.sparse(1) || r.sparse(2) || a.ndim() != 2 || b.ndim() != 2 ||
      a.size(1) != b.size(0))
    throw Error(TN_ERROR_VALUE,
                "expected a sparse self, a sparse matrix and a strided one that fits it, got ",
                a.sizes(), " and ", b.sizes());
  const int64_t s[] = {a.size(0), b.size(1)};
  const Ints self = r.tensor(0).sizes();
  if (self.size() != 2 || self[0] != s[0] || self[1] != s[1])
    throw Error(TN_ERROR_VALUE, "self must have the sizes of the product, ", Ints(s, 2), ", got ",
                self);
  r.shape(self, r.tensor(0).dtype());
  return r.coo();
}

struct Entry {
  std::string_view op;
  tn_status (*rule)(const Rule&);
};

constexpr Entry kRules[] = {
    {"_at_elements_of", masked},
    {"_coalesce", like_self},
    {"_coalesced", like_self},
    {"_from_components", made_of_parts},
    {"_log_softmax", one_value_wise},
    {"_log_softmax_backward_data", one_value_wise},
    {"_masked_mm", masked_product},
    {"_resize_components", resized},
    {"_shared_values", shared_values},
    {"_softmax", one_value_wise},
    {"_softmax_backward_data", one_value_wise},
    {"_sparse_coo_tensor", made},
    {"_to_dense", to_strided},
    {"_values_at", value_rows},
    {"_with_values", like_self_with_values},
    {"abs", one_value_wise},
    {"add.Tensor", sums},
    {"addmm", to_strided},
    {"asin", one_value_wise},
    {"asinh", one_value_wise},
    {"atan", one_value_wise},
    {"atanh", one_value_wise},
    {"cat", one_value_wise},
    {"ceil", one_value_wise},
    {"div.Scalar", one_value_wise},
    {"div.Tensor", quotients},
    {"empty.memory_format", one_value_wise},
    {"empty_like", empty_like},
    {"erf", one_value_wise},
    {"erfinv", one_value_wise},
    {"expm1", one_value_wise},
    {"floor", one_value_wise},
    {"hspmm", hybrid_product},
    {"index_select", one_value_wise},
    {"log1p", one_value_wise},
    {"mm", matrices},
    {"mul.Scalar", one_value_wise},
    {"mul.Tensor", products},
    {"mv", to_strided},
    {"neg", one_value_wise},
    {"norm.ScalarOpt_dim", to_strided},
    {"permute", one_value_wise},
    {"pow.Tensor_Scalar", one_value_wise},
    {"relu", one_value_wise},
    {"round", one_value_wise},
    {"select.int", selected},
    {"sign", one_value_wise},
    {"sin", one_value_wise},
    {"sinh", one_value_wise},
    {"slice.Tensor", one_value_wise},
    {"sparse_mask", masked},
    {"sparse_resize", resized},
    {"sparse_resize_and_clear", resized},
    {"sqrt", one_value_wise},
    {"sspaddmm", sparse_sum_of_product},
    {"sub.Tensor", sums},
    {"sum.dim_IntList", reductions},
    {"t", one_value_wise},
    {"tan", one_value_wise},
    {"tanh", one_value_wise},
    {"threshold_backward", one_value_wise},
    {"to_sparse.sparse_dim", made_sparse},
    {"transpose.int", one_value_wise},
    {"trunc", one_value_wise},
    {"unsqueeze", one_value_wise},
    {"zero", one_value_wise},
};

constexpr bool in_order() {
  for (std::size_t i = 1; i < std::size(kRules); ++i) {
    if (!(kRules[i - 1].op < kRules[i].op)) return false;
  }
  return true;
}
static_assert(in_order(), "kRules is searched");

}  // namespace

tn_status infer(tn_call* call, tn_str op, tn_tensor* outputs, int64_t (*sizes)[64]) {
  const std::string_view name(op.ptr, op.len);
  const auto* e = std::lower_bound(std::begin(kRules), std::end(kRules), name,
                                   [](const Entry& a, std::string_view b) { return a.op < b; });
  if (e == std::end(kRules) || e->op != name) return TN_DECLINED;
  try {
    return e->rule(Rule{call, name, outputs, sizes});
  } catch (...) {
    return detail::report_current(call);
  }
}

}  // namespace tenon::coo
