// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic and bits.
#include "elementwise.h"
#include "tenon/sdk/ops/bitwise_and.h"
#include "tenon/sdk/ops/bitwise_not.h"
#include "tenon/sdk/ops/bitwise_or.h"
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
