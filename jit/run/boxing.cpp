// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/run/boxing.h"

#include <array>

#include "tenon/core/layout.h"
#include "tenon/core/scalar.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

using core::ArgType;

tn_value value_of(tn_tag tag, int64_t v = 0, uint32_t len = 0) {
  tn_value r;
  r.tag = tag;
  r.len = len;
  r.u.i64 = v;
  return r;
}
tn_value pointer_value(tn_tag tag, const void* p, std::size_t len) {
  tn_value r;
  r.tag = tag;
  r.len = static_cast<uint32_t>(len);
  r.u.ptr = const_cast<void*>(p);
  return r;
}
tn_value real_value(double v) {
  tn_value r = value_of(TN_TAG_F64);
  r.u.f64 = v;
  return r;
}

struct Context {
  const core::Op& op;
  const core::ArgInfo& arg;
  ListMemory& memory;

  [[noreturn]] void refuse(const char* expected, const IValue& v) const {
    throw TypeError(core::join(op.name, ": argument '", arg.name, "' must be ", expected, ", not ",
                               v.tagKind()));
  }
};

tn_value tensor_value(const Context& c, const IValue& v, bool optional) {
  if (v.isTensor()) {
    const core::TensorImpl* t = v.toTensor().unsafeGetTensorImpl();
    if (t) return pointer_value(TN_TAG_TENSOR, &t->view, 0);
    if (optional) return value_of(TN_TAG_NONE);
    throw TypeError(core::join(c.op.name, ": argument '", c.arg.name, "' is an undefined tensor"));
  }
  if (optional && v.isNone()) return value_of(TN_TAG_NONE);
  c.refuse("a Tensor", v);
}

tn_value tensor_list(const Context& c, const IValue& v, bool optional_items) {
  if (!v.isList()) c.refuse("a list of tensors", v);
  const auto& items = v.toListRef().items;
  const tn_tensor** to = c.memory.tensors(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const tn_value t = tensor_value(c, items[i], optional_items);
    to[i] = t.tag == TN_TAG_NONE ? nullptr : t.u.tensor;
  }
  return pointer_value(TN_TAG_TENSOR_LIST, to, items.size());
}

tn_value scalar_value(const Context& c, const IValue& v) {
  if (v.isInt()) return value_of(TN_TAG_I64, v.toInt());
  if (v.isDouble()) return real_value(v.toDouble());
  if (v.isBool()) return value_of(TN_TAG_BOOL, v.toBool());
  if (v.isTensor()) return tensor_value(c, v, false);  // of no dimensions
  if (v.isComplexDouble()) {
    double* parts = c.memory.doubles(2);
    parts[0] = v.toComplexDouble().real();
    parts[1] = v.toComplexDouble().imag();
    return pointer_value(TN_TAG_COMPLEX, parts, 0);
  }
  c.refuse("a number", v);
}

tn_value scalar_list(const Context& c, const IValue& v) {
  if (!v.isList()) c.refuse("a list of numbers", v);
  const auto& items = v.toListRef().items;
  tn_value* to = c.memory.values(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    to[i] = scalar_value(c, items[i].isTensor() ? IValue(items[i].toTensor().item()) : items[i]);
  }
  return pointer_value(TN_TAG_SCALAR_LIST, to, items.size());
}

int64_t integer_of(const Context& c, const IValue& v) {
  if (v.isInt()) return v.toInt();
  if (v.isBool()) return v.toBool();
  if (v.isTensor() && v.toTensor().dim() == 0) return v.toTensor().item().to<int64_t>();
  c.refuse("an int", v);
}
double real_of(const Context& c, const IValue& v) {
  if (v.isDouble()) return v.toDouble();
  if (v.isInt()) return static_cast<double>(v.toInt());
  if (v.isBool()) return v.toBool();
  if (v.isTensor() && v.toTensor().dim() == 0) return v.toTensor().item().to<double>();
  c.refuse("a float", v);
}

tn_value integer_list(const Context& c, const IValue& v) {
  if (v.isInt()) return value_of(TN_TAG_I64, v.toInt());  // int[N]: one for all
  if (!v.isList()) c.refuse("a list of ints", v);
  const auto& items = v.toListRef().items;
  int64_t* to = c.memory.integers(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) to[i] = integer_of(c, items[i]);
  return pointer_value(TN_TAG_I64_LIST, to, items.size());
}

