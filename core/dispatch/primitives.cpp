// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/primitives.h"

#include "core/dispatch/known_ops.h"
#include "tenon/abi/primitives.h"
#include "tenon/core/dispatch.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

const Op& primitive(ByCode kind) {
  return kind == ByCode::Unary ? known::prim_unary() : known::prim_binary();
}

const std::vector<const Op*>& primitives() {
  static const std::vector<const Op*>* list = [] {
    auto* found = new std::vector<const Op*>;
    for (int i = 0; i < op_count(); ++i) {
      if (op_at(i).flags & kOpPrimitive) found->push_back(&op_at(i));
    }
    return found;
  }();
  return *list;
}

Impl number_there(CallFrame& frame, const tn_value& value) {
  Impl tensor = new_tensor(frame.op().name, frame.dtype, frame.device, 0, nullptr);
  tn_value in[2] = {};
  in[0].tag = TN_TAG_TENSOR;
  in[0].u.tensor = &tensor->view;
  in[1] = value;
  TensorImpl* outs[] = {tensor.get()};
  call(known::fill(), in, outs, Form::Inplace);
  return tensor;
}

// A tensor or a number as a tensor of the call's dtype.
Impl operand(CallFrame& frame, int i) {
  const tn_value& value = frame.in[i];
  if (value.tag != TN_TAG_TENSOR) return number_there(frame, value);
  TensorImpl& tensor = *TensorImpl::from_view(value.u.tensor);
  if (tensor.dtype == frame.dtype) return Impl::share(&tensor);
  Impl cast =
      new_tensor(frame.op().name, frame.dtype, frame.device, tensor.ndim(), tensor.view.sizes);
  copy(*cast, tensor);
  return cast;
}

Impl call_code(const Op& op, std::initializer_list<TensorImpl*> operands, int code,
               TensorImpl* out) {
  tn_value in[3] = {};
  int n = 0;
  for (TensorImpl* tensor : operands) {
    in[n].tag = TN_TAG_TENSOR;
    in[n++].u.tensor = &tensor->view;
  }
  in[n].tag = TN_TAG_I64;
  in[n].u.i64 = code;
  TensorImpl* outs[] = {out};
  call(op, in, outs, out ? Form::Out : Form::Functional);
  return out ? Impl() : Impl::adopt(outs[0]);
}

bool is_one(const tn_value& value) {
  return value.tag == TN_TAG_F64 ? value.u.f64 == 1 : value.u.i64 == 1;
}

}  // namespace

BoxedFn decomposition_of(const Op& op, ScalarType dtype) {
  if (!isComplexType(dtype)) return op.decomposition.load(std::memory_order_acquire);
  const BoxedFn own = op.complex_decomposition.load(std::memory_order_acquire);
  // One over views and copies serves any dtype.
  if (own != nullptr || (op.flags & kOpOnPrimitives)) return own;
  return op.decomposition.load(std::memory_order_acquire);
}

bool can_decompose(const Op& op, DeviceSlot slot, ScalarType dtype, std::string* why) {
  const auto no = [&](std::string text) {
    if (why) *why = std::move(text);
    return false;
  };
  if (isComplexType(dtype)) {
    if (decomposition_of(op, dtype) != nullptr) return true;
    return no("none is registered for complex numbers");
  }
  if (!op.decomposition.load(std::memory_order_acquire) && op.by_code == ByCode::None)
    return no("none is registered");
  // On the host a primitive is the operators that it stands for, and those are the primitive
  // elsewhere.
  if ((op.flags & kOpPrimitive) && !is_host_slot(slot))
    return no("a primitive is what others decompose into");
  if (!(op.flags & kOpOnPrimitives)) return true;
  if (op.by_code != ByCode::None) {
    const Op& p = primitive(op.by_code);
    return find_kernel(p, slot, 0, dtype)
               ? true
               : no(join("needs ", p.name, ", for which there is no kernel"));
  }
  for (const Op* p : primitives()) {
    if (!cell(*p, slot, 0).load(std::memory_order_acquire)) {
      return no(join("needs all primitives, and there is no kernel for ", p->name));
    }
  }
  // Else every step of it would go through the host.
  const Op& binary = primitive(ByCode::Binary);
  return find_kernel(binary, slot, 0, dtype)
             ? true
             : no(join(binary.name, " has no kernel for ", dtype_name(dtype)));
}

const KernelEntry* writing_kernel(const Op& op, DeviceSlot slot, ScalarType dtype) {
  return op.by_code == ByCode::None ? nullptr : find_kernel(primitive(op.by_code), slot, 0, dtype);
}

void call_by_code(CallFrame& frame) {
  const Op &op = frame.op(), &p = primitive(op.by_code);
  const Impl a = operand(frame, 0);
  if (op.by_code == ByCode::Unary) {
    call_code(p, {a.get()}, op.code, frame.targets[0]);
    return;
  }
  Impl b = operand(frame, 1);
  if (op.n_args > 2 && !is_one(frame.in[2])) {  // alpha
    const Impl factor = number_there(frame, frame.in[2]);
    b = call_code(p, {b.get(), factor.get()}, TN_BINARY_MUL, nullptr);
  }
  call_code(p, {a.get(), b.get()}, op.code, frame.targets[0]);
}

}  // namespace tenon::core
