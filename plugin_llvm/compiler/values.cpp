// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiler/values.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::llvm_loops {

using lp::Dtype;
using V = Values::V;

llvm::Type* Values::type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return b.getInt1Ty();
    case Dtype::kHalf:
    case Dtype::kBfloat16:
      return b.getFloatTy();
    default:
      return memory_type(dtype);
  }
}

llvm::Type* Values::memory_type(Dtype dtype) {
  if (dtype == Dtype::kFloat) return b.getFloatTy();
  if (dtype == Dtype::kDouble) return b.getDoubleTy();
  return b.getIntNTy(static_cast<unsigned>(lp::itemsize(dtype)) * 8);
}

void Values::match(V& x, V& y) {
  if (is_vector(x) == is_vector(y)) return;
  x = splat(x);
  y = splat(y);
}

V Values::from_memory(Dtype dtype, V v) {
  if (dtype == Dtype::kBool) return b.CreateICmpNE(v, whole(v->getType(), 0));
  if (dtype == Dtype::kHalf) return half_to_float(v);
  if (dtype == Dtype::kBfloat16) return bfloat_to_float(v);
  return v;
}

V Values::to_memory(Dtype dtype, V v) {
  if (dtype == Dtype::kBool) return b.CreateZExt(v, like(v, b.getInt8Ty()));
  if (dtype == Dtype::kHalf) return float_to_half(v);
  if (dtype == Dtype::kBfloat16) return float_to_bfloat(v);
  return v;
}

// Vectors by instructions of the processor, which every one with AVX2 has.
V Values::half_to_float(V h) {
  if (is_vector(h)) {
    V halves = b.CreateBitCast(h, like(h, b.getHalfTy()));
    return b.CreateFPExt(halves, like(h, b.getFloatTy()));
  }
  llvm::Type *i = like(h, b.getInt32Ty()), *f = like(h, b.getFloatTy());
  V bits = b.CreateZExt(h, i), sign = b.CreateShl(b.CreateAnd(bits, whole(i, 0x8000)), 16);
  V rest = b.CreateAnd(bits, whole(i, 0x7fff)), wide = b.CreateShl(rest, 13);
  V small =
      b.CreateBitCast(b.CreateFMul(b.CreateUIToFP(rest, f), real(f, 5.9604644775390625e-8)), i);
  V normal = b.CreateSelect(b.CreateICmpUGE(rest, whole(i, 0x400)),
                            b.CreateAdd(wide, whole(i, 0x38000000)), small);
  V v = b.CreateSelect(b.CreateICmpUGE(rest, whole(i, 0x7c00)),
                       b.CreateOr(wide, whole(i, 0x7f800000)), normal);
  return b.CreateBitCast(b.CreateOr(sign, v), f);
}

V Values::float_to_half(V v) {
  V nearest = b.getInt32(0);
  if (is_vector(v) && lanes() == 8)
    return b.CreateIntrinsic(llvm::Intrinsic::x86_vcvtps2ph_256, {}, {v, nearest});
  if (is_vector(v) && lanes() == 16) {
    V none = llvm::Constant::getNullValue(like(v, b.getInt16Ty()));
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                             {v, nearest, none, b.getInt16(0xffff)});
  }
  llvm::Type *i = like(v, b.getInt32Ty()), *f = like(v, b.getFloatTy());
  V bits = b.CreateBitCast(v, i), sign = b.CreateAnd(b.CreateLShr(bits, 16), whole(i, 0x8000));
  V x = b.CreateAnd(bits, whole(i, 0x7fffffff)), cut = b.CreateLShr(x, 13);
  V nan = b.CreateOr(b.CreateAnd(cut, whole(i, 0x3ff)), whole(i, 0x7e00));
  V small = b.CreateSub(b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(x, f), real(f, 0.5)), i),
                        whole(i, 0x3f000000));
  V odd = b.CreateAnd(cut, whole(i, 1));
  V normal = b.CreateLShr(b.CreateAdd(b.CreateAdd(x, whole(i, 0xc8000fff)), odd), 13);
  V r = b.CreateSelect(b.CreateICmpULT(x, whole(i, 0x38800000)), small, normal);
  r = b.CreateSelect(b.CreateICmpUGE(x, whole(i, 0x47800000)), whole(i, 0x7c00), r);
  r = b.CreateSelect(b.CreateICmpUGT(x, whole(i, 0x7f800000)), nan, r);
  return b.CreateTrunc(b.CreateOr(sign, r), like(v, b.getInt16Ty()));
}

