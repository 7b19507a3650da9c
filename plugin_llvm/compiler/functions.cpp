// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The polynomials of plugin_cpu/simd/vec_float-inl.h, whose bits these have, and calls of SLEEF's
// functions, in vectors of the processor's width.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "isa/tanh_table.h"
#include "plugin_llvm/compiler/values.h"
#include "tenon/abi/primitives.h"

namespace tenon::llvm_loops {

using V = Values::V;

// Of float32 vectors. Names as there.
class FloatFunctions {
 public:
  explicit FloatFunctions(Values& values)
      : o(values), b(values.b), t(o.vector_of(b.getFloatTy())), i(o.vector_of(b.getInt32Ty())) {}

  V exp(V x) {
    const Power p = power(at_most(89, at_least(-105, x)), c(0));
    return scale(b.CreateFAdd(c(1), p.m), p.n);
  }

  V log(V x) {
    if (o.lanes() == 16) return log_by_exponent(x);
    V tiny = b.CreateFCmpOLT(x, c(1.17549435e-38f));
    V bits = b.CreateBitCast(b.CreateSelect(tiny, mul(x, c(8388608)), x), i);
    V e = b.CreateAShr(b.CreateSub(bits, whole(0x3f3504f3)), 23);
    V m = b.CreateBitCast(b.CreateSub(bits, b.CreateShl(e, 23)), t);
    V ef = sub(b.CreateSIToFP(e, t), b.CreateSelect(tiny, c(23), c(0)));
    V f = sub(m, c(1)), s = mul(f, f);
    V q = polynomial(
        f, {0.0698070195866, -0.114945466129, 0.116890711375, -0.124240377177, 0.142485512644,
            -0.166678509729, 0.200007305039, -0.249999966269, 0.333333311219});
    V r = fma(ef, c(-2.12194440e-4f), mul(mul(f, s), q));
    r = add(fma(s, c(-0.5f), r), f);
    r = fma(ef, c(0.693359375f), r);
    V top = infinity(false);
    r = b.CreateSelect(b.CreateFCmpOEQ(x, c(0)), infinity(true),
                       b.CreateSelect(b.CreateFCmpOEQ(x, top), x, r));
    return b.CreateSelect(b.CreateFCmpOGE(x, c(0)), r, llvm::ConstantFP::getNaN(t));
  }

  V tanh(V x) {
    if (o.lanes() == 16) return tanh_by_table(x);
    V a = abs(x), s = mul(x, x);
    V q = polynomial(s, {0.00224600368559, -0.00830169536064, 0.0217557003459, -0.0539575951325,
                         0.133332963528, -0.333333331234});
    V small = fma(mul(x, s), q, x);
    const Power p = power(at_most(20, add(a, a)), c(0));
    V two = power_of_two(p.n);
    V large = sub(c(1), b.CreateFDiv(c(2), fma(p.m, two, add(c(1), two))));
    return copysign(b.CreateSelect(b.CreateFCmpOLT(a, c(0.64f)), small, large), x);
  }

  V sigmoid(V x) {
    const Power p = power(b.CreateFNeg(at_most(20, at_least(-115, x))), b.CreateFNeg(c(0)));
    V n = b.CreateFNeg(p.n), two = power_of_two(at_least(-126, n)), d = add(c(1), two);
    V d_low = sub(two, sub(d, c(1)));
    return scale(b.CreateFDiv(c(1), add(d, add(p.m, d_low))), n);
  }

  V erf(V x) {
    V a = abs(x), large = copysign(sub(c(1), erfc_tail(at_most(10.5f, a))), x);
    return b.CreateSelect(b.CreateFCmpOLT(a, c(0.92f)), fma(x, erf_q(x), x), large);
  }

  V erfc(V x) {
    V a = abs(x), tail = erfc_tail(at_most(10.5f, a));
    V small = fma(b.CreateFNeg(x), erf_q(x), sub(c(1), x));
    V far = b.CreateSelect(b.CreateFCmpOLT(x, c(0)), sub(c(2), tail), tail);
    return b.CreateSelect(b.CreateFCmpOLT(a, c(0.7f)), small, far);
  }

