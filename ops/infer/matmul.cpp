// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of matrix products.
#include <cstring>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

void need_ndim(Infer& c, int arg, int ndim) {
  if (c.tensor(arg).ndim() != ndim) {
    fail<ValueError>(c, c.arg(arg), " must have ", ndim, ndim == 1 ? " dimension" : " dimensions",
                     ", got shape ", c.tensor(arg).sizes());
  }
}

void same_dtype(Infer& c, int a, int b) {
  if (c.tensor(a).dtype != c.tensor(b).dtype) {
    fail<TypeError>(c, "expected both operands to have the same dtype, got ",
                    dtype_name(c.tensor(a).dtype), " and ", dtype_name(c.tensor(b).dtype), " (",
                    c.arg(b), ")");
  }
}

void same_size(Infer& c, int a, int a_dim, int b, int b_dim) {
  if (c.tensor(a).size(a_dim) != c.tensor(b).size(b_dim)) {
    fail<ValueError>(c, "shapes cannot be multiplied: ", c.tensor(a).sizes(), " and ",
                     c.tensor(b).sizes(), "; size ", c.tensor(a).size(a_dim), " at dimension ",
                     a_dim, " is not ", c.tensor(b).size(b_dim));
  }
}

// Output 0 of `sizes`; argument 0 is expanded to it.
void addend(Infer& c, IntArrayRef sizes) {
  using A = args::addmm;
  const TensorImpl& self = c.tensor(A::self);
  c.expand_to(A::self, sizes);
  for (int i = 3; i < c.op.n_args; ++i) {  // beta and alpha
    const bool short_float = self.dtype == kHalf || self.dtype == kBFloat16;
    if (c.op.args[i].type == ArgType::Scalar) c.check_fits(i, short_float ? kFloat : self.dtype);
  }
  c.set(0, sizes, self.dtype);
}

void check_matrices(Infer& c, int a, int b) {
  need_ndim(c, a, 2);
  need_ndim(c, b, 2);
  same_dtype(c, a, b);
  same_size(c, a, 1, b, 0);
}

void check_batches(Infer& c, int a, int b) {
  need_ndim(c, a, 3);
  need_ndim(c, b, 3);
  same_dtype(c, a, b);
  same_size(c, a, 0, b, 0);
  same_size(c, a, 2, b, 1);
}

}  // namespace

TENON_INFER(mm) {
  using A = args::mm;
  check_matrices(c, A::self, A::mat2);
  const int64_t sizes[] = {c.tensor(A::self).size(0), c.tensor(A::mat2).size(1)};
  c.set(0, sizes, c.tensor(A::self).dtype);
}

TENON_INFER(bmm) {
  using A = args::bmm;
  check_batches(c, A::self, A::mat2);
  const int64_t sizes[] = {c.tensor(A::self).size(0), c.tensor(A::self).size(1),
                           c.tensor(A::mat2).size(2)};
  c.set(0, sizes, c.tensor(A::self).dtype);
}

TENON_INFER(addmm) {
  using A = args::addmm;
  check_matrices(c, A::mat1, A::mat2);
  same_dtype(c, A::mat1, A::self);
  const int64_t sizes[] = {c.tensor(A::mat1).size(0), c.tensor(A::mat2).size(1)};
  addend(c, sizes);
}

TENON_INFER(baddbmm) {
  using A = args::baddbmm;
  check_batches(c, A::batch1, A::batch2);
  same_dtype(c, A::batch1, A::self);
  const int64_t sizes[] = {c.tensor(A::batch1).size(0), c.tensor(A::batch1).size(1),
                           c.tensor(A::batch2).size(2)};
  addend(c, sizes);
}

TENON_INFER(mv) {
  using A = args::mv;
  need_ndim(c, A::self, 2);
  need_ndim(c, A::vec, 1);
  same_dtype(c, A::self, A::vec);
  same_size(c, A::self, 1, A::vec, 0);
  const int64_t sizes[] = {c.tensor(A::self).size(0)};
  c.set(0, sizes, c.tensor(A::self).dtype);
}

TENON_INFER(addmv) {
  using A = args::addmv;
  need_ndim(c, A::mat, 2);
  need_ndim(c, A::vec, 1);
  same_dtype(c, A::mat, A::vec);
  same_dtype(c, A::mat, A::self);
  same_size(c, A::mat, 1, A::vec, 0);
  const int64_t sizes[] = {c.tensor(A::mat).size(0)};
  addend(c, sizes);
}

TENON_INFER(dot) {
  using A = args::dot;
  need_ndim(c, A::self, 1);
  need_ndim(c, A::tensor, 1);
  same_dtype(c, A::self, A::tensor);
  same_size(c, A::self, 0, A::tensor, 0);
  c.set(0, {}, c.tensor(A::self).dtype);
}

}  // namespace tenon::core
