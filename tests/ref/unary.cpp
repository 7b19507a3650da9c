// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elementary functions of one element.
#include "elementwise.h"
#include "tenon/sdk/ops/abs.h"
#include "tenon/sdk/ops/acos.h"
#include "tenon/sdk/ops/acosh.h"
#include "tenon/sdk/ops/asin.h"
#include "tenon/sdk/ops/asinh.h"
#include "tenon/sdk/ops/atan.h"
#include "tenon/sdk/ops/atanh.h"
#include "tenon/sdk/ops/ceil.h"
#include "tenon/sdk/ops/cos.h"
#include "tenon/sdk/ops/cosh.h"
#include "tenon/sdk/ops/erf.h"
#include "tenon/sdk/ops/erfc.h"
#include "tenon/sdk/ops/exp.h"
#include "tenon/sdk/ops/exp2.h"
#include "tenon/sdk/ops/expm1.h"
#include "tenon/sdk/ops/floor.h"
#include "tenon/sdk/ops/lgamma.h"
#include "tenon/sdk/ops/log.h"
#include "tenon/sdk/ops/log10.h"
#include "tenon/sdk/ops/log1p.h"
#include "tenon/sdk/ops/log2.h"
#include "tenon/sdk/ops/neg.h"
#include "tenon/sdk/ops/reciprocal.h"
#include "tenon/sdk/ops/round.h"
#include "tenon/sdk/ops/rsqrt.h"
#include "tenon/sdk/ops/sigmoid.h"
#include "tenon/sdk/ops/sign.h"
#include "tenon/sdk/ops/sin.h"
#include "tenon/sdk/ops/sinh.h"
#include "tenon/sdk/ops/sqrt.h"
#include "tenon/sdk/ops/tan.h"
#include "tenon/sdk/ops/tanh.h"
#include "tenon/sdk/ops/trunc.h"

namespace {

using namespace tenon::ref;

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }

REF_UNARY(neg, -x);
REF_UNARY(abs, std::fabs(x));
REF_UNARY(sign, x > 0 ? 1 : x < 0 ? -1 : 0);
REF_UNARY(floor, std::floor(x));
REF_UNARY(ceil, std::ceil(x));
REF_UNARY(round, std::nearbyint(x));
REF_UNARY(trunc, std::trunc(x));
REF_UNARY(exp, std::exp(x));
REF_UNARY(exp2, std::exp2(x));
REF_UNARY(expm1, std::expm1(x));
REF_UNARY(log, std::log(x));
REF_UNARY(log2, std::log2(x));
REF_UNARY(log10, std::log10(x));
REF_UNARY(log1p, std::log1p(x));
REF_UNARY(sqrt, std::sqrt(x));
REF_UNARY(rsqrt, 1 / std::sqrt(x));
REF_UNARY(reciprocal, 1 / x);
REF_UNARY(sin, std::sin(x));
REF_UNARY(cos, std::cos(x));
REF_UNARY(tan, std::tan(x));
REF_UNARY(asin, std::asin(x));
REF_UNARY(acos, std::acos(x));
REF_UNARY(atan, std::atan(x));
REF_UNARY(sinh, std::sinh(x));
REF_UNARY(cosh, std::cosh(x));
REF_UNARY(tanh, std::tanh(x));
REF_UNARY(asinh, std::asinh(x));
REF_UNARY(acosh, std::acosh(x));
REF_UNARY(atanh, std::atanh(x));
REF_UNARY(sigmoid, sigmoid(x));
REF_UNARY(erf, std::erf(x));
REF_UNARY(erfc, std::erfc(x));
REF_UNARY(lgamma, std::lgamma(x));

}  // namespace