 private:
  struct Power {
    V m, n;
  };

  // These two of AVX-512.
  V log_by_exponent(V x) {
    constexpr int kMantissaFromThreeQuarters = 11;  // of a negative number NaN
    V all = b.getInt16(0xffff), rounding = b.getInt32(4);
    V m = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_getmant_ps_512, {},
                            {x, b.getInt32(kMantissaFromThreeQuarters), x, all, rounding});
    const auto exponent = [&](V y) {
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_getexp_ps_512, {},
                               {y, y, all, rounding});
    };
    V e = sub(exponent(x), exponent(m)), f = sub(m, c(1)), s = mul(f, f);
    V q = polynomial(
        f, {0.0376729186195, -0.0911619060143, 0.117006613366, -0.127277786874, 0.142762386886,
            -0.166552966037, 0.199996048679, -0.25000165269, 0.333333398617});
    V r = add(fma(s, c(-0.5f), fma(e, c(5.76999904754e-8f), mul(mul(f, s), q))), f);
    return fma(e, c(0.693147122860f), r);
  }

  V tanh_by_table(V x) {
    V a = at_most(cpu::kTanhEnd, abs(x));
    V k = fma(a, c(1 / cpu::kTanhStep), c(12582912.0f));
    V r = fma(sub(k, c(12582912.0f)), c(-cpu::kTanhStep), a), column = b.CreateBitCast(k, i);
    V q = nullptr;
    for (int power = 6; power >= 0; --power) {
      const llvm::ArrayRef<float> row(cpu::kTanh[power]);
      const auto half = [&](size_t from) {
        return llvm::ConstantDataVector::get(b.getContext(), row.slice(from, 16));
      };
      V at = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                               {half(0), column, half(16)});
      q = q ? fma(q, r, at) : at;
    }
    return copysign(q, x);
  }

  V c(float v) { return llvm::ConstantFP::get(t, static_cast<double>(v)); }
  V whole(uint32_t v) { return llvm::ConstantInt::get(i, v); }
  V infinity(bool negative) { return llvm::ConstantFP::getInfinity(t, negative); }
  V add(V x, V y) { return b.CreateFAdd(x, y); }
  V sub(V x, V y) { return b.CreateFSub(x, y); }
  V mul(V x, V y) { return b.CreateFMul(x, y); }
  V fma(V x, V y, V z) { return o.fma(x, y, z); }
  V abs(V x) { return o.intrinsic(llvm::Intrinsic::fabs, x); }
  V copysign(V x, V y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y); }
  // NaN passes.
  V at_most(float bound, V x) { return b.CreateSelect(b.CreateFCmpOLT(c(bound), x), c(bound), x); }
  V at_least(float bound, V x) { return b.CreateSelect(b.CreateFCmpOGT(c(bound), x), c(bound), x); }
  V polynomial(V x, std::initializer_list<double> list) {
    V y = nullptr;
    for (const double it : list) {
      V k = c(static_cast<float>(it));
      y = y ? fma(y, x, k) : k;
    }
    return y;
  }
  V product_rest(V x, V y, V p) { return fma(x, y, b.CreateFNeg(p)); }

  V power_of_two(V n) {
    V shifted = b.CreateBitCast(add(n, c(12582912.0f + 127.0f)), i);
    return b.CreateBitCast(b.CreateShl(shifted, 23), t);
  }
  V scale(V x, V n) {
    if (o.lanes() == 16)
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                               {x, n, x, b.getInt16(0xffff), b.getInt32(4)});
    V half = o.intrinsic(llvm::Intrinsic::floor, mul(n, c(0.5f)));
    return mul(mul(x, power_of_two(half)), power_of_two(sub(n, half)));
  }
  Power power(V x, V low) {
    V n = sub(fma(x, c(1.44269504f), c(12582912.0f)), c(12582912.0f));
    V r = add(fma(n, c(-0.693145752f), x), fma(n, c(-1.42860677e-6f), low));
    V q = polynomial(r, {0.0013926926614, 0.00836377387441, 0.0416665501103, 0.166665733819, 0.5});
    return {fma(mul(r, r), q, r), n};
  }
  V erf_q(V x) {
    return polynomial(mul(x, x),
                      {8.33471861521e-5, -0.000813470933212, 0.00520036858686, -0.0268591514724,
                       0.112836915197, -0.376126335171, 0.12837916662});
  }
  // erfc(a) for a in [0.7, 10.5]: gauss_tail with half 1, k 2, and 1 for what it multiplies.
  V erfc_tail(V a) {
    const double first = 1.0215827052;
    V s = mul(a, a), d = add(a, c(2)), d_low = sub(a, sub(d, c(2)));
    V u = o.lanes() == 16 ? b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_rcp14_ps_512, {},
                                              {d, d, b.getInt16(0xffff)})
                          : b.CreateFDiv(c(1), d);
    V e = b.CreateFNeg(fma(u, d_low, product_rest(u, d, c(1))));
    V v = fma(u, e, sub(u, c(0.25f)));
    V q =
        polynomial(v, {127.945055855, -15.9266175078, -42.9348996388, 13.8673669036, 12.6548072527,
                       -6.63618272043, -5.5067230841, 2.33230912826, 4.47155352499, 2.74864273006});
    V one = c(static_cast<float>(first)), f = fma(v, q, one);
    V f_low = add(fma(v, q, sub(one, f)),
                  c(static_cast<float>(first - static_cast<double>(static_cast<float>(first)))));
    V w = mul(u, f), w_low = fma(u, f_low, product_rest(u, f, w));
    const Power p = power(mul(c(-1), s), fma(c(-1), product_rest(a, a, s), e));
    return scale(add(w, fma(w, p.m, w_low)), p.n);
  }

  Values& o;
  llvm::IRBuilder<>& b;
  llvm::Type *t, *i;
};