V Values::bfloat_to_float(V h) {
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(h, like(h, b.getInt32Ty())), 16),
                         like(h, b.getFloatTy()));
}

V Values::float_to_bfloat(V v) {
  llvm::Type* i = like(v, b.getInt32Ty());
  V x = b.CreateBitCast(v, i), high = b.CreateLShr(x, 16);
  V sum = b.CreateAdd(b.CreateAdd(x, whole(i, 0x7fff)), b.CreateAnd(high, whole(i, 1)));
  V nan = b.CreateICmpUGT(b.CreateAnd(x, whole(i, 0x7fffffff)), whole(i, 0x7f800000));
  V r = b.CreateSelect(nan, b.CreateOr(high, whole(i, 0x40)), b.CreateLShr(sum, 16));
  return b.CreateTrunc(r, like(v, b.getInt16Ty()));
}

V Values::rounded(Dtype dtype, V v) {
  return is_short(dtype) ? from_memory(dtype, to_memory(dtype, v)) : v;
}

V Values::constant(const lp::Node& node) {
  if (!lp::is_floating(node.dtype))
    return whole(type(node.dtype), static_cast<uint64_t>(node.integer));
  const double v = node.dtype == Dtype::kDouble ? node.real : static_cast<float>(node.real);
  return rounded(node.dtype, real(type(node.dtype), v));
}

V Values::to_index(Dtype dtype, V v) {
  llvm::Type* i = like(v, b.getInt64Ty());
  return is_unsigned(dtype) ? b.CreateZExt(v, i) : b.CreateSExt(v, i);
}

V Values::cast(Dtype to, Dtype from, V v) {
  if (to == from) return v;
  llvm::Type *self = v->getType(), *t = like(v, type(to));
  if (to == Dtype::kBool)
    return lp::is_floating(from) ? b.CreateFCmpUNE(v, real(self, 0))
                                 : b.CreateICmpNE(v, whole(self, 0));
  if (lp::is_floating(to) && lp::is_floating(from)) return rounded(to, b.CreateFPCast(v, t));
  if (lp::is_floating(to))
    return rounded(to, is_unsigned(from) ? b.CreateUIToFP(v, t) : b.CreateSIToFP(v, t));
  if (!lp::is_floating(from))
    return is_unsigned(from) ? b.CreateZExtOrTrunc(v, t) : b.CreateSExtOrTrunc(v, t);
  // Through int64, the lowest of which is what does not fit.
  llvm::Type* i = like(v, b.getInt64Ty());
  V fits = b.CreateAnd(b.CreateFCmpOGE(v, real(self, -9223372036854775808.0)),
                       b.CreateFCmpOLT(v, real(self, 9223372036854775808.0)));
  V zero = b.CreateSelect(fits, v, real(self, 0));
  V far = b.CreateSelect(fits, b.CreateFPToSI(zero, i), whole(i, uint64_t{1} << 63));
  return b.CreateTrunc(far, t);
}

V Values::select(V condition, V x, V y) {
  if (is_vector(condition) || is_vector(x) || is_vector(y)) {
    condition = splat(condition);
    x = splat(x);
    y = splat(y);
  }
  return b.CreateSelect(condition, x, y);
}

V Values::fma(V a, V x, V y) {
  if (is_vector(a) || is_vector(x) || is_vector(y)) {
    a = splat(a);
    x = splat(x);
    y = splat(y);
  }
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, x, y});
}

