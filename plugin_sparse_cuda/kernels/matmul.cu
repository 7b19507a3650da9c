// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// mm, addmm and mv of a sparse and a strided matrix. Products of two sparse ones are the layout's
// own kernel.
#include "plugin_sparse_cuda/device/product.cuh"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/mm.h"
#include "tenon/sdk/ops/mv.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

__global__ void find_rows(Sorted e, int64_t m, int64_t* starts, Faults faults) {
  if (global_thread() == 0 && e.n > 0) {
    faults.checked(static_cast<int64_t>(e.indices[0]), m);
    faults.checked(static_cast<int64_t>(e.indices[e.n - 1]), m);
  }
  for (int64_t r = global_thread(); r <= m; r += global_threads()) {
    starts[r] = count_below(e.indices, e.n, static_cast<uint64_t>(r));
  }
}

bool is_zero(const Scalar& s) { return s.is_float() ? s.to<double>() == 0 : s.to<int64_t>() == 0; }
bool is_matrix(const Tensor& t) {
  return t.ndim() == 2 && (is_strided(t) || coo::sparse_dim(t) == 2);
}

// A sparse matrix or its transpose: `line` is the line of indices that has the rows.
struct Left {
  Tensor indices, values;
  int64_t m;
  int line;
  bool in_order;

  Left(const Tensor& t, bool transposed)
      : indices(coo::indices(t)),
        values(coo::values(t)),
        m(t.size(transposed ? 1 : 0)),
        line(transposed ? 1 : 0),
        in_order(coo::coalesced(t) && !transposed) {}
  int64_t nnz() const { return indices.size(1); }
  uint64_t sorting() const { return in_order ? 0 : sorting_bytes(nnz()); }
  uint64_t starts() const { return static_cast<uint64_t>(m + 1) * 8; }
  tn_status workspace(uint64_t* bytes) const {
    *bytes = sorting() + starts();
    return in_order || nnz() <= kMaxSorted ? TN_OK : TN_DECLINED;
  }
};

struct Factors {
  Scalar alpha = Scalar::of(int64_t{1}), beta = Scalar::of(int64_t{0});
};

// self: absent, or one that broadcasts to out.
void multiply(const Call& call, const Left& left, const Tensor& right, const Tensor& self,
              const Factors& by, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t* lines = left.indices.data<int64_t>();
  const int64_t n = left.nnz();
  Sorted rows{reinterpret_cast<const uint64_t*>(lines), nullptr, n};
  if (!left.in_order) {
    const int64_t sizes[] = {left.m};
    rows = sorted(
        sort_places(call, Places(call, lines + left.line * n, n, Ints(sizes, 1)), left.starts()));
  }
  auto* starts = reinterpret_cast<int64_t*>(call.workspace<char>() + left.sorting());
  if (right.numel() == 0) rows.n = 0;
  launch<find_rows>(call, shape_for(call, left.m + 1), rows, left.m, starts, Faults(call));
  const auto run = [&](auto tag) {
    using C = tn_type(tag);
    Product<C> p{};
    p.rows = rows;
    p.columns = lines + (1 - left.line) * n;
    p.values = Dense(left.values);
    p.right = Dense(right);
    p.self = Dense(self);
    p.out = Dense(out);
    if (self.defined() && self.ndim() > 0) {
      p.self_column = self.size(-1) == 1 ? 0 : 1;
      if (self.ndim() == 2) p.self_row = self.size(0) == 1 ? 0 : self.size(1);
    }
    p.alpha = by.alpha.to<C>();
    p.beta = by.beta.to<C>();
    p.m = left.m;
    p.n = out.numel() / left.m;
    p.deep = right.size(0);
    p.faults = Faults(call);
    p.starts = starts;
    return p;
  };
  switch (code_of(out.dtype())) {
    case Code::F16:
      return launch_packed<Half>(call, run(Type<float>{}));
    case Code::BF16:
      return launch_packed<BFloat16>(call, run(Type<float>{}));
    case Code::F32:
      return launch_packed<float>(call, run(Type<float>{}));
    case Code::F64:
      return launch_packed<double>(call, run(Type<double>{}));
    default:
      return launch_rows<int64_t, int64_t, 1>(call, run(Type<int64_t>{}));
  }
}

// self @ mat2 of a strided self is the transposed product of the transposed matrices.
tn_status mm(Call& call, Tensor out, Tensor self, Tensor mat2) {
  if (!out.contiguous()) return TN_DECLINED;
  if (is_strided(mat2)) {
    multiply(call, Left(self, false), mat2, Tensor(), {}, out);
    return TN_OK;
  }
  coo::Ops op(call);
  const Tensor right = op("contiguous", {value(op("t", {value(self)}))});
  const int64_t sizes[] = {out.size(1), out.size(0)};
  const Tensor product = op.empty(Ints(sizes, 2), out.dtype(), out.device());
  multiply(call, Left(mat2, true), right, Tensor(), {}, product);
  op.copy(out, op("t", {value(product)}));
  return TN_OK;
}

tn_status addmm(Call& call, Tensor out, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                Scalar alpha) {
  if (!out.contiguous()) return TN_DECLINED;
  multiply(call, Left(mat1, false), mat2, is_zero(beta) ? Tensor() : self, {alpha, beta}, out);
  return TN_OK;
}

tn_status mv(Call& call, Tensor out, Tensor self, Tensor vec) {
  if (!out.contiguous()) return TN_DECLINED;
  multiply(call, Left(self, false), vec, Tensor(), {}, out);
  return TN_OK;
}

tn_status mm_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor), mat2(call->in[1].u.tensor);
  if (!is_matrix(self) || !is_matrix(mat2) || is_strided(self) == is_strided(mat2))
    return TN_DECLINED;
  return (is_strided(mat2) ? Left(self, false) : Left(mat2, true)).workspace(bytes);
}
tn_status addmm_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor mat1(call->in[1].u.tensor);
  return is_matrix(mat1) ? Left(mat1, false).workspace(bytes) : TN_DECLINED;
}
tn_status mv_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor);
  return is_matrix(self) ? Left(self, false).workspace(bytes) : TN_DECLINED;
}

}  // namespace

TN_KERNEL(mm, mm,
          layouts("strided|sparse_coo,strided|sparse_coo").workspace(mm_workspace).capture_safe());
TN_KERNEL(
    addmm, addmm,
    layouts("strided,sparse_coo,strided").inplace("0=0").workspace(addmm_workspace).capture_safe());
TN_KERNEL(mv, mv, layouts("sparse_coo,strided").workspace(mv_workspace).capture_safe());

}  // namespace tenon::cuda