V Values::float_function(int code, V a) {
  FloatFunctions f(*this);
  switch (code) {
    case TN_UNARY_EXP:
      return f.exp(a);
    case TN_UNARY_LOG:
      return f.log(a);
    case TN_UNARY_TANH:
      return f.tanh(a);
    case TN_UNARY_SIGMOID:
      return f.sigmoid(a);
    case TN_UNARY_ERF:
      return f.erf(a);
    default:
      return f.erfc(a);
  }
}

V Values::sleef(const char* name, const char* ulp, V a, V y) {
  const bool is_float = a->getType()->getScalarType()->isFloatTy();
  const unsigned width = is_float ? lanes_ : lanes_ / 2;
  const std::string symbol = std::string("Sleef_") + name + (is_float ? "f" : "d") +
                             std::to_string(width) + "_" + ulp +
                             (lanes_ == 16 ? "avx512f" : "avx2");
  auto* t = llvm::FixedVectorType::get(a->getType()->getScalarType(), width);
  llvm::SmallVector<llvm::Type*, 2> types(y ? 2 : 1, t);
  auto callee = module_.getOrInsertFunction(symbol, llvm::FunctionType::get(t, types, false));
  auto* f = llvm::cast<llvm::Function>(callee.getCallee());
  f->setDoesNotAccessMemory();
  f->setDoesNotThrow();
  f->addFnAttr(llvm::Attribute::WillReturn);
  const auto call = [&](V x, V z) {
    return y ? b.CreateCall(callee, {x, z}) : b.CreateCall(callee, {x});
  };
  if (is_float) return call(a, y);
  llvm::SmallVector<int, 16> low, high, all;
  for (unsigned k = 0; k < lanes_; ++k) {
    (k < width ? low : high).push_back(static_cast<int>(k));
    all.push_back(static_cast<int>(k));
  }
  const auto part = [&](V v, llvm::ArrayRef<int> which) -> V {
    return v ? b.CreateShuffleVector(v, which) : nullptr;
  };
  V first = call(part(a, low), part(y, low)), second = call(part(a, high), part(y, high));
  return b.CreateShuffleVector(first, second, all);
}

}  // namespace tenon::llvm_loops