V Values::philox(V seed, V offset, V word) {
  seed = splat(seed);
  offset = splat(offset);
  word = splat(word);
  llvm::Type *i = vector_of(b.getInt32Ty()), *l = vector_of(b.getInt64Ty());
  const auto low = [&](V v) { return b.CreateTrunc(v, i); };
  const auto high = [&](V v) { return b.CreateTrunc(b.CreateLShr(v, 32), i); };
  V block = b.CreateAdd(offset, b.CreateAShr(word, 2));
  V c[4] = {low(block), high(block), whole(i, 0), whole(i, 0)};
  V k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    V p0 = b.CreateMul(b.CreateZExt(c[0], l), whole(l, 0xD2511F53));
    V p1 = b.CreateMul(b.CreateZExt(c[2], l), whole(l, 0xCD9E8D57));
    V n0 = b.CreateXor(b.CreateXor(high(p1), c[1]), k0);
    V n2 = b.CreateXor(b.CreateXor(high(p0), c[3]), k1);
    c[1] = low(p1);
    c[3] = low(p0);
    c[0] = n0;
    c[2] = n2;
    k0 = b.CreateAdd(k0, whole(i, 0x9E3779B9));
    k1 = b.CreateAdd(k1, whole(i, 0xBB67AE85));
  }
  V lane = b.CreateAnd(word, whole(l, 3)), r = c[3];
  for (int j = 0; j < 3; ++j)
    r = b.CreateSelect(b.CreateICmpEQ(lane, whole(l, static_cast<uint64_t>(j))), c[j], r);
  return r;
}

V Values::unary(int code, Dtype self, V a) {
  if (code >= lp::first_test) return test(code, self, a);
  if (!lp::is_floating(self)) return whole_unary(code, self, a);
  return rounded(self, real_unary(code, self, a));
}

V Values::test(int code, Dtype self, V a) {
  llvm::Type* t = a->getType();
  const bool is_real = lp::is_floating(self);
  const auto never = [&](bool v) { return whole(like(a, b.getInt1Ty()), v ? 1 : 0); };
  switch (code) {
    case TN_UNARY_LOGICAL_NOT:
      return is_real ? b.CreateFCmpOEQ(a, real(t, 0)) : b.CreateICmpEQ(a, whole(t, 0));
    case TN_UNARY_ISNAN:
      return is_real ? is_nan(a) : never(false);
    case TN_UNARY_ISINF:
      return is_real ? b.CreateFCmpOEQ(intrinsic(llvm::Intrinsic::fabs, a), infinity(t))
                     : never(false);
    case TN_UNARY_ISFINITE:
      return is_real ? b.CreateFCmpOLT(intrinsic(llvm::Intrinsic::fabs, a), infinity(t))
                     : never(true);
    default: {
      if (is_unsigned(self)) return never(false);
      llvm::Type* i = like(a, b.getIntNTy(t->getScalarSizeInBits()));
      return b.CreateICmpSLT(is_real ? b.CreateBitCast(a, i) : a, whole(i, 0));
    }
  }
}

V Values::whole_unary(int code, Dtype self, V a) {
  llvm::Type* t = a->getType();
  switch (code) {
    case TN_UNARY_NEG:
      return b.CreateNeg(a);
    case TN_UNARY_ABS:
      return is_unsigned(self) ? a
                               : b.CreateSelect(b.CreateICmpSLT(a, whole(t, 0)), b.CreateNeg(a), a);
    case TN_UNARY_SIGN: {
      V some = b.CreateZExt(b.CreateICmpNE(a, whole(t, 0)), t);
      if (is_unsigned(self)) return some;
      return b.CreateSelect(b.CreateICmpSLT(a, whole(t, 0)), b.CreateNeg(some), some);
    }
    case TN_UNARY_BITWISE_NOT:
      return b.CreateNot(a);
    default:
      return a;  // rounded already
  }
}

V Values::real_unary(int code, Dtype self, V a) {
  llvm::Type* t = a->getType();
  using namespace llvm;
  switch (code) {
    case TN_UNARY_NEG:
      return b.CreateFNeg(a);
    case TN_UNARY_ABS:
      return intrinsic(Intrinsic::fabs, a);
    case TN_UNARY_SIGN: {
      V up = b.CreateSelect(b.CreateFCmpOGT(a, real(t, 0)), real(t, 1), real(t, 0));
      return b.CreateSelect(b.CreateFCmpOLT(a, real(t, 0)), real(t, -1), up);
    }
    case TN_UNARY_FLOOR:
      return intrinsic(Intrinsic::floor, a);
    case TN_UNARY_CEIL:
      return intrinsic(Intrinsic::ceil, a);
    case TN_UNARY_ROUND:
      return intrinsic(Intrinsic::nearbyint, a);
    case TN_UNARY_TRUNC:
      return intrinsic(Intrinsic::trunc, a);
    case TN_UNARY_SQRT:
      return intrinsic(Intrinsic::sqrt, a);
    case TN_UNARY_RSQRT:
      return b.CreateFDiv(real(t, 1), intrinsic(Intrinsic::sqrt, a));
    case TN_UNARY_RECIPROCAL:
      return b.CreateFDiv(real(t, 1), a);
    case TN_UNARY_ERFINV:
    case TN_UNARY_DIGAMMA:
    case TN_UNARY_I0:
      return by_lanes(self == Dtype::kDouble ? "tn_unary_d" : "tn_unary_f", code, a, nullptr);
    default:
      break;
  }
  if (code > TN_UNARY_I0)
    throw NotCompiled("there is no code for " + std::string(lp::unary_name(code)));
  const bool scalar = !is_vector(a);
  V r = vector_unary(code, self, splat(a));
  return scalar ? b.CreateExtractElement(r, uint64_t{0}) : r;
}

