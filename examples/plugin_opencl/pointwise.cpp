// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_unary, prim_binary, copy, where and fill: one work-item per element.
#include <cstring>

#include "launch.h"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/copy.h"
#include "tenon/sdk/ops/fill.h"
#include "tenon/sdk/ops/prim_binary.h"
#include "tenon/sdk/ops/prim_unary.h"
#include "tenon/sdk/ops/where.h"

namespace tenon::opencl {
namespace {

using namespace sdk;

// neg and sub are not defined for bool.
bool is_bool(DType d) { return dtype_key(d) == dtype_key(kBool); }

bool known_unary(const Gpu& g, DType d, int64_t code) {
  if (code == TN_UNARY_NEG && is_bool(d)) return false;
  if (code >= TN_UNARY_LOGICAL_NOT) return code <= TN_UNARY_SIGNBIT;
  // These need the precision of double.
  if (!g.doubles && (code == TN_UNARY_ERFINV || code == TN_UNARY_DIGAMMA || code == TN_UNARY_I0))
    return false;
  return is_floating(d) ? code <= TN_UNARY_I0 && code != TN_UNARY_BITWISE_NOT
                        : code <= TN_UNARY_BITWISE_NOT;
}

bool known_binary(DType d, int64_t code) {
  if (code == TN_BINARY_SUB && is_bool(d)) return false;
  if (code >= TN_BINARY_EQ) return code <= TN_BINARY_LOGICAL_XOR;
  if (is_floating(d)) return code <= TN_BINARY_XLOGY;
  return code != TN_BINARY_DIV && code <= TN_BINARY_SHIFT_RIGHT &&
         !(code >= TN_BINARY_ATAN2 && code <= TN_BINARY_XLOGY);
}

tn_status prim_unary(Call& call, Tensor out, Tensor self, int64_t code) {
  return run_or_decline([&] {
    Launch launch(call, out.device().index, "unary", "unary");
    const View y(out), x(self);
    Grid g;
    if (!known_unary(launch.gpu(), self.dtype(), code) || !make_grid(g, y, {&y, &x}))
      throw Declined{};
    launch.code(code).type('X', x.dtype).type('Y', y.dtype).arg(g).arg(y).arg(x).run_items(g.n);
  });
}

tn_status prim_binary(Call& call, Tensor out, Tensor self, Tensor other, int64_t code) {
  return run_or_decline([&] {
    Launch launch(call, out.device().index, "binary", "binary");
    const View y(out), a(self), b(other);
    Grid g;
    if (!known_binary(self.dtype(), code) || !make_grid(g, y, {&y, &a, &b})) throw Declined{};
    launch.code(code)
        .type('X', a.dtype)
        .type('Y', y.dtype)
        .arg(g)
        .arg(y)
        .arg(a)
        .arg(b)
        .report()
        .run_items(g.n);
  });
}

tn_status copy(Call& call, Tensor out, Tensor, Tensor src, bool) {
  return run_or_decline([&] { copy_view(call, out.device().index, View(out), View(src)); });
}

tn_status where(Call& call, Tensor out, Tensor condition, Tensor self, Tensor other) {
  return run_or_decline([&] {
    const View y(out), c(condition), a(self), b(other);
    Grid g;
    if (!make_grid(g, y, {&y, &c, &a, &b})) throw Declined{};
    Launch(call, out.device().index, "move", "where")
        .type('Y', bits_of(y.dtype))
        .arg(g)
        .arg(y)
        .arg(c)
        .arg(a)
        .arg(b)
        .run_items(g.n);
  });
}

tn_status fill(Call& call, Tensor out, Tensor, Scalar value) {
  return run_or_decline([&] {
    const View y(out);
    Grid g;
    if (!make_grid(g, y, {&y})) throw Declined{};
    Launch launch(call, out.device().index, "move", "fill");
    launch.type('Y', bits_of(y.dtype)).arg(g).arg(y);
    dispatch_all(y.dtype, [&](auto tag) { launch.arg(value.to<tn_type(tag)>()); });
    launch.run_items(g.n);
  });
}

}  // namespace

TN_KERNEL(prim_unary, prim_unary, any_strides().inplace("0=0"));
TN_KERNEL(prim_binary, prim_binary, any_strides().inplace("0=0,0=1"));
TN_KERNEL(copy, copy, any_strides().mixed_dtypes().inplace("0=0"));
TN_KERNEL(where_self, where, any_strides());
TN_KERNEL(fill_Scalar, fill, any_strides().inplace("0=0"));

}  // namespace tenon::opencl
