// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of factorizations. Matrices are the last two dimensions; those before are the batch.
#include <algorithm>
#include <vector>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

using Sizes = std::vector<int64_t>;

const TensorImpl& matrices(Infer& c, int arg) {
  const TensorImpl& t = c.tensor(arg);
  if (t.ndim() < 2) {
    fail<ValueError>(c, c.arg(arg), " must have at least 2 dimensions, got shape ", t.sizes());
  }
  return t;
}

const TensorImpl& square_matrices(Infer& c, int arg) {
  const TensorImpl& t = matrices(c, arg);
  if (t.size(t.ndim() - 1) != t.size(t.ndim() - 2)) {
    fail<ValueError>(c, c.arg(arg), " must be batches of square matrices, but they are ",
                     t.size(t.ndim() - 2), " by ", t.size(t.ndim() - 1), " matrices");
  }
  return t;
}

int64_t rows(const TensorImpl& t) { return t.size(t.ndim() - 2); }
int64_t columns(const TensorImpl& t) { return t.size(t.ndim() - 1); }
int64_t shorter(const TensorImpl& t) { return std::min(rows(t), columns(t)); }

// The batch of matrices, and more dimensions after it.
Sizes batch_and(const TensorImpl& t, std::initializer_list<int64_t> more) {
  Sizes sizes(t.sizes().begin(), t.sizes().end() - 2);
  sizes.insert(sizes.end(), more);
  return sizes;
}

void need_sizes(Infer& c, int arg, const Sizes& expected) {
  if (c.tensor(arg).sizes() != IntArrayRef(expected)) {
    fail<ValueError>(c, c.arg(arg), " must have shape ", IntArrayRef(expected), ", got ",
                     c.tensor(arg).sizes());
  }
}

void need_dtype(Infer& c, int arg, ScalarType dtype) {
  if (c.tensor(arg).dtype != dtype) {
    fail<TypeError>(c, c.arg(arg), " must be ", dtype_name(dtype), ", got ",
                    dtype_name(c.tensor(arg).dtype));
  }
}

// Right sides of equations with the matrices of `matrix`, of its batch and dtype.
const TensorImpl& right_side(Infer& c, int matrix, int arg) {
  const TensorImpl &a = square_matrices(c, matrix), &b = matrices(c, arg);
  need_dtype(c, arg, a.dtype);
  need_sizes(c, arg, batch_and(a, {rows(a), columns(b)}));
  return b;
}

// The pivots of square factors.
void need_pivots(Infer& c, int factors, int arg) {
  const TensorImpl& a = square_matrices(c, factors);
  need_dtype(c, arg, kInt);
  need_sizes(c, arg, batch_and(a, {rows(a)}));
}

}  // namespace

TENON_INFER(factor_lu) {
  using Args = args::factor_lu;
  const TensorImpl& a = matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {shorter(a)}), kInt);
  c.set(2, batch_and(a, {}), kInt);
}

TENON_INFER(factor_cholesky) {
  using Args = args::factor_cholesky;
  const TensorImpl& a = square_matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {}), kInt);
}

TENON_INFER(factor_inverse) {
  using Args = args::factor_inverse;
  const TensorImpl& a = square_matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {}), kInt);
}

TENON_INFER(factor_eigh) {
  using Args = args::factor_eigh;
  const TensorImpl& a = square_matrices(c, Args::self);
  c.set(0, batch_and(a, {rows(a)}), toRealValueType(a.dtype));
  c.set(1, c.flag(Args::vectors) ? a.sizes() : IntArrayRef({0}), a.dtype);
  c.set(2, batch_and(a, {}), kInt);
}

TENON_INFER(factor_eig) {
  using Args = args::factor_eig;
  const TensorImpl& a = square_matrices(c, Args::self);
  const ScalarType complex = toComplexType(a.dtype);
  c.set(0, batch_and(a, {rows(a)}), complex);
  c.set(1, c.flag(Args::vectors) ? a.sizes() : IntArrayRef({0}), complex);
  c.set(2, batch_and(a, {}), kInt);
}

TENON_INFER(factor_svd) {
  using Args = args::factor_svd;
  const TensorImpl& a = matrices(c, Args::self);
  const int64_t m = rows(a), n = columns(a), k = shorter(a);
  const bool full = c.flag(Args::full_matrices), vectors = c.flag(Args::vectors);
  c.set(0, vectors ? batch_and(a, {m, full ? m : k}) : Sizes{0}, a.dtype);
  c.set(1, batch_and(a, {k}), toRealValueType(a.dtype));
  c.set(2, vectors ? batch_and(a, {full ? n : k, n}) : Sizes{0}, a.dtype);
  c.set(3, batch_and(a, {}), kInt);
}

