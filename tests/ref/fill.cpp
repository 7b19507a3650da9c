// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Factories, fills and copies.
#include "tenon/sdk/ops/fill.h"
#include "number.h"
#include "tenon/sdk/ops/arange.h"
#include "tenon/sdk/ops/clone.h"
#include "tenon/sdk/ops/copy.h"
#include "tenon/sdk/ops/eye.h"
#include "tenon/sdk/ops/flip.h"
#include "tenon/sdk/ops/linspace.h"
#include "tenon/sdk/ops/logspace.h"
#include "tenon/sdk/ops/tril.h"
#include "tenon/sdk/ops/triu.h"
#include "tenon/sdk/ops/zero.h"

namespace {

using namespace tenon::ref;
using MaybeDType = std::optional<DType>;
using MaybeLayout = std::optional<tenon::sdk::Layout>;
using MaybeDevice = std::optional<tenon::sdk::Device>;
using MaybeBool = std::optional<bool>;

tn_status copy(Call&, Tensor out, Tensor, Tensor src, bool) {
  each(out.sizes(), [&](const Index& i) { put(out, i, get_broadcast(src, i)); });
  return TN_OK;
}

tn_status clone(Call&, Tensor out, Tensor self, std::optional<int64_t>) {
  each(out.sizes(), [&](const Index& i) { put(out, i, get(self, i)); });
  return TN_OK;
}

tn_status fill(Call&, Tensor out, Tensor, Scalar value) {
  each(out.sizes(), [&](const Index& i) { put(out, i, number(value)); });
  return TN_OK;
}

tn_status fill_tensor(Call&, Tensor out, Tensor, Tensor value) {
  each(out.sizes(), [&](const Index& i) { put(out, i, get(value, Index(at(value.ndim()), 0))); });
  return TN_OK;
}

tn_status zero(Call&, Tensor out, Tensor) {
  each(out.sizes(), [&](const Index& i) { put(out, i, 0); });
  return TN_OK;
}

tn_status flip(Call&, Tensor out, Tensor self, Ints dims) {
  each(out.sizes(), [&](const Index& i) {
    Index from = i;
    for (int64_t d : dims) {
      const int k = tenon::sdk::wrap_dim(d, self.ndim());
      if (self.ndim() > 0) from[at(k)] = self.size(k) - 1 - i[at(k)];
    }
    put(out, i, get(self, from));
  });
  return TN_OK;
}

tn_status arange(Call&, Tensor out, Scalar start, Scalar, Scalar step, MaybeDType, MaybeLayout,
                 MaybeDevice, MaybeBool) {
  each(out.sizes(),
       [&](const Index& i) { put(out, i, number(start) + Real(i[0]) * number(step)); });
  return TN_OK;
}

Real between(Scalar start, Scalar end, int64_t steps, int64_t i) {
  if (steps == 1) return number(start);
  return number(start) + (number(end) - number(start)) * Real(i) / Real(steps - 1);
}

tn_status linspace(Call&, Tensor out, Scalar start, Scalar end, int64_t steps, MaybeDType,
                   MaybeLayout, MaybeDevice, MaybeBool) {
  each(out.sizes(), [&](const Index& i) { put(out, i, between(start, end, steps, i[0])); });
  return TN_OK;
}

tn_status logspace(Call&, Tensor out, Scalar start, Scalar end, int64_t steps, double base,
                   MaybeDType, MaybeLayout, MaybeDevice, MaybeBool) {
  each(out.sizes(), [&](const Index& i) {
    put(out, i, std::pow(Real(base), between(start, end, steps, i[0])));
  });
  return TN_OK;
}

tn_status eye(Call&, Tensor out, int64_t, int64_t, MaybeDType, MaybeLayout, MaybeDevice,
              MaybeBool) {
  each(out.sizes(), [&](const Index& i) { put(out, i, i[0] == i[1]); });
  return TN_OK;
}

// Keeps what lies on one side of a diagonal of the last two dimensions.
tn_status triangle(Tensor out, Tensor self, int64_t diagonal, bool lower) {
  each(out.sizes(), [&](const Index& i) {
    const int64_t off = i[i.size() - 1] - i[i.size() - 2];
    put(out, i, (lower ? off <= diagonal : off >= diagonal) ? get(self, i) : 0);
  });
  return TN_OK;
}

tn_status tril(Call&, Tensor out, Tensor self, int64_t diagonal) {
  return triangle(out, self, diagonal, true);
}
tn_status triu(Call&, Tensor out, Tensor self, int64_t diagonal) {
  return triangle(out, self, diagonal, false);
}

}  // namespace

TN_KERNEL(copy, copy, any_strides().mixed_dtypes());
TN_KERNEL(clone, clone, any_strides());
TN_KERNEL(fill_Scalar, fill, any_strides());
TN_KERNEL(fill_Tensor, fill_tensor, any_strides().mixed_dtypes());
TN_KERNEL(zero, zero, any_strides());
TN_KERNEL(flip, flip, any_strides());
TN_KERNEL(arange_start_step, arange, any_strides());
TN_KERNEL(linspace, linspace, any_strides());
TN_KERNEL(logspace, logspace, any_strides());
TN_KERNEL(eye_m, eye, any_strides());
TN_KERNEL(tril, tril, any_strides());
TN_KERNEL(triu, triu, any_strides());
