// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Between C++ arguments and tn_value, both ways.
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/core/infer.h"
#include "tenon/core/layout.h"
#include "tenon/core/op.h"
#include "tenon/runtime/error.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

inline tn_value value_of(tn_tag tag, int64_t v = 0, uint32_t len = 0) {
  tn_value r;
  r.tag = tag;
  r.len = len;
  r.u.i64 = v;
  return r;
}
inline tn_value pointer_value(tn_tag tag, const void* p, std::size_t len = 0) {
  tn_value r;
  r.tag = tag;
  r.len = static_cast<uint32_t>(len);
  r.u.ptr = const_cast<void*>(p);
  return r;
}
inline tn_value none_value() { return value_of(TN_TAG_NONE); }

[[noreturn]] TENON_COLD void undefined_argument(int id, int at);

inline void check_defined(int id, int at, const Tensor& t) {
  if (TENON_UNLIKELY(!t.defined())) undefined_argument(id, at);
}

TENON_INLINE tn_value box(int id, int at, const Tensor& t) {
  const core::TensorImpl* p = t.unsafeGetTensorImpl();
  if (TENON_UNLIKELY(!p)) undefined_argument(id, at);
  return pointer_value(TN_TAG_TENSOR, &p->view);
}
inline tn_value box(const std::optional<Tensor>& t) {
  if (!t || !t->defined()) return none_value();
  return pointer_value(TN_TAG_TENSOR, &t->unsafeGetTensorImpl()->view);
}
inline tn_value box(const Scalar& s) { return s.abi(); }
inline tn_value box(const std::optional<Scalar>& s) { return s ? s->abi() : none_value(); }
inline tn_value box(int64_t v) { return value_of(TN_TAG_I64, v); }
inline tn_value box(double v) {
  tn_value r = value_of(TN_TAG_F64);
  r.u.f64 = v;
  return r;
}
inline tn_value box(bool v) { return value_of(TN_TAG_BOOL, v); }
inline tn_value box(std::string_view v) { return pointer_value(TN_TAG_STR, v.data(), v.size()); }
inline tn_value box(ScalarType t) {
  tn_value r = value_of(TN_TAG_DTYPE);
  r.u.dtype = core::abi_dtype(t);
  return r;
}
tn_value box(Device d);
inline tn_value box(Layout l) {
  return value_of(TN_TAG_LAYOUT, core::abi_layout(static_cast<int>(l)));
}
inline tn_value box(MemoryFormat f) { return value_of(TN_TAG_I64, static_cast<int64_t>(f)); }
inline tn_value box(const std::optional<Generator>& g) {
  return g && g->defined() ? pointer_value(TN_TAG_OPAQUE, g->unsafeGetGeneratorImpl())
                           : none_value();
}
inline tn_value box(IntArrayRef v) { return pointer_value(TN_TAG_I64_LIST, v.data(), v.size()); }
inline tn_value box(const OptionalIntArrayRef& v) { return v ? box(*v) : none_value(); }
inline tn_value box(ArrayRef<double> v) {
  return pointer_value(TN_TAG_F64_LIST, v.data(), v.size());
}
inline tn_value box(ArrayRef<bool> v) {
  return pointer_value(TN_TAG_BOOL_LIST, v.data(), v.size());
}
template <class T>
tn_value box(const std::optional<T>& v) {
  return v ? box(*v) : none_value();
}
template <std::size_t N>
tn_value box(const std::array<bool, N>& v) {
  return pointer_value(TN_TAG_BOOL_LIST, v.data(), N);
}

// For composite functions, whose lists core does not check.
inline void check_length(int id, int at, IntArrayRef v) {
  core::check_list_length(core::g_ops[id], core::g_ops[id].args[at], v.size());
}
inline void check_length(int id, int at, const OptionalIntArrayRef& v) {
  if (v) check_length(id, at, *v);
}

class BoxedOptions {
 public:
  explicit BoxedOptions(const TensorOptions& o);
  tn_value dtype, layout, device, pin_memory;
};

class BoxedList {
 public:
  BoxedList(int id, int at, TensorList list);
  BoxedList(int id, int at, ArrayRef<std::optional<Tensor>> list);
  tn_value value() const {
    return pointer_value(TN_TAG_TENSOR_LIST, n_ <= kInline ? inline_ : heap_.data(), n_);
  }

 private:
  const tn_tensor** reserve(std::size_t n);
  static constexpr std::size_t kInline = 16;
  std::size_t n_;
  const tn_tensor* inline_[kInline];
  std::vector<const tn_tensor*> heap_;
};

// int[N]: one integer stands for N.
template <std::size_t N>
class BoxedInts {
 public:
  explicit BoxedInts(IntArrayRef v) : given_(v) { fill(v); }
  explicit BoxedInts(const OptionalIntArrayRef& v) : none_(!v.has_value()) {
    if (v) fill(given_ = *v);
  }
  tn_value value() const {
    if (none_) return none_value();
    return given_.size() == 1 ? box(IntArrayRef(all_, N)) : box(given_);
  }