// Residuals are those of a full column rank, which the kernel cannot know beforehand: the sums of
// squares of the last rows, where there are more rows than columns.
TENON_INFER(factor_lstsq) {
  using Args = args::factor_lstsq;
  const TensorImpl &a = matrices(c, Args::self), &b = matrices(c, Args::b);
  need_dtype(c, Args::b, a.dtype);
  need_sizes(c, Args::b, batch_and(a, {rows(a), columns(b)}));
  const std::string_view driver(c.in[Args::driver].u.str, c.in[Args::driver].len);
  if (driver != "gels" && driver != "gelsy" && driver != "gelsd" && driver != "gelss")
    fail<ValueError>(c, "driver must be gels, gelsy, gelsd or gelss, got ", driver);
  const bool values = driver == "gelsd" || driver == "gelss", ranks = driver != "gels";
  const ScalarType real = toRealValueType(a.dtype);
  c.set(0, batch_and(a, {columns(a), columns(b)}), a.dtype);
  c.set(1, driver != "gelsy" && rows(a) > columns(a) ? batch_and(a, {columns(b)}) : Sizes{0}, real);
  c.set(2, ranks ? batch_and(a, {}) : Sizes{0}, kLong);
  c.set(3, values ? batch_and(a, {shorter(a)}) : Sizes{0}, real);
  c.set(4, batch_and(a, {}), kInt);
}

TENON_INFER(factor_ldl) {
  using Args = args::factor_ldl;
  const TensorImpl& a = square_matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {rows(a)}), kInt);
  c.set(2, batch_and(a, {}), kInt);
}

TENON_INFER(solve_ldl) {
  using Args = args::solve_ldl;
  need_pivots(c, Args::LD, Args::pivots);
  const TensorImpl& b = right_side(c, Args::LD, Args::B);
  c.set(0, b.sizes(), b.dtype);
}

TENON_INFER(solve_lu) {
  using Args = args::solve_lu;
  need_pivots(c, Args::LU, Args::pivots);
  const TensorImpl& b = right_side(c, Args::LU, Args::B);
  c.set(0, b.sizes(), b.dtype);
}

TENON_INFER(solve_triangular) {
  using Args = args::solve_triangular;
  const TensorImpl& b = right_side(c, Args::self, Args::B);
  c.set(0, b.sizes(), b.dtype);
}

TENON_INFER(pivots_to_permutation) {
  using Args = args::pivots_to_permutation;
  const TensorImpl& p = c.tensor(Args::pivots);
  const int64_t n = c.integer(Args::n);
  if (p.ndim() < 1) fail<ValueError>(c, "argument 'pivots' must have at least 1 dimension");
  if (n < p.size(p.ndim() - 1)) {
    fail<ValueError>(c, "argument 'n' must be at least the number of pivots, ",
                     p.size(p.ndim() - 1), ", got ", n);
  }
  Sizes sizes(p.sizes().begin(), p.sizes().end());
  sizes.back() = n;
  c.set(0, sizes, kLong);
}

TENON_INFER(pstrf) {
  using Args = args::pstrf;
  const TensorImpl& a = square_matrices(c, Args::self);
  if (a.ndim() != 2) fail<ValueError>(c, "expected one matrix, got shape ", a.sizes());
  c.set(0, a.sizes(), a.dtype);
  c.set(1, {rows(a)}, kInt);
}

TENON_INFER(geqrf) {
  using Args = args::geqrf;
  const TensorImpl& a = matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {shorter(a)}), a.dtype);
}

TENON_INFER(householder_product) {
  using Args = args::householder_product;
  const TensorImpl &a = matrices(c, Args::input), &tau = c.tensor(Args::tau);
  if (rows(a) < columns(a)) {
    fail<ValueError>(c,
                     "input.shape[-2] must be greater than or equal to input.shape[-1], got shape ",
                     a.sizes());
  }
  if (tau.ndim() != a.ndim() - 1)
    fail<ValueError>(c, "tau must have one dimension less than input, got ", tau.ndim());
  const int64_t k = tau.size(tau.ndim() - 1);
  if (k > columns(a)) {
    fail<ValueError>(
        c, "input.shape[-1] must be greater than or equal to tau.shape[-1], but they are ",
        columns(a), " and ", k);
  }
  need_dtype(c, Args::tau, a.dtype);
  need_sizes(c, Args::tau, batch_and(a, {k}));
  c.set(0, a.sizes(), a.dtype);
}

