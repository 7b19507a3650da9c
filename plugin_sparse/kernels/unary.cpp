// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions with f(0) = 0. Those that are not linear need the sum of each element first.
#include "plugin_sparse/coo/coo.h"
#include "plugin_sparse/coo/values_at.h"
#include "tenon/sdk/ops/abs.h"
#include "tenon/sdk/ops/asin.h"
#include "tenon/sdk/ops/asinh.h"
#include "tenon/sdk/ops/atan.h"
#include "tenon/sdk/ops/atanh.h"
#include "tenon/sdk/ops/ceil.h"
#include "tenon/sdk/ops/erf.h"
#include "tenon/sdk/ops/erfinv.h"
#include "tenon/sdk/ops/expm1.h"
#include "tenon/sdk/ops/floor.h"
#include "tenon/sdk/ops/log1p.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/pow.h"
#include "tenon/sdk/ops/relu.h"
#include "tenon/sdk/ops/round.h"
#include "tenon/sdk/ops/sign.h"
#include "tenon/sdk/ops/sin.h"
#include "tenon/sdk/ops/sinh.h"
#include "tenon/sdk/ops/sqrt.h"
#include "tenon/sdk/ops/tan.h"
#include "tenon/sdk/ops/tanh.h"
#include "tenon/sdk/ops/threshold_backward.h"
#include "tenon/sdk/ops/trunc.h"

namespace tenon::coo {
namespace {

#define TN_COO_UNARY(op_name)                                       \
  tn_status op_name##_of_sums(Call& call, Tensor, Tensor self) {    \
    Ops op(call);                                                   \
    const Coo t = coalesce(op, self);                               \
    set_output(call, {t.indices, op(#op_name, {value(t.values)})}); \
    return TN_OK;                                                   \
  }                                                                 \
  TN_KERNEL(op_name, op_name##_of_sums, layouts("sparse_coo").any_strides())

TN_COO_UNARY(abs);
TN_COO_UNARY(asin);
TN_COO_UNARY(asinh);
TN_COO_UNARY(atan);
TN_COO_UNARY(atanh);
TN_COO_UNARY(ceil);
TN_COO_UNARY(erf);
TN_COO_UNARY(erfinv);
TN_COO_UNARY(expm1);
TN_COO_UNARY(floor);
TN_COO_UNARY(log1p);
TN_COO_UNARY(relu);
TN_COO_UNARY(round);
TN_COO_UNARY(sign);
TN_COO_UNARY(sin);
TN_COO_UNARY(sinh);
TN_COO_UNARY(sqrt);
TN_COO_UNARY(tan);
TN_COO_UNARY(tanh);
TN_COO_UNARY(trunc);

#define TN_COO_LINEAR(op_name)                                                                \
  tn_status op_name##_of_each(Call& call, Tensor, Tensor self) {                              \
    Ops op(call);                                                                             \
    set_output(call, 0, indices(self), op(#op_name, {value(values(self))}), coalesced(self)); \
    return TN_OK;                                                                             \
  }                                                                                           \
  TN_KERNEL(op_name, op_name##_of_each, layouts("sparse_coo").any_strides())

TN_COO_LINEAR(neg);

tn_status pow(Call& call, Tensor, Tensor self, Scalar exponent) {
  if (!(exponent.to<double>() > 0))
    throw Error(TN_ERROR_VALUE, "a sparse tensor can be raised to positive powers only: power ",
                exponent.to<double>() == 0 ? "zero would make every element non-zero"
                                           : "below zero would make every other element infinite",
                "; call to_dense() first");
  Ops op(call);
  const Coo t = coalesce(op, self);
  set_output(call, {t.indices, op("pow.Tensor_Scalar", {value(t.values), value(exponent)})});
  return TN_OK;
}
TN_KERNEL(pow_Tensor_Scalar, pow, layouts("sparse_coo").any_strides());

// Where self is not above the threshold the gradient is 0; outside of self's elements it is 0, too.
tn_status threshold_backward(Call& call, Tensor, Tensor grad, Tensor self, Scalar threshold) {
  if (is_strided(self) || threshold.to<double>() < 0) return TN_DECLINED;
  Ops op(call);
  const Coo at = coalesce(op, self);
  const Tensor g = values_at(op, grad, at.indices);
  set_output(
      call, {at.indices, op("threshold_backward", {value(g), value(at.values), value(threshold)})});
  return TN_OK;
}
TN_KERNEL(threshold_backward, threshold_backward,
          layouts("strided|sparse_coo,sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
