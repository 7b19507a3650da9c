// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiler/body.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "tenon/abi/base.h"
#include "tenon/sdk/loop_program/c_values.h"

namespace tenon::llvm_loops {

using lp::Dtype;
using lp::Kind;
using V = Body::V;

namespace {
std::size_t at(int i) { return static_cast<std::size_t>(i); }
}  // namespace

Body::Body(const Spec& spec, int lanes, llvm::Module& module, llvm::IRBuilder<>& builder)
    : spec_(spec),
      layout_(spec),
      module_(module),
      b_(builder),
      o_(builder, module, lanes),
      indices_(spec.loops.size(), nullptr) {}

V Body::begin() {
  llvm::Type *l = b_.getInt64Ty(), *bytes = b_.getInt8PtrTy();
  auto* type = llvm::FunctionType::get(
      b_.getVoidTy(),
      {l->getPointerTo(), b_.getDoubleTy()->getPointerTo(), bytes->getPointerTo(), bytes, l, l},
      false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kKernelName, module_);
  function_->setDoesNotThrow();
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
  const auto from = [&](llvm::Type* t, unsigned argument_index, int i) {
    V p = b_.CreateConstGEP1_64(t, argument(argument_index), static_cast<uint64_t>(i));
    return b_.CreateLoad(t, p);
  };
  for (int i = 0; i < layout_.count; ++i) numbers_.push_back(from(l, 0, i));
  for (int i = 0; i < static_cast<int>(spec_.program->parameters.size()); ++i)
    reals_.push_back(from(b_.getDoubleTy(), 1, i));
  for (int i = 0; i < static_cast<int>(spec_.program->arrays.size()); ++i) {
    llvm::Type* t = o_.memory_type(spec_.program->arrays[at(i)].dtype);
    arrays_.push_back(b_.CreateBitCast(from(bytes, 2, i), t->getPointerTo()));
  }
  find_dependencies();
  return argument(4);
}

int Body::access_of_node(int node) const {
  for (int i = 0; i < layout_.accesses; ++i)
    if (access(i).node == node) return i;
  throw NotCompiled("a read that was not planned");
}

int Body::access_of_store(int store) const {
  for (int i = 0; i < layout_.accesses; ++i)
    if (access(i).store == store) return i;
  throw NotCompiled("a store that was not planned");
}

// A node that is needed has its reads among the accesses, or is the result of a reduction; of the
// others nothing is asked.
void Body::find_dependencies() {
  const std::vector<lp::Node>& nodes = spec_.body().nodes;
  depends_.assign(nodes.size(), 0);
  for (const Access& it : spec_.accesses)
    for (std::size_t l = 0; it.node >= 0 && l < it.classes.size(); ++l)
      if (it.classes[l] != kNoStep) depends_[at(it.node)] |= 1u << l;
  for (const auto& it : spec_.results)
    for (std::size_t l = 0; l < spec_.loops.size(); ++l)
      if (spec_.loops[l].named) depends_[at(it.first)] |= 1u << l;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == Kind::kLoop)
      for (std::size_t l = 0; l < spec_.loops.size(); ++l)
        if (spec_.loops[l].original == nodes[i].source) depends_[i] |= 1u << l;
    for (const int o : nodes[i].operands)
      if (o >= 0) depends_[i] |= depends_[at(o)];
    for (const lp::Index& it : nodes[i].indices)
      if (it.bound != lp::Bound::kProven) depends_[i] |= depends_[at(it.node)];
  }
}

void Body::enter(V left, int partial) {
  made_.clear();
  partial_ = partial;
  if (left == left_) return;
  left_ = left;
  mask_ = left ? b_.CreateICmpSLT(steps(), o_.splat(left)) : nullptr;
}

V Body::steps() {
  llvm::SmallVector<llvm::Constant*, 16> list;
  for (unsigned i = 0; i < o_.lanes(); ++i) list.push_back(b_.getInt64(i));
  return llvm::ConstantVector::get(list);
}

V Body::current(int loop, const Point& p) {
  int64_t more = loop == spec_.tile_loop[0]   ? p.first
                 : loop == spec_.tile_loop[1] ? p.second
                 : loop == spec_.vector_loop  ? int64_t{p.vector} * lanes()
                 : is_ahead(loop)             ? ahead_
                                              : 0;
  return more == 0 ? index(loop)
                   : b_.CreateAdd(index(loop), b_.getInt64(static_cast<uint64_t>(more)));
}