TENON_INFER(ormqr) {
  using Args = args::ormqr;
  const TensorImpl &a = matrices(c, Args::self), &other = matrices(c, Args::input3),
                   &tau = c.tensor(Args::input2);
  const int64_t order = c.flag(Args::left) ? rows(other) : columns(other);
  if (tau.ndim() != a.ndim() - 1)
    fail<ValueError>(c, "tau must have one dimension less than input, got ", tau.ndim());
  const int64_t k = tau.size(tau.ndim() - 1);
  if (order < k) {
    fail<ValueError>(c, "other.shape[", c.flag(Args::left) ? "-2" : "-1",
                     "] must be greater than or equal to tau.shape[-1], but they are ", order,
                     " and ", k);
  }
  if (rows(a) != order) {
    fail<ValueError>(c, "other.shape[", c.flag(Args::left) ? "-2" : "-1",
                     "] must be equal to input.shape[-2], but they are ", order, " and ", rows(a));
  }
  if (k > columns(a)) {
    fail<ValueError>(c,
                     "tau.shape[-1] must be less than or equal to input.shape[-1], but they are ",
                     k, " and ", columns(a));
  }
  need_dtype(c, Args::input2, a.dtype);
  need_dtype(c, Args::input3, a.dtype);
  need_sizes(c, Args::input2, batch_and(a, {k}));
  need_sizes(c, Args::input3, batch_and(a, {rows(other), columns(other)}));
  c.set(0, other.sizes(), a.dtype);
}

TENON_INFER(linalg_qr) {
  using Args = args::linalg_qr;
  const TensorImpl& a = matrices(c, Args::A);
  const std::string_view mode(c.in[Args::mode].u.str, c.in[Args::mode].len);
  if (mode != "reduced" && mode != "complete" && mode != "r") {
    fail<ValueError>(c, "qr received unrecognized mode '", mode,
                     "' but expected one of 'reduced' (default), 'r', or 'complete'");
  }
  const int64_t order = mode == "complete" ? rows(a) : shorter(a);
  c.set(0, mode == "r" ? Sizes{0} : batch_and(a, {rows(a), order}), a.dtype);
  c.set(1, batch_and(a, {order, columns(a)}), a.dtype);
}

TENON_INFER(linalg_det) {
  using Args = args::linalg_det;
  const TensorImpl& a = square_matrices(c, Args::A);
  c.set(0, batch_and(a, {}), a.dtype);
  c.set(1, a.sizes(), a.dtype);
  c.set(2, batch_and(a, {rows(a)}), kInt);
}

TENON_INFER(linalg_slogdet) {
  using Args = args::linalg_slogdet;
  const TensorImpl& a = square_matrices(c, Args::A);
  c.set(0, batch_and(a, {}), a.dtype);
  c.set(1, batch_and(a, {}), toRealValueType(a.dtype));
  c.set(2, a.sizes(), a.dtype);
  c.set(3, batch_and(a, {rows(a)}), kInt);
}

TENON_INFER(solve_square) {
  using Args = args::solve_square;
  const TensorImpl &b = right_side(c, Args::A, Args::B), &a = c.tensor(Args::A);
  c.set(0, b.sizes(), b.dtype);
  c.set(1, a.sizes(), a.dtype);
  c.set(2, batch_and(a, {rows(a)}), kInt);
  c.set(3, batch_and(a, {}), kInt);
}

TENON_INFER(pinv) {
  using Args = args::pinv;
  const TensorImpl& a =
      c.flag(Args::hermitian) ? square_matrices(c, Args::self) : matrices(c, Args::self);
  c.set(0, batch_and(a, {columns(a), rows(a)}), a.dtype);
}

TENON_INFER(square_matrix) {
  using Args = args::square_matrix;
  const TensorImpl& a = square_matrices(c, Args::self);
  c.set(0, a.sizes(), a.dtype);
}

TENON_INFER(linalg_polar) {
  using Args = args::linalg_polar;
  const TensorImpl& a = matrices(c, Args::A);
  if (rows(a) < columns(a)) {
    fail<ValueError>(c, "expected A to have at least as many rows as columns, got shape ",
                     a.sizes());
  }
  c.set(0, a.sizes(), a.dtype);
  c.set(1, batch_and(a, {columns(a), columns(a)}), a.dtype);
}

TENON_INFER(cdist) {
  using Args = args::cdist;
  const TensorImpl &a = matrices(c, Args::x1), &b = matrices(c, Args::x2);
  need_dtype(c, Args::x2, a.dtype);
  need_sizes(c, Args::x2, batch_and(a, {rows(b), columns(a)}));
  if (!(c.number(Args::p) >= 0))
    fail<ValueError>(c, "only supports non-negative p values, got ", c.number(Args::p));
  c.set(0, batch_and(a, {rows(a), rows(b)}), a.dtype);
}

TENON_INFER(pdist) {
  using Args = args::pdist;
  const TensorImpl& a = c.tensor(Args::self);
  if (a.ndim() != 2)
    fail<ValueError>(c, "only supports 2D tensors, got: ", a.ndim(), "D, shape ", a.sizes());
  if (!(c.number(Args::p) >= 0))
    fail<ValueError>(c, "only supports non-negative p values, got ", c.number(Args::p));
  const int64_t n = a.size(0);
  c.set(0, {n < 2 ? 0 : c.take(Size(n) * (n - 1)) / 2}, a.dtype);
}

}  // namespace tenon::core
