// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// libtorch behind baseline.h: arguments by name, through the boxed call of its dispatcher.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../baseline.h"

namespace {

using c10::IValue;
using c10::TypeKind;

struct NoCounterpart {};

at::ScalarType dtype_of(tn_dtype t) {
  const int bits = t.bits;
  switch (t.code) {
    case TN_INT:
      return bits == 8 ? at::kChar : bits == 16 ? at::kShort : bits == 32 ? at::kInt : at::kLong;
    case TN_UINT:
      if (bits == 8) return at::kByte;
      break;
    case TN_FLOAT:
      return bits == 16 ? at::kHalf : bits == 32 ? at::kFloat : at::kDouble;
    case TN_BFLOAT:
      return at::kBFloat16;
    case TN_BOOL:
      return at::kBool;
    default:
      break;
  }
  throw NoCounterpart();
}

tn_dtype dtype_of(at::ScalarType t) {
  const auto make = [](int code, int bits) {
    return tn_dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  };
  switch (t) {
    case at::kBool:
      return make(TN_BOOL, 8);
    case at::kByte:
      return make(TN_UINT, 8);
    case at::kChar:
      return make(TN_INT, 8);
    case at::kShort:
      return make(TN_INT, 16);
    case at::kInt:
      return make(TN_INT, 32);
    case at::kLong:
      return make(TN_INT, 64);
    case at::kHalf:
      return make(TN_FLOAT, 16);
    case at::kBFloat16:
      return make(TN_BFLOAT, 16);
    case at::kFloat:
      return make(TN_FLOAT, 32);
    case at::kDouble:
      return make(TN_FLOAT, 64);
    default:
      throw NoCounterpart();
  }
}

at::Tensor tensor_of(const tn_tensor* t) {
  if (t == nullptr) return {};
  char* data = static_cast<char*>(t->data) + t->byte_offset;
  return at::from_blob(data, at::IntArrayRef(t->sizes, static_cast<std::size_t>(t->ndim)),
                       at::IntArrayRef(t->strides, static_cast<std::size_t>(t->ndim)),
                       at::TensorOptions(dtype_of(t->dtype)));
}

at::Scalar scalar_of(const tn_value& v) {
  if (v.tag == TN_TAG_I64) return v.u.i64;
  if (v.tag == TN_TAG_F64) return v.u.f64;
  if (v.tag == TN_TAG_BOOL) return v.u.i64 != 0;
  throw NoCounterpart();
}

IValue list_of(const tn_value& v, const c10::Type& element) {
  switch (element.kind()) {
    case TypeKind::TensorType: {
      c10::List<at::Tensor> out;
      for (uint32_t i = 0; i < v.len; ++i) out.push_back(tensor_of(v.u.tensors[i]));
      return out;
    }
    case TypeKind::OptionalType: {
      c10::List<std::optional<at::Tensor>> out;
      for (uint32_t i = 0; i < v.len; ++i) {
        out.push_back(v.u.tensors[i] ? std::optional<at::Tensor>(tensor_of(v.u.tensors[i]))
                                     : std::nullopt);
      }
      return out;
    }
    case TypeKind::FloatType: {
      c10::List<double> out;
      for (uint32_t i = 0; i < v.len; ++i) out.push_back(v.u.f64s[i]);
      return out;
    }
    case TypeKind::BoolType: {
      c10::List<bool> out;
      for (uint32_t i = 0; i < v.len; ++i) out.push_back(v.u.bools[i] != 0);
      return out;
    }
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      c10::List<int64_t> out;
      if (v.tag == TN_TAG_I64) out.push_back(v.u.i64);
      for (uint32_t i = 0; v.tag == TN_TAG_I64_LIST && i < v.len; ++i) out.push_back(v.u.i64s[i]);
      return out;
    }
    default:
      throw NoCounterpart();
  }
}