std::tuple<int, int, int, int> Body::key_of(int node, const Point& p) const {
  const uint32_t mask = depends_[at(node)];
  const auto on = [&](int loop, int v) { return loop >= 0 && (mask >> loop & 1) ? v : 0; };
  return {node, on(spec_.tile_loop[0], p.first), on(spec_.tile_loop[1], p.second),
          on(spec_.vector_loop, p.vector)};
}

void Body::provide(int node, const Point& p, V v) { made_[key_of(node, p)] = v; }

V Body::value(int node, const Point& p) {
  const auto key = key_of(node, p);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  V v = make(node, {std::get<1>(key), std::get<2>(key), std::get<3>(key)});
  made_[key] = v;
  return v;
}

V Body::loop_value(int loop, const Point& p) {
  for (int l = 0; l < layout_.loops; ++l) {
    if (spec_.loops[at(l)].original != loop) continue;
    V v = current(l, p);
    return l == spec_.vector_loop ? b_.CreateAdd(o_.splat(v), steps()) : v;
  }
  return b_.getInt64(0);  // a loop of one point
}

V Body::make(int i, const Point& p) {
  const AtPoint at_point(*this, p);
  const lp::Node& node = spec_.body().nodes[at(i)];
  const auto operand = [&](int k) { return value(node.operands[k], p); };
  const auto dtype_of = [&](int k) { return spec_.body().nodes[at(node.operands[k])].dtype; };
  switch (node.kind) {
    case Kind::kConstant:
      return o_.constant(node);
    case Kind::kParameter:
      return node.dtype == Dtype::kInt64 ? number(layout_.parameters + node.source)
                                         : reals_[at(node.source)];
    case Kind::kLoop:
      return loop_value(node.source, p);
    case Kind::kSize:
      return number(layout_.sizes + node.source);
    case Kind::kRead:
      return read(i, p);
    case Kind::kCast:
      return o_.cast(node.dtype, dtype_of(0), operand(0));
    case Kind::kUnary:
      return o_.unary(node.code, dtype_of(0), operand(0));
    case Kind::kBinary: {
      V x = operand(0), y = operand(1);
      guard(i, x, y);
      return o_.binary(node.code, dtype_of(0), x, y);
    }
    case Kind::kSelect:
      return o_.select(operand(0), operand(1), operand(2));
    case Kind::kPhilox: {
      V seed = operand(0), offset = operand(1), word = operand(2);
      const bool scalar =
          !Values::is_vector(seed) && !Values::is_vector(offset) && !Values::is_vector(word);
      V v = o_.philox(seed, offset, word);
      return scalar ? b_.CreateExtractElement(v, uint64_t{0}) : v;
    }
  }
  throw NotCompiled("a node of no kind");
}

// Errors in the data of integers: reported, and computed as 0 or by the low bits.
void Body::guard(int i, V x, V y) {
  const lp::Node& node = spec_.body().nodes[at(i)];
  const Dtype self = spec_.body().nodes[at(node.operands[0])].dtype;
  const bool divides = lp::CValues::divides(node, self), shifts = lp::CValues::shifts(node);
  if (!divides && !shifts) return;
  V wide = o_.to_index(self, y);
  llvm::Type* l = wide->getType();
  const auto whole = [&](int64_t v) { return llvm::ConstantInt::getSigned(l, v); };
  if (divides)
    return report(b_.CreateICmpEQ(wide, whole(0)), TN_ERROR, i, 0, o_.to_index(self, x),
                  b_.getInt64(uint64_t(-1)));
  const int64_t bits = lp::itemsize(self) * 8;
  report(b_.CreateICmpUGE(wide, whole(bits)), TN_ERROR_VALUE, i, 0, wide,
         b_.getInt64(static_cast<uint64_t>(bits)));
}

