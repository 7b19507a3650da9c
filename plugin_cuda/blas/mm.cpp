// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// mm, addmm, bmm, baddbmm, mv, addmv, dot of floats. Operands with strides that cuBLAS does not
// support are copied first; an addend that is one row for all rows becomes an epilogue, as does an
// activation.
#include "tenon/sdk/ops/mm.h"
#include "plugin_cuda/blas/gemm.h"
#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/ops/_addmm_activation.h"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/addmv.h"
#include "tenon/sdk/ops/baddbmm.h"
#include "tenon/sdk/ops/bmm.h"
#include "tenon/sdk/ops/dot.h"
#include "tenon/sdk/ops/mv.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// A row-major copy of a tensor for the duration of the call: work of a stream is ordered, so the
// memory may be freed before the product is computed.
class Copy {
 public:
  Copy(tn_call* call, Tensor t) {
    tn_value in[2] = {};
    in[0].tag = TN_TAG_TENSOR;
    in[0].u.tensor = t.abi();
    in[1].tag = TN_TAG_I64;  // contiguous
    const tn_status s = host().call_op(call, {"clone", 5}, in, 2, &value_, 1);
    if (s != TN_OK) throw Error(s, "an operand could not be copied");
  }
  ~Copy() {
    if (value_.tag == TN_TAG_TENSOR) host().release(&value_);
  }
  Copy(const Copy&) = delete;
  Tensor tensor() const { return Tensor(value_.u.tensor); }

 private:
  tn_value value_{};
};

// The call for cuBLAS. Without `copies` only its geometry is valid, which suffices for a plan.
class Product {
 public:
  Product(tn_call* call, bool copies) : call_(call), copies_(copies) {}
  Gemm g;

  void operand(Matrix& m, Tensor t, std::optional<Copy>& copy) {
    if (as_matrix(t, m)) return;
    if (copies_) {
      copy.emplace(call_, t);
      as_matrix(copy->tensor(), m);
    } else {
      m = {reinterpret_cast<void*>(256), t.size(-2), t.size(-1), std::max<int64_t>(t.size(-1), 1),
           t.size(-2) * t.size(-1),      false};
    }
  }
  // False if the output has no contiguous dimension.
  bool operands(Tensor out, Tensor a, Tensor b) {
    g.dtype = out.dtype();
    g.batch = out.ndim() == 3 ? out.size(0) : 1;
    if (!as_matrix(out, g.out)) return false;
    operand(g.a, a, a_);
    operand(g.b, b, b_);
    return true;
  }
  // beta * self; false if kernels/mm.cu must compute it.
  bool addend(Tensor self, Scalar beta) {
    g.beta = beta.to<double>();
    if (g.beta == 0) return true;
    const bool one_row =
        self.ndim() == 2 && self.stride(0) == 0 && (self.stride(1) == 1 || self.size(1) == 1);
    if (one_row && g.beta == 1 && self.size(0) > 1 && !g.out.by_columns) {
      g.bias = self.data();
      g.beta = 0;
      return true;
    }
    return as_matrix(self, g.c) && g.c.by_columns == g.out.by_columns;
  }
  // For a column-major output: the transposed product, whose output is row-major.
  void transpose() {
    if (!g.out.by_columns) return;
    std::swap(g.a, g.b);
    for (Matrix* m : {&g.a, &g.b, &g.c, &g.out}) {
      std::swap(m->rows, m->columns);
      m->by_columns = !m->by_columns;
    }
  }

 private:
  tn_call* call_;
  bool copies_;
  std::optional<Copy> a_, b_;
};