tn_value real_list(const Context& c, const IValue& v) {
  if (!v.isList()) c.refuse("a list of floats", v);
  const auto& items = v.toListRef().items;
  double* to = c.memory.doubles(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) to[i] = real_of(c, items[i]);
  return pointer_value(TN_TAG_F64_LIST, to, items.size());
}

tn_value bool_list(const Context& c, const IValue& v) {
  if (!v.isList()) c.refuse("a list of bools", v);
  const auto& items = v.toListRef().items;
  uint8_t* to = c.memory.bools(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].isBool()) c.refuse("a list of bools", items[i]);
    to[i] = items[i].toBool();
  }
  return pointer_value(TN_TAG_BOOL_LIST, to, items.size());
}

tn_value dtype_value(const Context& c, const IValue& v) {
  if (!v.isInt()) c.refuse("a dtype", v);
  const auto t = static_cast<ScalarType>(v.toInt());
  TENON_CHECK(v.toInt() >= 0 && v.toInt() < core::kMaxDtypes && core::dtype_known(t),
              NotImplementedError, c.op.name, ": argument '", c.arg.name, "': dtype ", v.toInt(),
              " of torch is not supported");
  tn_value r = value_of(TN_TAG_DTYPE);
  r.u.dtype = core::abi_dtype(t);
  return r;
}

// torch's numbers: 0 strided, 1 sparse (COO).
tn_value layout_value(const Context& c, const IValue& v) {
  if (!v.isInt()) c.refuse("a layout", v);
  TENON_CHECK(v.toInt() == 0 || v.toInt() == 1, NotImplementedError, c.op.name, ": argument '",
              c.arg.name, "': layout ", v.toInt(), " of torch is not supported");
  const int slot = v.toInt() == 0 ? 0 : core::usable_layout("sparse");
  return value_of(TN_TAG_LAYOUT, core::abi_layout(slot));
}

tn_value device_value(const Context& c, const IValue& v) {
  const Device d = v.isDevice()   ? v.toDevice()
                   : v.isString() ? Device(v.toStringRef())
                                  : (c.refuse("a device", v), Device());
  tn_value r = value_of(TN_TAG_DEVICE);
  r.u.device = core::abi_device(core::resolve(d));
  return r;
}

tn_value text_value(const Context& c, const IValue& v) {
  if (!v.isString()) c.refuse("a str", v);
  return pointer_value(TN_TAG_STR, v.toStringRef().data(), v.toStringRef().size());
}

tn_value generator_value(const Context& c, const IValue& v) {
  if (!v.isGenerator()) c.refuse("a Generator", v);
  return pointer_value(TN_TAG_OPAQUE, v.toGenerator().unsafeGetGeneratorImpl(), 0);
}

tn_value plain_value(const Context& c, const IValue& v) {
  switch (c.arg.type) {
    case ArgType::Tensor:
      return tensor_value(c, v, false);
    case ArgType::TensorList:
      return tensor_list(c, v, false);
    case ArgType::OptTensorList:
      return tensor_list(c, v, true);
    case ArgType::Scalar:
    case ArgType::OptScalar:
      return scalar_value(c, v);
    case ArgType::ScalarList:
      return scalar_list(c, v);
    case ArgType::Int:
    case ArgType::OptInt:
    case ArgType::MemoryFormat:
      return value_of(TN_TAG_I64, integer_of(c, v));
    case ArgType::IntList:
    case ArgType::OptIntList:
      return integer_list(c, v);
    case ArgType::Float:
    case ArgType::OptFloat:
      return real_value(real_of(c, v));
    case ArgType::FloatList:
    case ArgType::OptFloatList:
      return real_list(c, v);
    case ArgType::Bool:
    case ArgType::OptBool:
      if (!v.isBool()) c.refuse("a bool", v);
      return value_of(TN_TAG_BOOL, v.toBool());
    case ArgType::BoolList:
      return bool_list(c, v);
    case ArgType::Dtype:
    case ArgType::OptDtype:
      return dtype_value(c, v);
    case ArgType::Layout:
      return layout_value(c, v);
    case ArgType::Device:
      return device_value(c, v);
    case ArgType::Str:
    case ArgType::OptStr:
      return text_value(c, v);
    case ArgType::Generator:
      return generator_value(c, v);
    case ArgType::OptTensor:
      return tensor_value(c, v, true);
  }
  c.refuse("a known type", v);
}