void Body::report(V bad, int code, int node, int dim, V index, V limit) {
  V any = bad;
  if (Values::is_vector(bad) || in_force_) {
    bad = o_.splat(bad);
    if (in_force_) bad = b_.CreateAnd(bad, in_force_);
    any = b_.CreateOrReduce(bad);
  }
  auto* failed = llvm::BasicBlock::Create(b_.getContext(), "failed", function_);
  auto* good = llvm::BasicBlock::Create(b_.getContext(), "good", function_);
  b_.CreateCondBr(any, failed, good,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1 << 20));
  b_.SetInsertPoint(failed);
  if (Values::is_vector(index)) {
    llvm::Type* i = b_.getIntNTy(o_.lanes());
    V first = Values::is_vector(bad) ? b_.CreateIntrinsic(llvm::Intrinsic::cttz, {i},
                                                          {b_.CreateBitCast(bad, i), b_.getFalse()})
                                     : V(llvm::ConstantInt::get(i, 0));
    index = b_.CreateExtractElement(index, b_.CreateZExt(first, b_.getInt64Ty()));
  }
  llvm::Type *w = b_.getInt32Ty(), *l = b_.getInt64Ty();
  auto fail =
      module_.getOrInsertFunction("tn_fail", b_.getVoidTy(), b_.getInt8PtrTy(), w, w, w, l, l);
  b_.CreateCall(fail, {argument(3), b_.getInt32(static_cast<uint32_t>(code)),
                       b_.getInt32(static_cast<uint32_t>(node)),
                       b_.getInt32(static_cast<uint32_t>(dim)), index, limit});
  b_.CreateBr(good);
  b_.SetInsertPoint(good);
}

// Of the affine indices, but for the vector loop's lanes. What is known is added last, so that it
// goes into the address.
V Body::offset(int i, const Point& p) {
  V sum = number(layout_.offset(i));
  int64_t known = 0;
  for (int l = 0; l < layout_.loops; ++l) {
    const uint8_t kind = access(i).classes[at(l)];
    if (kind == kNoStep) continue;
    if (kind == kAny) {
      V step = number(layout_.step(i, l));
      if (is_ahead(l)) sum = b_.CreateAdd(sum, b_.CreateMul(b_.getInt64(uint64_t(ahead_)), step));
      sum = b_.CreateAdd(sum, b_.CreateMul(is_ahead(l) ? index(l) : current(l, p), step));
      continue;
    }
    const int64_t step = kind == kWidth ? spec_.width(lanes()) : 1;
    if (is_ahead(l)) known += ahead_ * step;
    V where = index(l);
    sum = b_.CreateAdd(
        sum, step == 1 ? where : b_.CreateMul(where, b_.getInt64(static_cast<uint64_t>(step))));
  }
  return known == 0 ? sum : b_.CreateAdd(sum, b_.getInt64(static_cast<uint64_t>(known)));
}

Body::Place Body::place(int i, const Point& p) {
  Place it;
  const int array = access(i).node >= 0 ? spec_.body().nodes[at(access(i).node)].source
                                        : spec_.body().stores[at(access(i).store)].array;
  V base = offset(i, p);
  if (access(i).node >= 0) add_indices(base, i, p);
  const uint8_t kind = access(i).classes[at(spec_.vector_loop)];
  llvm::Type* t = o_.memory_type(spec_.program->arrays[at(array)].dtype);
  if (kind == kAny || Values::is_vector(base)) {
    it.offsets = o_.splat(base);
    if (kind != kNoStep) {
      V step = kind == kUnit ? b_.getInt64(1) : number(layout_.step(i, spec_.vector_loop));
      it.offsets = b_.CreateAdd(it.offsets, b_.CreateMul(o_.splat(step), steps()));
      if (kind == kUnit && p.vector)
        it.offsets = b_.CreateAdd(it.offsets,
                                  o_.splat(b_.getInt64(static_cast<uint64_t>(p.vector * lanes()))));
    }
    it.pointer = arrays_[at(array)];
    return it;
  }
  it.pointer = b_.CreateGEP(t, arrays_[at(array)], base);
  if (kind == kUnit && p.vector)
    it.pointer = b_.CreateConstGEP1_64(t, it.pointer, static_cast<uint64_t>(p.vector * lanes()));
  return it;
}