V Values::half_exp(Dtype self, V a) {
  llvm::Type* t = a->getType();
  constexpr double high = 45427.0 / 65536, rest = 1.383027787960190264e-05;  // e^(high - ln 2) - 1
  V e = vector_unary(TN_UNARY_EXP, self, b.CreateFSub(a, real(t, high)));
  return fma(e, real(t, rest), e);
}

V Values::sinh_or_cosh(bool is_sinh, Dtype self, V x) {
  V a = intrinsic(llvm::Intrinsic::fabs, x), below = sleef(is_sinh ? "sinh" : "cosh", "u10", x);
  V end = b.CreateFCmpOGT(a, real(a->getType(), self == Dtype::kDouble ? 709 : 88));
  V beyond = half_exp(self, a);
  if (is_sinh) beyond = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, beyond, x);
  return b.CreateSelect(end, beyond, below);
}

// The functions of plugin_cpu, and its cases at the ends of their ranges.
V Values::vector_unary(int code, Dtype self, V a) {
  llvm::Type* t = a->getType();
  const bool is_double = self == Dtype::kDouble;
  const auto log = [&](V v) { return vector_unary(TN_UNARY_LOG, self, v); };
  V size = intrinsic(llvm::Intrinsic::fabs, a);
  constexpr double ln2 = 0.69314718055994530942;
  switch (code) {
    case TN_UNARY_EXP:
    case TN_UNARY_LOG:
    case TN_UNARY_TANH:
    case TN_UNARY_ERF:
      if (!is_double) return float_function(code, a);
      return sleef(std::string(lp::unary_name(code)).c_str(), "u10", a);
    case TN_UNARY_ERFC:
      return is_double ? sleef("erfc", "u15", a) : float_function(code, a);
    case TN_UNARY_SIGMOID: {
      if (!is_double) return float_function(code, a);
      V e = sleef("exp", "u10", b.CreateFNeg(size));
      V up = b.CreateSelect(b.CreateFCmpOLT(a, real(t, 0)), e, real(t, 1));
      return b.CreateFDiv(up, b.CreateFAdd(real(t, 1), e));
    }
    case TN_UNARY_LOG1P:
      return b.CreateSelect(b.CreateFCmpOGT(a, real(t, 1e20)), log(a), sleef("log1p", "u10", a));
    case TN_UNARY_SINH:
    case TN_UNARY_COSH:
      return sinh_or_cosh(code == TN_UNARY_SINH, self, a);
    case TN_UNARY_ASINH: {
      V far = b.CreateFCmpOGT(size, real(t, 1e10));
      V large = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                        b.CreateFAdd(log(size), real(t, ln2)), a);
      return b.CreateSelect(far, large, sleef("asinh", "u10", b.CreateSelect(far, real(t, 1), a)));
    }
    case TN_UNARY_ACOSH: {
      V far = b.CreateFCmpOGT(a, real(t, 1e10)), large = b.CreateFAdd(log(a), real(t, ln2));
      return b.CreateSelect(far, large, sleef("acosh", "u10", b.CreateSelect(far, real(t, 1), a)));
    }
    case TN_UNARY_LGAMMA: {
      V large = b.CreateFMul(a, b.CreateFSub(log(a), real(t, 1)));
      return b.CreateSelect(b.CreateFCmpOGT(a, real(t, 1e36)), large, sleef("lgamma", "u10", a));
    }
    default:
      return sleef(std::string(lp::unary_name(code)).c_str(), "u10", a);
  }
}