bool takes_none(ArgType t) {
  static constexpr bool kOptional[] = {
#define TENON_ARG_TYPE(Enum, base, list, optional, optional_items) optional,
#include "tenon/core/arg_types.def"
#undef TENON_ARG_TYPE
  };
  return kOptional[static_cast<std::size_t>(t)];
}

void call(const core::Op& op, Operator::Form form, const tn_value* in, core::OwnedValue* made) {
  const core::RegisteredCall recorded = core::g_registered_call.load();
  if (recorded && core::registered(op)) return recorded(op, in, made);
  const core::BoxedFn f = (form == Operator::Form::Inplace ? op.boxed_inplace : op.boxed_call)
                              .load(std::memory_order_relaxed);
  TENON_CHECK(f, NotImplementedError, op.name, ": has no function to call");
  f(in, made);
}

}  // namespace

IValue to_result(core::OwnedValue& v, core::ArgType type) {
  switch (v.tag) {
    case TN_TAG_TENSOR:
      return Tensor(std::move(v.tensor));
    case TN_TAG_TENSOR_LIST: {
      std::vector<Tensor> list;
      list.reserve(v.tensors.size());
      for (core::Impl& t : v.tensors) list.emplace_back(std::move(t));
      return list;
    }
    case TN_TAG_I64:
      return v.plain.u.i64;
    case TN_TAG_F64:
      return v.plain.u.f64;
    case TN_TAG_BOOL:
      return v.plain.u.i64 != 0;
    case TN_TAG_COMPLEX:
      return std::complex<double>(v.plain.u.f64, v.imaginary);
    case TN_TAG_DTYPE:
      return core::dtype_from_abi(v.plain.u.dtype);
    case TN_TAG_DEVICE:
      return core::device_from_abi(v.plain.u.device);
    default:
      return type == core::ArgType::Tensor ? IValue(Tensor()) : IValue();
  }
}

tn_value to_argument(const core::Op& op, int at, const IValue& v, ListMemory& memory) {
  const core::ArgInfo& arg = op.args[at];
  if (v.isNone() && takes_none(arg.type)) return value_of(TN_TAG_NONE);
  return plain_value(Context{op, arg, memory}, v);
}

void call_boxed(const core::Op& op, Operator::Form form, const tn_value* in, const core::Impl* outs,
                IValue* results) {
  if (form == Operator::Form::Out) {
    op.boxed_out.load(std::memory_order_relaxed)(in, outs);
    for (int i = 0; i < op.n_results; ++i) results[i] = Tensor(outs[i]);
    return;
  }
  const int n = form == Operator::Form::Inplace ? 1 : op.n_results;
  if (n == 1) {
    core::OwnedValue made;
    call(op, form, in, &made);
    results[0] = to_result(made, op.results[0].type);
    return;
  }
  std::array<core::OwnedValue, core::kMaxOutputs> made;
  call(op, form, in, made.data());
  for (int i = 0; i < n; ++i) results[i] = to_result(made[i], op.results[i].type);
}

void call_on_stack(const Operator& op, Stack& stack) {
  const core::Op& target = *op.op;
  const std::size_t n = op.schema.arguments.size();
  ListMemory memory;
  tn_value in[core::kMaxArgs];
  for (int i = 0; i < target.n_args; ++i)
    in[i] = to_argument(target, i, peek(stack, static_cast<std::size_t>(i), n), memory);
  std::array<core::Impl, core::kMaxOutputs> outs;
  for (std::size_t i = target.n_args; i < n; ++i)
    outs[i - target.n_args] = core::Impl::share(peek(stack, i, n).toTensor().unsafeGetTensorImpl());
  std::array<IValue, core::kMaxOutputs> results;
  call_boxed(target, op.form, in, outs.data(), results.data());
  drop(stack, n);
  for (std::size_t i = 0; i < op.schema.returns.size(); ++i) stack.push_back(std::move(results[i]));
}

}  // namespace tenon::jit
