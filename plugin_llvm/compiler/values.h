// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operations of loop programs on values of LLVM, a scalar or a vector of `lanes` each; operands of
// a function are brought to one shape. As in C: a bool is i1, 16-bit floats are float32 that are
// rounded after each operation.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <stdexcept>
#include <string>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::llvm_loops {

namespace lp = sdk::loop_program;

struct NotCompiled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Values {
 public:
  using V = llvm::Value*;
  Values(llvm::IRBuilder<>& builder, llvm::Module& module, int lanes)
      : b(builder), module_(module), lanes_(static_cast<unsigned>(lanes)) {}

  llvm::IRBuilder<>& b;
  unsigned lanes() const { return lanes_; }

  llvm::Type* type(lp::Dtype dtype);         // of a value
  llvm::Type* memory_type(lp::Dtype dtype);  // of an element
  llvm::Type* vector_of(llvm::Type* t) { return llvm::FixedVectorType::get(t, lanes_); }
  static bool is_vector(V v) { return v->getType()->isVectorTy(); }
  V splat(V v) { return is_vector(v) ? v : b.CreateVectorSplat(lanes_, v); }

  V from_memory(lp::Dtype dtype, V v);
  V to_memory(lp::Dtype dtype, V v);
  V constant(const lp::Node& node);
  V cast(lp::Dtype to, lp::Dtype from, V v);
  V unary(int code, lp::Dtype self, V a);
  V binary(int code, lp::Dtype self, V x, V y);
  V select(V condition, V x, V y);
  V philox(V seed, V offset, V word);
  V to_index(lp::Dtype dtype, V v);  // int64

  // Accumulation. `narrow`: sums of float32 in float32 instead of float64.
  llvm::Type* sum_type(lp::Update update, lp::Dtype dtype, bool narrow);
  V to_sum(lp::Update update, lp::Dtype dtype, bool narrow, V v);
  V from_sum(lp::Update update, lp::Dtype dtype, V v);
  V rounded(lp::Dtype dtype, V v);  // as memory would hold it
  V neutral(lp::Update update, lp::Dtype dtype, llvm::Type* sum);
  V combined(lp::Update update, lp::Dtype dtype, V old, V v);

  // functions.cpp: of whole vectors.
  V float_function(int code, V a);  // exp, log, tanh, sigmoid, erf, erfc of float32
  V sleef(const char* name, const char* ulp, V a, V y = nullptr);

  V fma(V a, V x, V y);
  V real(llvm::Type* like, double v) { return llvm::ConstantFP::get(like, v); }
  V intrinsic(llvm::Intrinsic::ID id, V a) { return b.CreateUnaryIntrinsic(id, a); }

 private:
  friend class FloatFunctions;
  static bool is_short(lp::Dtype d) { return d == lp::Dtype::kHalf || d == lp::Dtype::kBfloat16; }
  static bool is_unsigned(lp::Dtype d) { return d <= lp::Dtype::kUint8; }
  void match(V& x, V& y);
  llvm::Type* like(V v, llvm::Type* scalar) {  // of v's shape
    return is_vector(v) ? vector_of(scalar) : scalar;
  }
  V whole(llvm::Type* t, uint64_t v) { return llvm::ConstantInt::get(t, v); }
  V half_to_float(V h);
  V float_to_half(V f);
  V bfloat_to_float(V h);
  V float_to_bfloat(V f);
  V real_unary(int code, lp::Dtype self, V a);
  V vector_unary(int code, lp::Dtype self, V a);
  V whole_unary(int code, lp::Dtype self, V a);
  V test(int code, lp::Dtype self, V a);
  V compared(int code, lp::Dtype self, V x, V y);
  V real_binary(int code, lp::Dtype self, V x, V y);
  V whole_binary(int code, lp::Dtype self, V x, V y);
  V is_nan(V a) { return b.CreateFCmpUNO(a, a); }
  V infinity(llvm::Type* t) { return llvm::ConstantFP::getInfinity(t); }
  V half_exp(lp::Dtype self, V a);
  V sinh_or_cosh(bool is_sinh, lp::Dtype self, V a);
  // Lane by lane by a function of helpers.h.
  V by_lanes(const char* function, int code, V x, V y);

  llvm::Module& module_;
  unsigned lanes_;
};

}  // namespace tenon::llvm_loops
