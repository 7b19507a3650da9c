// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "core/dispatch/call_by_name.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

constexpr uint64_t bit(tn_tag t) { return uint64_t{1} << t; }
constexpr uint64_t kNumber =
    bit(TN_TAG_I64) | bit(TN_TAG_F64) | bit(TN_TAG_BOOL) | bit(TN_TAG_COMPLEX);

// Tags whose values hold neither a code nor a pointer to more than a tensor.
constexpr uint64_t kHarmless =
    bit(TN_TAG_NONE) | bit(TN_TAG_I64) | bit(TN_TAG_F64) | bit(TN_TAG_BOOL) | bit(TN_TAG_TENSOR);

// The tags that an argument takes; NONE stands for an absent optional.
uint64_t accepted(ArgType type) {
  switch (type) {
    case ArgType::Tensor:
      return bit(TN_TAG_TENSOR);
    case ArgType::OptTensor:
      return bit(TN_TAG_TENSOR) | bit(TN_TAG_NONE);
    case ArgType::TensorList:
    case ArgType::OptTensorList:
      return bit(TN_TAG_TENSOR_LIST);
    case ArgType::Scalar:
      return kNumber;
    case ArgType::OptScalar:
      return kNumber | bit(TN_TAG_NONE);
    case ArgType::ScalarList:
      return bit(TN_TAG_SCALAR_LIST);
    case ArgType::Int:
      return bit(TN_TAG_I64);
    case ArgType::OptInt:
      return bit(TN_TAG_I64) | bit(TN_TAG_NONE);
    case ArgType::IntList:
      return bit(TN_TAG_I64_LIST);
    case ArgType::OptIntList:
      return bit(TN_TAG_I64_LIST) | bit(TN_TAG_NONE);
    case ArgType::Float:
      return bit(TN_TAG_F64);
    case ArgType::OptFloat:
      return bit(TN_TAG_F64) | bit(TN_TAG_NONE);
    case ArgType::FloatList:
      return bit(TN_TAG_F64_LIST);
    case ArgType::OptFloatList:
      return bit(TN_TAG_F64_LIST) | bit(TN_TAG_NONE);
    case ArgType::Bool:
      return bit(TN_TAG_BOOL);
    case ArgType::OptBool:
      return bit(TN_TAG_BOOL) | bit(TN_TAG_NONE);
    case ArgType::BoolList:
      return bit(TN_TAG_BOOL_LIST);
    case ArgType::Dtype:
      return bit(TN_TAG_DTYPE);
    case ArgType::OptDtype:
      return bit(TN_TAG_DTYPE) | bit(TN_TAG_NONE);
    case ArgType::Layout:
      return bit(TN_TAG_LAYOUT) | bit(TN_TAG_NONE);
    case ArgType::Device:
      return bit(TN_TAG_DEVICE) | bit(TN_TAG_NONE);
    case ArgType::MemoryFormat:
      return bit(TN_TAG_I64) | bit(TN_TAG_NONE);
    case ArgType::Str:
      return bit(TN_TAG_STR);
    case ArgType::OptStr:
      return bit(TN_TAG_STR) | bit(TN_TAG_NONE);
    case ArgType::Generator:
      return bit(TN_TAG_GENERATOR) | bit(TN_TAG_OPAQUE) | bit(TN_TAG_NONE);
  }
  return 0;
}

[[noreturn]] TENON_COLD void refuse(const Op& op, const ArgInfo& arg, const std::string& why) {
  throw TypeError(join(op.name, ": argument '", arg.name, "' ", why));
}

// Codes, which a caller may have made up.
void check_code(const Op& op, const ArgInfo& arg, const tn_value& value) {
  try {
    if (value.tag == TN_TAG_DTYPE) (void)dtype_from_abi(value.u.dtype);
    if (value.tag == TN_TAG_DEVICE) (void)device_from_abi(value.u.device);
  } catch (const Error& error) {
    throw_error(error.code(), join(op.name, ": argument '", arg.name, "': ", error.what()));
  }
  if (value.tag == TN_TAG_LAYOUT) {
    const int slot = layout_slot_from_abi(value.u.i64);
    TENON_CHECK(slot >= 0 && slot < layout_slots(), ValueError, op.name, ": argument '", arg.name,
                "': there is no layout of number ", value.u.i64);
  }
  if (arg.type == ArgType::MemoryFormat && value.tag == TN_TAG_I64) {
    const int64_t last = static_cast<int64_t>(MemoryFormat::ChannelsLast3d);
    TENON_CHECK(value.u.i64 >= 0 && value.u.i64 <= last, ValueError, op.name, ": argument '",
                arg.name, "': there is no memory format ", value.u.i64);
  }
}