// A vector as a matrix of one column or one row.
struct Reshaped {
  tn_tensor view;
  int64_t sizes[2], strides[2];
  Reshaped(Tensor t, bool column) : view(*t.abi()) {
    const int64_t n = t.ndim() ? t.size(0) : 1, step = t.ndim() && n > 1 ? t.stride(0) : 1;
    sizes[column ? 0 : 1] = n;
    strides[column ? 0 : 1] = step;
    sizes[column ? 1 : 0] = 1;
    strides[column ? 1 : 0] = column ? 1 : n * step;
    view.sizes = sizes;
    view.strides = strides;
    view.ndim = 2;
  }
  Tensor tensor() const { return Tensor(&view); }
};

struct Factors {
  Tensor self;
  Scalar beta = Scalar::of(int64_t{0}), alpha = Scalar::of(int64_t{1});
  Activation activation = Activation::None;
};

// For both halves of a kernel: the plan's workspace and the product. False: the call must be
// declined.
template <class Then>
bool with_product(tn_call* call, bool copies, Tensor out, Tensor a, Tensor b, const Factors& f,
                  Then&& then) {
  if (out.numel() == 0) return true;
  if (a.size(-1) == 0) return false;  // cuBLAS requires k > 0
  const int index = out.device().index;
  DeviceGuard on(index);
  Product p(call, copies);
  p.g.alpha = f.alpha.to<double>();
  p.g.activation = f.activation;
  if (!p.operands(out, a, b)) return false;
  if (f.self.defined() && !p.addend(f.self, f.beta)) return false;
  p.transpose();
  if (f.activation != Activation::None && !plan_of(p.g, index).found) return false;
  then(p.g, index);
  return true;
}

// The product with k = 0.
bool write_zeros(tn_call* call, Tensor out) {
  const int index = out.device().index;
  if (!out.contiguous()) return false;
  DeviceGuard on(index);
  const auto bytes = static_cast<std::size_t>(out.numel() * item_size(out.dtype()));
  check(cudaMemsetAsync(out.data(), 0, bytes, native(index, call->stream)), "cudaMemsetAsync",
        index);
  return true;
}

bool is_zero(Tensor out, Tensor a, const Factors& f) {
  return out.numel() > 0 && a.size(-1) == 0 && (!f.self.defined() || f.beta.to<double>() == 0);
}

bool compute(tn_call* call, Tensor out, Tensor a, Tensor b, const Factors& f) {
  if (is_zero(out, a, f)) return write_zeros(call, out);
  return with_product(call, true, out, a, b, f, [&](const Gemm& g, int index) {
    cudaStream_t s = native(index, call->stream);
    run(g, index, s, call->workspace, call->workspace_bytes);
    launched(cudaSuccess, index, s, "gemm of cuBLASLt");
  });
}

bool query_workspace(tn_call* call, uint64_t* bytes, Tensor out, Tensor a, Tensor b,
                     const Factors& f) {
  *bytes = 0;
  if (is_zero(out, a, f)) return true;
  return with_product(call, false, out, a, b, f,
                      [&](const Gemm& g, int index) { *bytes = plan_of(g, index).workspace; });
}

// The arguments of each operator; `use` gets out, a, b and the factors.
template <class Use>
bool mm_of(const tn_value* in, Tensor out, Use&& use) {
  return use(out, Tensor(in[0].u.tensor), Tensor(in[1].u.tensor), Factors{});
}
template <class Use>
bool addmm_of(const tn_value* in, Tensor out, Use&& use) {
  return use(out, Tensor(in[1].u.tensor), Tensor(in[2].u.tensor),
             Factors{Tensor(in[0].u.tensor), Scalar(in[3]), Scalar(in[4])});
}
template <class Use>
bool addmm_activation_of(const tn_value* in, Tensor out, Use&& use) {
  return use(out, Tensor(in[1].u.tensor), Tensor(in[2].u.tensor),
             Factors{Tensor(in[0].u.tensor), Scalar(in[3]), Scalar(in[4]),
                     in[5].u.i64 ? Activation::Gelu : Activation::Relu});
}
template <class Use>
bool mv_of(const tn_value* in, Tensor out, Use&& use) {
  const Reshaped y(out, true), x(Tensor(in[1].u.tensor), true);
  return use(y.tensor(), Tensor(in[0].u.tensor), x.tensor(), Factors{});
}
template <class Use>
bool addmv_of(const tn_value* in, Tensor out, Use&& use) {
  const Reshaped y(out, true), x(Tensor(in[2].u.tensor), true), self(Tensor(in[0].u.tensor), true);
  return use(y.tensor(), Tensor(in[1].u.tensor), x.tensor(),
             Factors{self.tensor(), Scalar(in[3]), Scalar(in[4])});
}
template <class Use>
bool dot_of(const tn_value* in, Tensor out, Use&& use) {
  const Reshaped y(out, true), a(Tensor(in[0].u.tensor), false), b(Tensor(in[1].u.tensor), true);
  return use(y.tensor(), a.tensor(), b.tensor(), Factors{});
}

