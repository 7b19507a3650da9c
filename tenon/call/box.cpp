// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/call/box.h"

#include "tenon/runtime/error.h"

namespace tenon::autograd {

void undefined_argument(int id, int at) {
  const core::Op& op = core::op_at(id);
  core::throw_of(
      op.name,
      TypeError(core::join(op.name, ": expected a tensor but found an undefined one for argument ",
                           at, " '", op.args[at].name, "'")));
}

tn_value box(Device d) {
  tn_value r = value_of(TN_TAG_DEVICE);
  r.u.device = core::abi_device(core::resolve(d));
  return r;
}

BoxedOptions::BoxedOptions(const TensorOptions& o)
    : dtype(box(o.dtype_opt())),
      layout(box(o.layout_opt())),
      device(box(o.device_opt())),
      pin_memory(box(o.pinned_memory_opt())) {
  if (o.layout() != kStrided)
    (void)core::usable_layout(core::layout_name(static_cast<int>(o.layout())));
}

const tn_tensor** BoxedList::reserve(std::size_t n) {
  n_ = n;
  if (n <= kInline) return inline_;
  heap_.resize(n);
  return heap_.data();
}

BoxedList::BoxedList(int id, int at, TensorList list) {
  const tn_tensor** to = reserve(list.size());
  for (const Tensor& t : list) {
    if (!t.defined()) undefined_argument(id, at);
    *to++ = &t.unsafeGetTensorImpl()->view;
  }
}

BoxedList::BoxedList(int, int, ArrayRef<std::optional<Tensor>> list) {
  const tn_tensor** to = reserve(list.size());
  for (const auto& t : list) *to++ = t && t->defined() ? &t->unsafeGetTensorImpl()->view : nullptr;
}

namespace {

[[noreturn]] void refuse_value(const char* expected, const tn_value& v) {
  throw TypeError(core::join("expected ", expected, " but found a value with tag ", v.tag));
}
bool is_none(const tn_value& v) { return v.tag == TN_TAG_NONE; }
Layout layout_of(const tn_value& v) {
  const int slot = core::layout_slot_from_abi(v.u.i64);
  TENON_CHECK(slot >= 0 && slot < core::layout_slots(), ValueError,
              "there is no layout with index ", v.u.i64);
  return static_cast<Layout>(slot);
}
Tensor shared(const tn_tensor* v) {
  return Tensor(core::Impl::share(core::TensorImpl::from_view(v)));
}

}  // namespace

Tensor unbox_Tensor(const tn_value& v) {
  if (is_none(v)) return Tensor();
  if (v.tag != TN_TAG_TENSOR) refuse_value("a tensor", v);
  return shared(v.u.tensor);
}
std::optional<Tensor> unbox_OptTensor(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Tensor(v);
}
std::vector<Tensor> unbox_TensorList(const tn_value& v) {
  if (v.tag != TN_TAG_TENSOR_LIST) refuse_value("a list of tensors", v);
  std::vector<Tensor> out;
  for (uint32_t i = 0; i < v.len; ++i)
    out.push_back(v.u.tensors[i] ? shared(v.u.tensors[i]) : Tensor());
  return out;
}
std::vector<std::optional<Tensor>> unbox_OptTensorList(const tn_value& v) {
  if (v.tag != TN_TAG_TENSOR_LIST) refuse_value("a list of tensors", v);
  std::vector<std::optional<Tensor>> out;
  for (uint32_t i = 0; i < v.len; ++i) {
    if (v.u.tensors[i])
      out.emplace_back(shared(v.u.tensors[i]));
    else
      out.emplace_back();
  }
  return out;
}
Scalar unbox_Scalar(const tn_value& v) {
  if (v.tag == TN_TAG_TENSOR)
    return unbox_Tensor(v).item();  // a 0-dim tensor where a scalar is expected
  return Scalar::from_abi(v);
}
std::optional<Scalar> unbox_OptScalar(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Scalar(v);
}
std::vector<Scalar> unbox_ScalarList(const tn_value& v) {
  std::vector<Scalar> out;
  for (uint32_t i = 0; i < v.len; ++i) {
    if (v.tag == TN_TAG_SCALAR_LIST)
      out.push_back(Scalar::from_abi(v.u.values[i]));
    else if (v.tag == TN_TAG_I64_LIST)
      out.push_back(Scalar(v.u.i64s[i]));
    else if (v.tag == TN_TAG_F64_LIST)
      out.push_back(Scalar(v.u.f64s[i]));
    else
      refuse_value("a list of scalars", v);
  }
  return out;
}
int64_t unbox_Int(const tn_value& v) {
  if (v.tag != TN_TAG_I64 && v.tag != TN_TAG_BOOL) refuse_value("an integer", v);
  return v.u.i64;
}
std::optional<int64_t> unbox_OptInt(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Int(v);
}
IntArrayRef unbox_IntList(const tn_value& v) {
  if (v.tag == TN_TAG_I64) return {&v.u.i64, 1};
  if (v.tag != TN_TAG_I64_LIST) refuse_value("a list of integers", v);
  return {v.u.i64s, v.len};
}
OptionalIntArrayRef unbox_OptIntList(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_IntList(v);
}
double unbox_Float(const tn_value& v) {
  if (v.tag == TN_TAG_F64) return v.u.f64;
  if (v.tag == TN_TAG_I64 || v.tag == TN_TAG_BOOL) return static_cast<double>(v.u.i64);
  refuse_value("a scalar", v);
}
std::optional<double> unbox_OptFloat(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Float(v);
}
ArrayRef<double> unbox_FloatList(const tn_value& v) {
  if (v.tag != TN_TAG_F64_LIST) refuse_value("a list of floats", v);
  return {v.u.f64s, v.len};
}
std::optional<ArrayRef<double>> unbox_OptFloatList(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_FloatList(v);
}
bool unbox_Bool(const tn_value& v) {
  if (v.tag != TN_TAG_BOOL && v.tag != TN_TAG_I64) refuse_value("a bool", v);
  return v.u.i64 != 0;
}
std::optional<bool> unbox_OptBool(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Bool(v);
}
ScalarType unbox_Dtype(const tn_value& v) {
  if (v.tag != TN_TAG_DTYPE) refuse_value("a dtype", v);
  return core::dtype_from_abi(v.u.dtype);
}
std::optional<ScalarType> unbox_OptDtype(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Dtype(v);
}
std::string_view unbox_Str(const tn_value& v) {
  if (v.tag != TN_TAG_STR) refuse_value("a string", v);
  return {v.u.str, v.len};
}
std::optional<std::string_view> unbox_OptStr(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  return unbox_Str(v);
}
std::optional<Generator> unbox_Generator(const tn_value& v) {
  if (is_none(v)) return std::nullopt;
  if (v.tag != TN_TAG_OPAQUE) refuse_value("a generator", v);
  return Generator(
      core::Ref<core::GeneratorImpl>::share(static_cast<core::GeneratorImpl*>(v.u.ptr)));
}
UnboxedDevice unbox_Device(const tn_value& v) {
  if (is_none(v)) return {};
  if (v.tag != TN_TAG_DEVICE) refuse_value("a device", v);
  return {core::device_from_abi(v.u.device)};
}
UnboxedLayout unbox_Layout(const tn_value& v) {
  if (is_none(v)) return {};
  return {layout_of(v)};
}
UnboxedFormat unbox_MemoryFormat(const tn_value& v) {
  if (is_none(v)) return {};
  return {static_cast<MemoryFormat>(v.u.i64)};
}
TensorOptions unbox_options(const tn_value* four) {
  TensorOptions o;
  if (!is_none(four[0])) o = o.dtype(unbox_Dtype(four[0]));
  if (!is_none(four[1])) o = o.layout(layout_of(four[1]));
  if (!is_none(four[2])) o = o.device(core::device_from_abi(four[2].u.device));
  if (!is_none(four[3])) o = o.pinned_memory(four[3].u.i64 != 0);
  return o;
}
UnboxedBools unbox_BoolList(const tn_value& v) {
  if (v.tag != TN_TAG_BOOL_LIST) refuse_value("a list of bools", v);
  UnboxedBools out{{v.u.bools, v.u.bools + v.len}};
  for (uint8_t& b : out.v) b = b != 0;
  return out;
}

void put(core::OwnedValue* out, const Tensor& t) {
  out->tag = t.defined() ? TN_TAG_TENSOR : TN_TAG_NONE;
  out->tensor = t.getIntrusivePtr();
}
void put(core::OwnedValue* out, const std::vector<Tensor>& list) {
  out->tag = TN_TAG_TENSOR_LIST;
  out->tensors.clear();
  for (const Tensor& t : list) out->tensors.push_back(t.getIntrusivePtr());
}
void put(core::OwnedValue* out, const Scalar& s) {
  out->plain = s.abi();
  out->tag = out->plain.tag;
  if (!s.isComplex()) return;
  out->plain.u.f64 = s.toComplexDouble().real();
  out->imaginary = s.toComplexDouble().imag();
}
void put(core::OwnedValue* out, bool v) { put(out, Scalar(v)); }
void put(core::OwnedValue* out, int64_t v) { put(out, Scalar(v)); }
void put(core::OwnedValue* out, double v) { put(out, Scalar(v)); }
void put(core::OwnedValue* out, ScalarType v) {
  out->plain = box(v);
  out->tag = TN_TAG_DTYPE;
}
void put(core::OwnedValue* out, std::vector<int64_t> list) {
  out->ints = std::move(list);
  out->tag = TN_TAG_I64_LIST;
}

OperatorRegistration::OperatorRegistration(const OperatorEntry* entries, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    core::Op& op = core::g_ops[entries[i].id];
    op.boxed_call.store(entries[i].boxed, std::memory_order_relaxed);
    op.boxed_inplace.store(entries[i].inplace, std::memory_order_relaxed);
    op.boxed_out.store(entries[i].out, std::memory_order_relaxed);
    op.decomposition.store(entries[i].decomposition, std::memory_order_release);
    op.complex_decomposition.store(entries[i].complex_decomposition, std::memory_order_release);
  }
}

}  // namespace tenon::autograd
