// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic and bits.
#include "elementwise.h"
#include "tenon/sdk/ops/bitwise_and.h"
#include "tenon/sdk/ops/bitwise_left_shift.h"
#include "tenon/sdk/ops/bitwise_not.h"
#include "tenon/sdk/ops/bitwise_or.h"
#include "tenon/sdk/ops/bitwise_right_shift.h"
#include "tenon/sdk/ops/bitwise_xor.h"
#include "tenon/sdk/ops/eq.h"
#include "tenon/sdk/ops/ge.h"
#include "tenon/sdk/ops/gt.h"
#include "tenon/sdk/ops/isfinite.h"
#include "tenon/sdk/ops/isinf.h"
#include "tenon/sdk/ops/isnan.h"
#include "tenon/sdk/ops/le.h"
#include "tenon/sdk/ops/logical_and.h"
#include "tenon/sdk/ops/logical_not.h"
#include "tenon/sdk/ops/logical_or.h"
#include "tenon/sdk/ops/logical_xor.h"
#include "tenon/sdk/ops/lt.h"
#include "tenon/sdk/ops/ne.h"
#include "tenon/sdk/ops/signbit.h"

namespace {

using namespace tenon::ref;

int64_t bits(Real x) { return to_int(x); }

// Nothing is written before every count is checked.
void check_count(Real n, DType d) {
  if (n < 0 || n >= Real(8 * tenon::sdk::item_size(d))) {
    throw tenon::sdk::Error(TN_ERROR_VALUE,
                            "a shift count is negative or not less than the number of bits");
  }
}
int64_t shifted(Real x, Real n, bool left) {
  return left ? static_cast<int64_t>(static_cast<uint64_t>(bits(x)) << bits(n))
              : bits(x) >> bits(n);
}

template <bool Left>
tn_status shift(Call&, Tensor out, Tensor self, Tensor other) {
  each(other.sizes(), [&](const Index& i) { check_count(get(other, i), out.dtype()); });
  each(out.sizes(), [&](const Index& i) {
    put(out, i, Real(shifted(get_broadcast(self, i), get_broadcast(other, i), Left)));
  });
  return TN_OK;
}
template <bool Left>
tn_status shift_by(Call&, Tensor out, Tensor self, Scalar other) {
  check_count(number(other), out.dtype());
  each(out.sizes(),
       [&](const Index& i) { put(out, i, Real(shifted(get(self, i), number(other), Left))); });
  return TN_OK;
}
template <bool Left>
tn_status shift_number(Call&, Tensor out, Scalar self, Tensor other) {
  each(other.sizes(), [&](const Index& i) { check_count(get(other, i), out.dtype()); });
  const Real x = operand(self, out.dtype());
  each(out.sizes(), [&](const Index& i) { put(out, i, Real(shifted(x, get(other, i), Left))); });
  return TN_OK;
}

TN_KERNEL(bitwise_left_shift_Tensor, shift<true>, REF_TRAITS);
TN_KERNEL(bitwise_left_shift_Tensor_Scalar, shift_by<true>, REF_TRAITS);
TN_KERNEL(bitwise_left_shift_Scalar_Tensor, shift_number<true>, REF_TRAITS);
TN_KERNEL(bitwise_right_shift_Tensor, shift<false>, REF_TRAITS);
TN_KERNEL(bitwise_right_shift_Tensor_Scalar, shift_by<false>, REF_TRAITS);
TN_KERNEL(bitwise_right_shift_Scalar_Tensor, shift_number<false>, REF_TRAITS);

REF_BINARY(eq_Tensor, x == y);
REF_SCALAR(eq_Scalar, x == y);
REF_BINARY(ne_Tensor, x != y);
REF_SCALAR(ne_Scalar, x != y);
REF_BINARY(lt_Tensor, x < y);
REF_SCALAR(lt_Scalar, x < y);
REF_BINARY(le_Tensor, x <= y);
REF_SCALAR(le_Scalar, x <= y);
REF_BINARY(gt_Tensor, x > y);
REF_SCALAR(gt_Scalar, x > y);
REF_BINARY(ge_Tensor, x >= y);
REF_SCALAR(ge_Scalar, x >= y);
REF_BINARY(logical_and, x != 0 && y != 0);
REF_BINARY(logical_or, x != 0 || y != 0);
REF_BINARY(logical_xor, (x != 0) != (y != 0));
REF_UNARY(logical_not, x == 0);
REF_UNARY(isnan, std::isnan(x));
REF_UNARY(isinf, std::isinf(x));
REF_UNARY(isfinite, std::isfinite(x));
REF_UNARY(signbit, std::signbit(x));
REF_BINARY(bitwise_and_Tensor, bits(x) & bits(y));
REF_SCALAR(bitwise_and_Scalar, bits(x) & bits(y));
REF_SCALAR_LEFT(bitwise_and_Scalar_Tensor, bits(x) & bits(y));
REF_BINARY(bitwise_or_Tensor, bits(x) | bits(y));
REF_SCALAR(bitwise_or_Scalar, bits(x) | bits(y));
REF_SCALAR_LEFT(bitwise_or_Scalar_Tensor, bits(x) | bits(y));
REF_BINARY(bitwise_xor_Tensor, bits(x) ^ bits(y));
REF_SCALAR(bitwise_xor_Scalar, bits(x) ^ bits(y));
REF_SCALAR_LEFT(bitwise_xor_Scalar_Tensor, bits(x) ^ bits(y));
REF_UNARY(bitwise_not, tenon::sdk::is_bool(self.dtype()) ? x == 0 : ~bits(x));

}  // namespace