IValue value_of(const tn_value& v, const c10::Type& type) {
  if (v.tag == TN_TAG_NONE) {
    if (type.kind() == TypeKind::TensorType) return at::Tensor();
    return {};
  }
  switch (type.kind()) {
    case TypeKind::OptionalType:
      return value_of(v, *type.containedType(0));
    case TypeKind::TensorType:
      if (v.tag != TN_TAG_TENSOR) throw NoCounterpart();
      return tensor_of(v.u.tensor);
    case TypeKind::ListType:
      return list_of(v, *type.containedType(0));
    case TypeKind::NumberType:
      return scalar_of(v);
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      if (v.tag == TN_TAG_DTYPE) return static_cast<int64_t>(dtype_of(v.u.dtype));
      if (v.tag != TN_TAG_I64 && v.tag != TN_TAG_BOOL) throw NoCounterpart();
      return v.u.i64;
    case TypeKind::FloatType:
      return v.tag == TN_TAG_F64 ? v.u.f64 : static_cast<double>(v.u.i64);
    case TypeKind::BoolType:
      return v.u.i64 != 0;
    case TypeKind::StringType:
      return std::string(v.u.str, v.len);
    default:
      break;
  }
  if (v.tag == TN_TAG_DTYPE) return static_cast<int64_t>(dtype_of(v.u.dtype));
  throw NoCounterpart();
}

void add(baseline_result* out, const at::Tensor& given, bool is_scalar) {
  if (out->n == BASELINE_MAX_RESULTS) throw NoCounterpart();
  baseline_tensor& to = out->tensors[out->n];
  to = {};
  to.is_scalar = is_scalar;
  if (given.defined()) {
    const at::Tensor t = given.contiguous();
    to.dtype = dtype_of(t.scalar_type());
    to.ndim = static_cast<int32_t>(t.dim());
    for (int32_t d = 0; d < to.ndim; ++d) to.sizes[d] = t.size(d);
    to.bytes = t.nbytes();
    to.data = std::malloc(to.bytes + 1);
    std::memcpy(to.data, t.data_ptr(), to.bytes);
  } else {
    to.ndim = -1;
  }
  ++out->n;
}

void add(baseline_result* out, const IValue& v) {
  if (v.isTensor()) return add(out, v.toTensor(), false);
  if (v.isTensorList()) {
    for (const at::Tensor& t : v.toTensorVector()) add(out, t, false);
    return;
  }
  if (v.isBool()) return add(out, at::scalar_tensor(v.toBool(), at::kBool), true);
  if (v.isInt()) return add(out, at::scalar_tensor(v.toInt(), at::kLong), true);
  if (v.isDouble()) return add(out, at::scalar_tensor(v.toDouble(), at::kDouble), true);
  throw NoCounterpart();
}

void call(const char* name, const char* overload, const baseline_arg* args, int n,
          baseline_result* out) {
  const auto op = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, overload});
  if (!op) throw NoCounterpart();
  c10::Stack stack;
  for (const c10::Argument& a : op->schema().arguments()) {
    const baseline_arg* given = nullptr;
    for (int i = 0; i < n; ++i) {
      if (a.name() == args[i].name) given = &args[i];
    }
    if (given && given->value.tag != TN_TAG_LAYOUT && given->value.tag != TN_TAG_DEVICE &&
        given->value.tag != TN_TAG_GENERATOR) {
      stack.push_back(value_of(given->value, *a.real_type()));
    } else if (a.default_value()) {
      stack.push_back(*a.default_value());
    } else if (a.real_type()->kind() == TypeKind::OptionalType) {
      stack.emplace_back();
    } else {
      throw NoCounterpart();
    }
  }
  const at::NoGradGuard no_grad;
  op->callBoxed(stack);
  for (const IValue& v : stack) add(out, v);
}

void set_status(baseline_result* out, int status, const char* text) {
  out->status = status;
  std::snprintf(out->text, sizeof out->text, "%s", text);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void baseline_release(baseline_result* result) {
  for (int i = 0; i < result->n; ++i) std::free(result->tensors[i].data);
  result->n = 0;
}

extern "C" __attribute__((visibility("default"))) void baseline_call(const char* name,
                                                                     const char* overload,
                                                                     const baseline_arg* args,
                                                                     int n, baseline_result* out) {
  out->n = 0;
  set_status(out, BASELINE_OK, "");
  at::set_num_threads(1);
  at::globalContext().setDeterministicAlgorithms(false, false);
  at::manual_seed(7);
  try {
    call(name, overload, args, n, out);
  } catch (const NoCounterpart&) {
    set_status(out, BASELINE_UNKNOWN, "");
  } catch (const c10::NotImplementedError& e) {
    set_status(out, BASELINE_UNKNOWN, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    set_status(out, BASELINE_REFUSED, e.what_without_backtrace());
  } catch (const std::exception& e) {
    set_status(out, BASELINE_REFUSED, e.what());
  }
}