void Body::add_indices(V& base, int i, const Point& p) {
  const lp::Node& node = spec_.body().nodes[at(access(i).node)];
  int next = layout_.dims[at(i)];
  for (std::size_t d = 0; d < node.indices.size(); ++d) {
    const lp::Index& it = node.indices[d];
    if (it.bound == lp::Bound::kProven) continue;
    V size = number(next), stride = number(next + 1);
    next += 2;
    V v = o_.to_index(spec_.body().nodes[at(it.node)].dtype, value(it.node, p));
    const bool vector = Values::is_vector(v);
    V n = vector ? o_.splat(size) : size, zero = llvm::Constant::getNullValue(v->getType());
    V low = b_.CreateICmpSLT(v, zero), high = b_.CreateICmpSGE(v, n);
    if (it.bound == lp::Bound::kClamped) {
      V one = llvm::ConstantInt::get(v->getType(), 1);
      v = b_.CreateSelect(low, zero, b_.CreateSelect(high, b_.CreateSub(n, one), v));
    } else {
      V bad = b_.CreateOr(low, high);
      report(bad, TN_ERROR_INDEX, access(i).node, static_cast<int>(d), v, size);
      v = b_.CreateSelect(bad, zero, v);  // the first element is there: no dimension is empty
    }
    if (vector != Values::is_vector(base)) {
      base = o_.splat(base);
      v = o_.splat(v);
    }
    V by = Values::is_vector(v) ? o_.splat(stride) : stride;
    base = b_.CreateAdd(base, b_.CreateMul(v, by));
  }
}

V Body::load(llvm::Type* t, const Place& it, bool is_constant) {
  const llvm::Align align(t->getPrimitiveSizeInBits() / 8);
  if (it.offsets) {
    V pointers = b_.CreateGEP(t, it.pointer, it.offsets);
    return b_.CreateMaskedGather(o_.vector_of(t), pointers, align,
                                 in_force_ ? in_force_ : full_mask(),
                                 llvm::Constant::getNullValue(o_.vector_of(t)));
  }
  llvm::Type* to = o_.vector_of(t);
  V p = b_.CreateBitCast(it.pointer, to->getPointerTo());
  if (in_force_)
    return b_.CreateMaskedLoad(to, p, align, in_force_, llvm::Constant::getNullValue(to));
  llvm::LoadInst* v = b_.CreateAlignedLoad(to, p, align);
  if (is_constant)
    v->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return v;
}

V Body::read(int node, const Point& p) {
  const int i = access_of_node(node);
  const Dtype dtype = spec_.body().nodes[at(node)].dtype;
  llvm::Type* t = o_.memory_type(dtype);
  const Place it = place(i, p);
  if (!it.offsets && access(i).classes[at(spec_.vector_loop)] == kNoStep) {
    llvm::LoadInst* v =
        b_.CreateAlignedLoad(t, it.pointer, llvm::Align(t->getPrimitiveSizeInBits() / 8));
    v->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return o_.from_memory(dtype, v);
  }
  return o_.from_memory(dtype, load(t, it, true));
}

V Body::get(int store, const Point& p) {
  const AtPoint at_point(*this, p);
  const lp::Store& s = spec_.body().stores[at(store)];
  const Dtype dtype = spec_.program->arrays[at(s.array)].dtype;
  llvm::Type* t = o_.memory_type(dtype);
  const Place it = place(access_of_store(store), p);
  V v = spec_.is_across()
            ? load(t, it, false)
            : b_.CreateAlignedLoad(t, it.pointer, llvm::Align(t->getPrimitiveSizeInBits() / 8));
  return o_.from_memory(dtype, v);
}

void Body::put(int store, const Point& p, V v) {
  const AtPoint at_point(*this, p);
  const lp::Store& s = spec_.body().stores[at(store)];
  const Dtype dtype = spec_.program->arrays[at(s.array)].dtype;
  llvm::Type* t = o_.memory_type(dtype);
  const llvm::Align align(t->getPrimitiveSizeInBits() / 8);
  const Place it = place(access_of_store(store), p);
  if (!spec_.is_across()) {
    b_.CreateAlignedStore(o_.to_memory(dtype, v), it.pointer, align);
    return;
  }
  v = o_.splat(o_.to_memory(dtype, v));
  if (it.offsets) {
    V pointers = b_.CreateGEP(t, it.pointer, it.offsets);
    b_.CreateMaskedScatter(v, pointers, align, in_force_ ? in_force_ : full_mask());
    return;
  }
  V to = b_.CreateBitCast(it.pointer, v->getType()->getPointerTo());
  if (in_force_)
    b_.CreateMaskedStore(v, to, align, in_force_);
  else
    b_.CreateAlignedStore(v, to, align);
}

}  // namespace tenon::llvm_loops