#define PRODUCT(op)                                                                              \
  tn_status op##_workspace(tn_call* c, uint64_t* bytes) noexcept {                               \
    try {                                                                                        \
      const auto query = [&](auto&&... a) { return query_workspace(c, bytes, a...); };           \
      return op##_of(c->in, Tensor(c->out[0].u.tensor), query) ? TN_OK : TN_DECLINED;            \
    } catch (...) {                                                                              \
      return sdk::detail::report_current(c);                                                     \
    }                                                                                            \
  }                                                                                              \
  bool op##_run(Call& call, Tensor out) {                                                        \
    return op##_of(call.abi()->in, out, [&](auto&&... a) { return compute(call.abi(), a...); }); \
  }
PRODUCT(mm)
PRODUCT(addmm)
PRODUCT(addmm_activation)
PRODUCT(mv)
PRODUCT(addmv)
PRODUCT(dot)
#undef PRODUCT

tn_status status(bool done) { return done ? TN_OK : TN_DECLINED; }
tn_status mm(Call& c, Tensor out, Tensor, Tensor) { return status(mm_run(c, out)); }
tn_status addmm(Call& c, Tensor out, Tensor, Tensor, Tensor, Scalar, Scalar) {
  return status(addmm_run(c, out));
}
tn_status addmm_activation(Call& c, Tensor out, Tensor, Tensor, Tensor, Scalar, Scalar, bool) {
  return status(addmm_activation_run(c, out));
}
tn_status mv(Call& c, Tensor out, Tensor, Tensor) { return status(mv_run(c, out)); }
tn_status addmv(Call& c, Tensor out, Tensor, Tensor, Tensor, Scalar, Scalar) {
  return status(addmv_run(c, out));
}
tn_status dot(Call& c, Tensor out, Tensor, Tensor) { return status(dot_run(c, out)); }

}  // namespace

TN_KERNEL(mm, mm, dtypes("floating").any_strides().capture_safe().workspace(mm_workspace));
TN_KERNEL(bmm, mm, dtypes("floating").any_strides().capture_safe().workspace(mm_workspace));
TN_KERNEL(
    addmm, addmm,
    dtypes("floating").any_strides().capture_safe().inplace("0=0").workspace(addmm_workspace));
// cuBLAS has no epilogues for doubles, and its relu of NaN may be 0.
TN_KERNEL(_addmm_activation, addmm_activation,
          dtypes("float32,float16,bfloat16")
              .any_strides()
              .capture_safe()
              .workspace(addmm_activation_workspace));
TN_KERNEL(
    baddbmm, addmm,
    dtypes("floating").any_strides().capture_safe().inplace("0=0").workspace(addmm_workspace));
TN_KERNEL(mv, mv, dtypes("floating").any_strides().capture_safe().workspace(mv_workspace));
TN_KERNEL(
    addmv, addmv,
    dtypes("floating").any_strides().capture_safe().inplace("0=0").workspace(addmv_workspace));
TN_KERNEL(dot, dot, dtypes("floating").any_strides().capture_safe().workspace(dot_workspace));

}  // namespace tenon::cuda