 private:
  void fill(IntArrayRef v) {
    if (v.size() != 1) return;
    for (std::size_t i = 0; i < N; ++i) all_[i] = v[0];
  }
  bool none_ = false;
  IntArrayRef given_;
  int64_t all_[N];
};

class BoxedScalars {
 public:
  explicit BoxedScalars(ArrayRef<Scalar> list) {
    for (const Scalar& s : list) items_.push_back(s.abi());
  }
  tn_value value() const { return pointer_value(TN_TAG_SCALAR_LIST, items_.data(), items_.size()); }

 private:
  std::vector<tn_value> items_;
};

// From values, for calls by name. Missing or wrong tags are TypeErrors.
Tensor unbox_Tensor(const tn_value& v);
std::optional<Tensor> unbox_OptTensor(const tn_value& v);
std::vector<Tensor> unbox_TensorList(const tn_value& v);
std::vector<std::optional<Tensor>> unbox_OptTensorList(const tn_value& v);
Scalar unbox_Scalar(const tn_value& v);
std::optional<Scalar> unbox_OptScalar(const tn_value& v);
std::vector<Scalar> unbox_ScalarList(const tn_value& v);
int64_t unbox_Int(const tn_value& v);
std::optional<int64_t> unbox_OptInt(const tn_value& v);
IntArrayRef unbox_IntList(const tn_value& v);
OptionalIntArrayRef unbox_OptIntList(const tn_value& v);
double unbox_Float(const tn_value& v);
std::optional<double> unbox_OptFloat(const tn_value& v);
ArrayRef<double> unbox_FloatList(const tn_value& v);
std::optional<ArrayRef<double>> unbox_OptFloatList(const tn_value& v);
bool unbox_Bool(const tn_value& v);
std::optional<bool> unbox_OptBool(const tn_value& v);
ScalarType unbox_Dtype(const tn_value& v);
std::optional<ScalarType> unbox_OptDtype(const tn_value& v);
std::string_view unbox_Str(const tn_value& v);
std::optional<std::string_view> unbox_OptStr(const tn_value& v);
std::optional<Generator> unbox_Generator(const tn_value& v);
Device unbox_Device_value(const tn_value& v);
// Arguments of these types are mostly optional in schemas; both forms convert. The conversion to an
// optional is not const: as good a match as optional's own constructor, which would take the other
// one, it is preferred.
struct UnboxedDevice {
  std::optional<Device> v;
  operator Device() const {
    TENON_CHECK(v, TypeError, "expected a device, got none");
    return *v;
  }
  operator std::optional<Device>() { return v; }
};
UnboxedDevice unbox_Device(const tn_value& v);
struct UnboxedLayout {
  std::optional<Layout> v;
  operator Layout() const {
    TENON_CHECK(v, TypeError, "expected a layout, got none");
    return *v;
  }
  operator std::optional<Layout>() { return v; }
};
UnboxedLayout unbox_Layout(const tn_value& v);
struct UnboxedFormat {
  std::optional<MemoryFormat> v;
  operator MemoryFormat() const { return v.value_or(MemoryFormat::Contiguous); }
  operator std::optional<MemoryFormat>() { return v; }
};
UnboxedFormat unbox_MemoryFormat(const tn_value& v);
TensorOptions unbox_options(const tn_value* four);
// N is the length in the schema.
template <std::size_t N>
std::array<bool, N> unbox_bools(const tn_value& v) {
  TENON_CHECK(v.len == N, ValueError, "expected a list of ", N, " flags, got ", v.len);
  std::array<bool, N> a{};
  for (std::size_t i = 0; i < N && i < v.len; ++i) a[i] = v.u.bools[i] != 0;
  return a;
}
struct UnboxedBools {
  std::vector<uint8_t> v;
  operator ArrayRef<bool>() const {
    return ArrayRef<bool>(reinterpret_cast<const bool*>(v.data()), v.size());
  }
};
UnboxedBools unbox_BoolList(const tn_value& v);

// Results of calls by name.
void put(core::OwnedValue* out, const Tensor& t);
void put(core::OwnedValue* out, const std::vector<Tensor>& list);
void put(core::OwnedValue* out, const Scalar& s);
void put(core::OwnedValue* out, bool v);
void put(core::OwnedValue* out, int64_t v);
void put(core::OwnedValue* out, double v);
void put(core::OwnedValue* out, ScalarType v);
void put(core::OwnedValue* out, std::vector<int64_t> list);
template <class... T>
void put(core::OwnedValue* out, const std::tuple<T...>& t) {
  std::apply([&](const auto&... part) { (put(out++, part), ...); }, t);
}

struct OperatorEntry {
  int id;
  core::BoxedFn boxed, inplace;
  void (*out)(const tn_value* in, const core::Impl* outs);
  core::BoxedFn decomposition, complex_decomposition;
};
// Puts a family's entries into the op table when libtenon loads.
struct OperatorRegistration {
  OperatorRegistration(const OperatorEntry* entries, std::size_t n);
};

}  // namespace tenon::autograd