// Operators of libtenon compute with real numbers; a kernel of a plugin may know what to do with
// others.
void check_scalar(const Op& op, const ArgInfo& arg, const tn_value& value) {
  TENON_CHECK(value.tag <= TN_TAG_COMPLEX && (kNumber >> value.tag & 1), TypeError, op.name,
              ": argument '", arg.name, "': a list of numbers has an entry with tag ", value.tag);
  if (value.tag != TN_TAG_COMPLEX) return;
  if (!value.u.ptr) refuse(op, arg, "is a null pointer to a complex number");
  if (op.boxed_call.load(std::memory_order_relaxed))
    refuse(op, arg, "cannot take a complex number");
}

// What a pointer must not be. A pointer that is not null is believed.
void check_pointers(const Op& op, const ArgInfo& arg, const tn_value& value) {
  switch (value.tag) {
    case TN_TAG_STR:
      if (value.len != 0 && !value.u.str)
        refuse(op, arg, join("is a null text of length ", value.len));
      return;
    case TN_TAG_GENERATOR:
    case TN_TAG_OPAQUE:
      if (!value.u.ptr) refuse(op, arg, "is a null generator; NONE stands for the default one");
      return;
    case TN_TAG_COMPLEX:
      return check_scalar(op, arg, value);
    case TN_TAG_I64_LIST:
    case TN_TAG_F64_LIST:
    case TN_TAG_BOOL_LIST:
    case TN_TAG_SCALAR_LIST:
    case TN_TAG_TENSOR_LIST:
      if (value.len != 0 && !value.u.ptr)
        refuse(op, arg, join("is a null list of ", value.len, " entries"));
      for (uint32_t k = 0; value.tag == TN_TAG_SCALAR_LIST && k < value.len; ++k)
        check_scalar(op, arg, value.u.values[k]);
      for (uint32_t k = 0; arg.type == ArgType::TensorList && k < value.len; ++k) {
        if (!value.u.tensors[k]) refuse(op, arg, join("has a null tensor at position ", k));
      }
      return;
    default:
      return;
  }
}

// C programs write 1 where a schema says float, and one number where it says int[N]; `repeated`
// keeps N of them. What its entries point to stays where it is when it grows.
tn_value converted(const Op& op, const ArgInfo& arg, const tn_value& given,
                   std::vector<std::vector<int64_t>>& repeated) {
  tn_value value = given;
  bool wants_float = arg.type == ArgType::Float || arg.type == ArgType::OptFloat;
  if (value.tag == TN_TAG_I64 && wants_float) {
    value.tag = TN_TAG_F64;
    value.u.f64 = static_cast<double>(given.u.i64);
  } else if (value.tag == TN_TAG_I64 && arg.fixed > 0 &&
             (arg.type == ArgType::IntList || arg.type == ArgType::OptIntList)) {
    value.tag = TN_TAG_I64_LIST;
    value.len = arg.fixed;
    value.u.i64s = repeated.emplace_back(arg.fixed, given.u.i64).data();
  }
  if (value.tag > TN_TAG_OPAQUE || !(accepted(arg.type) >> value.tag & 1)) {
    refuse(op, arg,
           join("cannot take a value with tag ", value.tag, "; the schema is ", op.schema));
  }
  if (!(kHarmless >> value.tag & 1) || arg.type == ArgType::MemoryFormat) {
    check_pointers(op, arg, value);
    check_code(op, arg, value);
  }
  if (value.tag == TN_TAG_BOOL) value.u.i64 = value.u.i64 != 0;
  if (value.tag == TN_TAG_TENSOR && !value.u.tensor) refuse(op, arg, "is a null tensor");
  if (value.tag == TN_TAG_TENSOR) value.u.tensor = &TensorImpl::from_any_view(value.u.tensor)->view;
  return value;
}

struct Target {
  Op* op;
  Form form;
};

Target find(std::string_view name) {
  if (Op* op = find_op(name)) return {op, Form::Functional};
  std::size_t dot = std::min(name.find('.'), name.size());
  if (dot > 1 && name[dot - 1] == '_') {
    std::string plain = std::string(name.substr(0, dot - 1)) + std::string(name.substr(dot));
    if (Op* op = find_op(plain); op && (op->flags & kOpInplace)) return {op, Form::Inplace};
  }
  return {&get_op(name), Form::Functional};  // throws with the closest names
}

void give(tn_value& to, Impl tensor) {
  to = tn_value{};
  if (!tensor) return;
  to.tag = TN_TAG_TENSOR;
  to.u.tensor = &tensor.leak()->view;
}