V Values::binary(int code, Dtype self, V x, V y) {
  match(x, y);
  if (code >= lp::first_test) return compared(code, self, x, y);
  if (!lp::is_floating(self)) return whole_binary(code, self, x, y);
  if (code == TN_BINARY_NEXTAFTER && is_short(self))
    return by_lanes(self == Dtype::kHalf ? "tn_next_half" : "tn_next_bfloat", code, x, y);
  return rounded(self, real_binary(code, self, x, y));
}

V Values::compared(int code, Dtype self, V x, V y) {
  using P = llvm::CmpInst::Predicate;
  const bool is_real = lp::is_floating(self), is_signed = !is_unsigned(self);
  if (code >= TN_BINARY_LOGICAL_AND) {
    x = cast(Dtype::kBool, self, x);
    y = cast(Dtype::kBool, self, y);
    if (code == TN_BINARY_LOGICAL_AND) return b.CreateAnd(x, y);
    return code == TN_BINARY_LOGICAL_OR ? b.CreateOr(x, y) : b.CreateXor(x, y);
  }
  constexpr P reals[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                         P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  constexpr P wholes[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                          P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  constexpr P naturals[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_ULT,
                            P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  const int i = code - lp::first_test;
  return is_real ? b.CreateFCmp(reals[i], x, y)
                 : b.CreateICmp(is_signed ? wholes[i] : naturals[i], x, y);
}

V Values::whole_binary(int code, Dtype self, V x, V y) {
  const bool is_bool = self == Dtype::kBool, is_signed = !is_unsigned(self);
  const auto larger = [&] { return is_signed ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y); };
  llvm::Type* t = x->getType();
  switch (code) {
    case TN_BINARY_ADD:
      return is_bool ? b.CreateOr(x, y) : b.CreateAdd(x, y);
    case TN_BINARY_SUB:
      return b.CreateSub(x, y);
    case TN_BINARY_MUL:
      return is_bool ? b.CreateAnd(x, y) : b.CreateMul(x, y);
    case TN_BINARY_MAX:
    case TN_BINARY_FMAX:
      return b.CreateSelect(larger(), x, y);
    case TN_BINARY_MIN:
    case TN_BINARY_FMIN:
      return b.CreateSelect(larger(), y, x);
    case TN_BINARY_BITWISE_AND:
      return b.CreateAnd(x, y);
    case TN_BINARY_BITWISE_OR:
      return b.CreateOr(x, y);
    case TN_BINARY_BITWISE_XOR:
      return b.CreateXor(x, y);
    default:
      break;
  }
  V wide_x = to_index(self, x), wide_y = to_index(self, y);
  llvm::Type* l = wide_x->getType();
  V by = b.CreateAnd(wide_y, whole(l, 63));
  if (code == TN_BINARY_SHIFT_LEFT) return b.CreateTrunc(b.CreateShl(wide_x, by), t);
  if (code == TN_BINARY_SHIFT_RIGHT) return b.CreateTrunc(b.CreateAShr(wide_x, by), t);
  return b.CreateTrunc(by_lanes("tn_binary_i", code, wide_x, wide_y), t);
}

V Values::real_binary(int code, Dtype self, V x, V y) {
  const auto better = [&](bool is_max, V other) {  // x where it is, or is NaN
    V c = is_max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
    return b.CreateSelect(b.CreateOr(c, is_nan(other)), x, y);
  };
  const auto by_vector = [&](const char* name, const char* ulp) {
    const bool scalar = !is_vector(x);
    V r = sleef(name, ulp, splat(x), splat(y));
    return scalar ? b.CreateExtractElement(r, uint64_t{0}) : r;
  };
  switch (code) {
    case TN_BINARY_ADD:
      return b.CreateFAdd(x, y);
    case TN_BINARY_SUB:
      return b.CreateFSub(x, y);
    case TN_BINARY_MUL:
      return b.CreateFMul(x, y);
    case TN_BINARY_DIV:
      return b.CreateFDiv(x, y);
    case TN_BINARY_DIV_TRUNC:
      return intrinsic(llvm::Intrinsic::trunc, b.CreateFDiv(x, y));
    case TN_BINARY_MAX:
    case TN_BINARY_MIN:
      return better(code == TN_BINARY_MAX, x);
    case TN_BINARY_FMAX:
    case TN_BINARY_FMIN:
      return better(code == TN_BINARY_FMAX, y);
    case TN_BINARY_COPYSIGN:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y);
    case TN_BINARY_POW:
      return by_vector("pow", "u10");
    case TN_BINARY_ATAN2:
      return by_vector("atan2", "u10");
    case TN_BINARY_HYPOT:
      return by_vector("hypot", "u05");
    default:
      break;
  }
  if (code > TN_BINARY_XLOG1PY)
    throw NotCompiled("there is no code for " + std::string(lp::binary_name(code)));
  return by_lanes(self == Dtype::kDouble ? "tn_binary_d" : "tn_binary_f", code, x, y);
}

V Values::by_lanes(const char* function, int code, V x, V y) {
  const bool scalar = !is_vector(x);
  llvm::Type *t = x->getType(), *element = t->getScalarType(), *p = element->getPointerTo();
  llvm::Function* f = b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&f->getEntryBlock(), f->getEntryBlock().begin());
  const auto room = [&](V v) {
    llvm::AllocaInst* at = entry.CreateAlloca(t);
    at->setAlignment(llvm::Align(64));
    if (v) b.CreateAlignedStore(v, at, llvm::Align(64));
    return at;
  };
  llvm::AllocaInst *a = room(x), *c = y ? room(y) : a, *out = room(nullptr);
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(function, b.getVoidTy(), b.getInt32Ty(), p, p, p, b.getInt32Ty());
  b.CreateCall(callee,
               {b.getInt32(static_cast<uint32_t>(code)), b.CreateBitCast(a, p),
                b.CreateBitCast(c, p), b.CreateBitCast(out, p), b.getInt32(scalar ? 1 : lanes_)});
  return b.CreateAlignedLoad(t, out, llvm::Align(64));
}

