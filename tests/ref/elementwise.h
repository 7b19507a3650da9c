// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One line per operator: REF_UNARY(exp, std::exp(x)). x and y are the operands' elements, `whole`
// is true for integers.
#pragma once

#include "number.h"

#define REF_TRAITS any_strides().broadcasts()

#define REF_X [[maybe_unused]] const Real x = get_broadcast(self, i)

#define REF_UNARY(op, expr)                                                     \
  static tn_status ref_##op(Call&, Tensor out, Tensor self) {                   \
    [[maybe_unused]] const bool whole = !tenon::sdk::is_floating(self.dtype()); \
    each(out.sizes(), [&](const Index& i) {                                     \
      REF_X;                                                                    \
      put(out, i, static_cast<Real>(expr));                                     \
    });                                                                         \
    return TN_OK;                                                               \
  }                                                                             \
  TN_KERNEL(op, ref_##op, REF_TRAITS)

// Tensor with tensor.
#define REF_BINARY(op, expr)                                                    \
  static tn_status ref_##op(Call&, Tensor out, Tensor self, Tensor other) {     \
    [[maybe_unused]] const bool whole = !tenon::sdk::is_floating(self.dtype()); \
    each(out.sizes(), [&](const Index& i) {                                     \
      REF_X;                                                                    \
      const Real y = get_broadcast(other, i);                                   \
      put(out, i, static_cast<Real>(expr));                                     \
    });                                                                         \
    return TN_OK;                                                               \
  }                                                                             \
  TN_KERNEL(op, ref_##op, REF_TRAITS)

// Tensor with scalar, the scalar on the right; REF_SCALAR_LEFT: on the left. REF_LIMIT: the scalar
// is not converted to the dtype, even if an integer dtype cannot hold it.
#define REF_NUMBER(op, value, expr)                                             \
  static tn_status ref_##op(Call&, Tensor out, Tensor self, Scalar other) {     \
    [[maybe_unused]] const bool whole = !tenon::sdk::is_floating(self.dtype()); \
    const Real y = value;                                                       \
    each(out.sizes(), [&](const Index& i) {                                     \
      REF_X;                                                                    \
      put(out, i, static_cast<Real>(expr));                                     \
    });                                                                         \
    return TN_OK;                                                               \
  }                                                                             \
  TN_KERNEL(op, ref_##op, REF_TRAITS)

#define REF_SCALAR(op, expr) REF_NUMBER(op, operand(other, self.dtype()), expr)
#define REF_LIMIT(op, expr) REF_NUMBER(op, number(other), expr)

#define REF_SCALAR_LEFT(op, expr)                                                \
  static tn_status ref_##op(Call&, Tensor out, Scalar self, Tensor other) {      \
    [[maybe_unused]] const bool whole = !tenon::sdk::is_floating(other.dtype()); \
    const Real x = operand(self, other.dtype());                                 \
    each(out.sizes(), [&](const Index& i) {                                      \
      const Real y = get_broadcast(other, i);                                    \
      put(out, i, static_cast<Real>(expr));                                      \
    });                                                                          \
    return TN_OK;                                                                \
  }                                                                              \
  TN_KERNEL(op, ref_##op, REF_TRAITS)
