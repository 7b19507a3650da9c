// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A tensor to the power of a scalar: frequent exponents are products and roots, the rest is pow
// element by element.
#include "plugin_cpu/pointwise/engine.h"
#include "tenon/sdk/ops/pow.h"

namespace tenon::cpu::pw {

const Loops& loops_mul();
const Loops& loops_pow();
const Loops& loops_reciprocal();
const Loops& loops_rsqrt();
const Loops& loops_sqrt();

namespace {

tn_status pow_scalar(sdk::Call& call, Tensor out, Tensor self, Scalar exponent) {
  const double e = exponent.to<double>();
  if (e == 1) return run(call, loops_mul(), out, {self, Scalar::of(int64_t{1})}, {});
  if (e == 2) return run(call, loops_mul(), out, {self, self}, {});
  if (sdk::is_floating(self.dtype())) {
    if (e == 0.5) return run(call, loops_sqrt(), out, {self}, {});
    if (e == -0.5) return run(call, loops_rsqrt(), out, {self}, {});
    if (e == -1) return run(call, loops_reciprocal(), out, {self}, {});
  }
  return run(call, loops_pow(), out, {self, exponent}, {});
}

}  // namespace

TN_KERNEL(pow_Tensor_Scalar, pow_scalar, dtypes("all").any_strides().broadcasts().inplace("0=0"));

}  // namespace tenon::cpu::pw