llvm::Type* Values::sum_type(lp::Update update, Dtype dtype, bool narrow) {
  const bool sums = update == lp::Update::kSum || update == lp::Update::kProd;
  if (dtype == Dtype::kFloat && sums && !narrow) return b.getDoubleTy();
  return type(dtype);
}

V Values::to_sum(lp::Update update, Dtype dtype, bool narrow, V v) {
  llvm::Type* t = sum_type(update, dtype, narrow);
  return v->getType()->getScalarType() == t ? v : b.CreateFPExt(v, like(v, t));
}

V Values::from_sum(lp::Update, Dtype dtype, V v) {
  llvm::Type* t = type(dtype);
  return v->getType()->getScalarType() == t ? v : b.CreateFPTrunc(v, like(v, t));
}

V Values::neutral(lp::Update update, Dtype dtype, llvm::Type* sum) {
  const bool is_max = update == lp::Update::kMax, is_real = lp::is_floating(dtype);
  if (update == lp::Update::kSum) return llvm::Constant::getNullValue(sum);
  if (update == lp::Update::kProd) return is_real ? real(sum, 1) : whole(sum, 1);
  if (is_real) return llvm::ConstantFP::getInfinity(sum, is_max);
  const unsigned bits = sum->getScalarSizeInBits();
  if (is_unsigned(dtype)) return is_max ? whole(sum, 0) : llvm::Constant::getAllOnesValue(sum);
  const llvm::APInt low = llvm::APInt::getSignedMinValue(bits);
  return llvm::ConstantInt::get(sum, is_max ? low : llvm::APInt::getSignedMaxValue(bits));
}

V Values::combined(lp::Update update, Dtype dtype, V old, V v) {
  match(old, v);
  const bool is_bool = dtype == Dtype::kBool, is_real = lp::is_floating(dtype);
  switch (update) {
    case lp::Update::kSum:
      return is_bool ? b.CreateOr(old, v) : is_real ? b.CreateFAdd(old, v) : b.CreateAdd(old, v);
    case lp::Update::kProd:
      return is_bool ? b.CreateAnd(old, v) : is_real ? b.CreateFMul(old, v) : b.CreateMul(old, v);
    default:
      break;
  }
  const bool is_max = update == lp::Update::kMax;
  if (!is_real) return whole_binary(is_max ? TN_BINARY_MAX : TN_BINARY_MIN, dtype, old, v);
  V c = is_max ? b.CreateFCmpOGT(v, old) : b.CreateFCmpOLT(v, old);
  return b.CreateSelect(b.CreateOr(c, is_nan(v)), v, old);
}

}  // namespace tenon::llvm_loops