void give(tn_value& to, OwnedValue& from) {
  TENON_CHECK(from.tag != TN_TAG_COMPLEX, NotImplementedError,
              "a complex number as a result does not cross the ABI; keep the 0-dim tensor");
  to = from.plain;
  to.tag = from.tag;
  if (from.tag == TN_TAG_TENSOR) give(to, std::move(from.tensor));
  if (from.tag != TN_TAG_TENSOR_LIST) return;
  auto list = std::make_unique<const tn_tensor*[]>(from.tensors.size());
  to.len = static_cast<uint32_t>(from.tensors.size());
  for (uint32_t i = 0; i < to.len; ++i) {
    TensorImpl* tensor = from.tensors[i].leak();
    list[i] = tensor ? &tensor->view : nullptr;
  }
  to.u.tensors = list.release();
}

// In a list, components by the tensors that they are.
void resolve_components(tn_value& value, std::vector<std::vector<const tn_tensor*>>& lists) {
  if (value.tag != TN_TAG_TENSOR_LIST) return;
  const auto is_part = [](const tn_tensor* tensor) {
    return tensor && tensor->flags & TN_TENSOR_COMPONENT;
  };
  if (std::none_of(value.u.tensors, value.u.tensors + value.len, is_part)) return;
  auto& list = lists.emplace_back(value.u.tensors, value.u.tensors + value.len);
  for (const tn_tensor*& tensor : list) {
    if (tensor) tensor = &TensorImpl::from_any_view(tensor)->view;
  }
  value.u.tensors = list.data();
}

template <class Function>
void run_boxed(const Op& op, Function f, const tn_value* in, tn_value* out) {
  auto results = std::make_unique<OwnedValue[]>(op.n_results);
  f(in, results.get());
  for (int i = 0; i < op.n_results; ++i) give(out[i], results[i]);
}

void run_kernel(const Target& target, const tn_value* in, tn_value* out) {
  const Op& op = *target.op;
  TENON_CHECK(
      op.kind != OpKind::Composite, NotImplementedError, op.name,
      ": a function over other ops, which is in libtenon; this process has libtenon_core alone");
  TENON_CHECK(op.n_results <= kMaxOutputs, NotImplementedError, op.name, ": too many results");
  TensorImpl* outs[kMaxOutputs] = {};
  if (target.form == Form::Inplace) outs[0] = TensorImpl::from_view(in[0].u.tensor);
  call(op, in, outs, target.form);
  for (int i = 0; i < op.n_results; ++i) {
    give(out[i], target.form == Form::Inplace ? Impl::share(outs[i]) : Impl::adopt(outs[i]));
  }
}

void call_found(Caller caller, const Target& target, const tn_value* in, uint32_t n_in,
                tn_value* out, uint32_t n_out) {
  const Op& op = *target.op;
  TENON_CHECK(n_in <= op.n_args, TypeError, op.name, ": takes ", int{op.n_args}, " arguments, got ",
              n_in, "; the schema is ", op.schema);
  TENON_CHECK(n_out >= op.n_results, ValueError, op.name, ": has ", int{op.n_results},
              " results, room was given for ", n_out);
  tn_value full[kMaxArgs];
  std::vector<std::vector<const tn_tensor*>> lists;
  std::vector<std::vector<int64_t>> repeated;
  for (uint32_t i = 0; i < op.n_args; ++i) {
    const ArgInfo& arg = op.args[i];
    TENON_CHECK(i < n_in || arg.has_default, TypeError, op.name, ": argument '", arg.name,
                "' is missing; the schema is ", op.schema);
    full[i] = i < n_in ? converted(op, arg, in[i], repeated) : arg.value;
    resolve_components(full[i], lists);
  }
  if (const RegisteredCall recorded = g_registered_call.load();
      recorded && caller == Caller::Program && target.form == Form::Functional && registered(op)) {
    return run_boxed(
        op, [&](const tn_value* args, OwnedValue* results) { recorded(op, args, results); }, full,
        out);
  }
  BoxedFn row = target.form == Form::Inplace ? op.boxed_inplace.load() : op.boxed_call.load();
  if (row && (caller == Caller::Program || op.kind == OpKind::Composite)) {
    run_boxed(op, row, full, out);
  } else {
    run_kernel(target, full, out);
  }
}

}  // namespace

void call_by_name(Caller caller, std::string_view name, const tn_value* in, uint32_t n_in,
                  tn_value* out, uint32_t n_out) {
  std::fill_n(out, n_out, tn_value{});
  const Target target = find(name);
  try {
    call_found(caller, target, in, n_in, out, n_out);
  } catch (...) {
    rethrow_called(target.op->name);
  }
}

void release_value(tn_value& value) noexcept {
  if (value.tag == TN_TAG_TENSOR) Impl::adopt(TensorImpl::from_view(value.u.tensor)).reset();
  if (value.tag == TN_TAG_TENSOR_LIST) {
    for (uint32_t i = 0; i < value.len; ++i) {
      if (value.u.tensors[i]) Impl::adopt(TensorImpl::from_view(value.u.tensors[i])).reset();
    }
    delete[] value.u.tensors;
  }
  value = tn_value{};
}

}  // namespace tenon::core
