// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Custom operators, dtypes and layouts (abi/host.h: tn_schema, abi/ext/dtype.h, abi/ext/layout.h),
// and what the operators are in ONNX (abi/ext/onnx.h).
//
//   constexpr CustomOp kScale{"acme::scale(Tensor self, float factor) -> Tensor"};
//   tn_status scale(Call& call, Tensor out, Tensor self, double factor) { ... }
//   TN_CUSTOM_KERNEL(kScale, scale, dtypes("floating"));
//   tn_status init(const tn_host& host, tn_str*) { return register_op(host, kScale, infer_scale); }
#pragma once

#include <initializer_list>

#include "tenon/abi/ext/dtype.h"
#include "tenon/abi/ext/layout.h"
#include "tenon/abi/ext/onnx.h"
#include "tenon/sdk/plugin.h"

namespace tenon::sdk {

// The text of a schema, which gives the operator its name and its kernels their types.
struct CustomOp {
  std::string_view text;
  constexpr std::string_view name() const { return text.substr(0, text.find('(')); }
};

using InferOp = tn_status (*)(tn_call* call, tn_tensor* outputs, int64_t (*sizes)[64]);

// Properties of an operator; fields as in tn_schema. Without `infer` kernels size the outputs
// (dynamic()).
struct OpRules {
  InferOp infer = nullptr;
  std::string_view backward = {}, layout = {};
  uint64_t saved_in = 0, saved_out = 0;
};

inline tn_status register_op(const tn_host& host, const CustomOp& op, const OpRules& rules) {
  const tn_schema s{sizeof(tn_schema),
                    detail::text(op.text),
                    rules.infer,
                    detail::text(rules.backward),
                    rules.saved_in,
                    rules.saved_out,
                    detail::text(rules.layout)};
  return host.register_op(&s);
}

// Nodes of PluginInfo::ext's chain, which are constants; `next` is the next node.
constexpr tn_ext_layout custom_layout(std::string_view name, std::string_view components,
                                      std::string_view flags, decltype(tn_ext_layout::infer) infer,
                                      const tn_ext* next = nullptr) {
  return {{sizeof(tn_ext_layout), TN_EXT_LAYOUT, 0, next},
          detail::text(name),
          detail::text(components),
          detail::text(flags),
          infer};
}
constexpr tn_ext_dtype custom_dtype(std::string_view name, std::string_view dtype_class,
                                    uint32_t size, uint32_t rank,
                                    void (*to_float)(const void*, float*, int64_t),
                                    void (*from_float)(const float*, void*, int64_t),
                                    const tn_ext* next = nullptr) {
  return {{sizeof(tn_ext_dtype), TN_EXT_DTYPE, 0, next},
          detail::text(name),
          detail::text(dtype_class),
          size,
          rank,
          to_float,
          from_float};
}

// What operators are in ONNX; the header has the syntax.
constexpr tn_ext_onnx onnx_functions(std::string_view text, const tn_ext* next = nullptr) {
  return {{sizeof(tn_ext_onnx), TN_EXT_ONNX, 0, next}, detail::text(text)};
}

inline bool is_strided(const Tensor& t) { return t.abi()->layout == TN_STRIDED; }
// Component i of a tensor whose layout is not strided.
inline Tensor component(const Tensor& t, int i) {
  return Tensor(static_cast<const tn_tensor*>(t.abi()->data) + i);
}
inline bool layout_flag(const Tensor& t, int i) {
  return t.abi()->flags >> (TN_LAYOUT_FLAG + i) & 1;
}

inline Tensor alloc_component(const Call& call, uint32_t i, uint32_t at, Ints sizes, DType dtype) {
  const tn_status s = host().alloc_component(call.abi(), i, at, static_cast<int32_t>(sizes.size()),
                                             sizes.data(), dtype);
  if (s != TN_OK)
    throw Error(s, "component ", int64_t{at}, " of output ", int64_t{i}, " could not be allocated");
  return component(Tensor(call.abi()->out[i].u.tensor), static_cast<int>(at));
}
inline void share_component(const Call& call, uint32_t i, uint32_t at, const Tensor& t) {
  const tn_status s = host().share_component(call.abi(), i, at, t.abi());
  if (s != TN_OK)
    throw Error(s, "component ", int64_t{at}, " of output ", int64_t{i}, " could not be shared");
}
inline void set_layout_flags(const Call& call, uint32_t i, uint32_t bits) {
  const tn_status s = host().set_layout_flags(call.abi(), i, bits << TN_LAYOUT_FLAG);
  if (s != TN_OK) throw Error(s, "the flags of output ", int64_t{i}, " could not be set");
}

// Arguments and results of calls of other operators. Calls from a kernel are not recorded by
// autograd.
inline tn_value value(const Tensor& t) {
  tn_value v{TN_TAG_TENSOR, 0, {}};
  v.u.tensor = t.abi();
  return v;
}
inline tn_value value(int64_t i) { return {TN_TAG_I64, 0, {i}}; }
inline tn_value value(bool b) { return {TN_TAG_BOOL, 0, {b}}; }
inline tn_value value(double d) {
  tn_value v{TN_TAG_F64, 0, {}};
  v.u.f64 = d;
  return v;
}
inline tn_value value(Ints list) {
  tn_value v{TN_TAG_I64_LIST, static_cast<uint32_t>(list.size()), {}};
  v.u.i64s = list.data();
  return v;
}
inline tn_value value(const Scalar& s) {
  if (s.is_complex()) {
    tn_value v{TN_TAG_COMPLEX, 0, {}};
    v.u.f64s = s.parts();
    return v;
  }
  return s.is_float() ? value(s.to<double>()) : value(s.to<int64_t>());
}
inline tn_value no_value() { return {TN_TAG_NONE, 0, {}}; }

template <int N>
class Results {
 public:
  Results() = default;
  Results(const Results&) = delete;
  ~Results() {
    for (tn_value& v : values) host().release(&v);
  }
  Tensor operator[](int i) const { return Tensor(values[i].u.tensor); }
  tn_value values[N] = {};
};

// Calls a registered operator with N results, on this call's device and stream.
template <int N = 1>
void call_op(const Call& call, std::string_view op, std::initializer_list<tn_value> in,
             Results<N>& out) {
  const tn_status s = host().call_op(call.abi(), detail::text(op), in.begin(),
                                     static_cast<uint32_t>(in.size()), out.values, N);
  if (s != TN_OK) throw Error(s, op, " failed");
}

namespace detail {

// The signature of a schema's text, "T;T,F": the letters of signature.h.
struct CustomSignature {
  char text[256] = {};
  std::size_t n = 0;
  constexpr void put(char c) { text[n++] = c; }
  constexpr std::string_view view() const { return {text, n}; }
};

constexpr void put_type(CustomSignature& out, std::string_view type) {
  constexpr std::pair<std::string_view, char> kCodes[] = {
      {"Tensor", 'T'}, {"ScalarType", 'D'},   {"Scalar", 'S'},   {"int", 'I'},
      {"float", 'F'},  {"bool", 'B'},         {"Layout", 'L'},   {"Device", 'V'},
      {"str", 'Z'},    {"MemoryFormat", 'M'}, {"Generator", 'G'}};
  const std::string_view base = type.substr(0, type.find_first_of("([?"));
  for (const auto& [name, letter] : kCodes) {
    if (name == base) out.put(letter);
  }
  bool number = false, alias = false;
  for (char c : type.substr(base.size())) {
    alias = c == '(' || (alias && c != ')');
    number = c == '[' || (number && c >= '0' && c <= '9');
    if (c == '?' || c == '[' || c == ']') out.put(c);
  }
}

constexpr CustomSignature custom_signature(std::string_view schema) {
  CustomSignature out;
  const std::size_t open = schema.find('('), arrow = schema.rfind("->");
  auto list = [&](std::string_view text) {
    for (bool first = true; !text.empty();) {
      const std::size_t end = text.find(',') < text.size() ? text.find(',') : text.size();
      std::string_view one = text.substr(0, end);
      while (!one.empty() && (one.front() == ' ' || one.front() == '(')) one.remove_prefix(1);
      text.remove_prefix(end < text.size() ? end + 1 : end);
      if (one.empty() || one.front() == '*') continue;
      if (!first) out.put(',');
      first = false;
      put_type(out, one.substr(0, one.find_first_of(" )")));
    }
  };
  list(schema.substr(arrow + 2));
  out.put(';');
  list(schema.substr(open + 1, schema.rfind(')', arrow) - open - 1));
  return out;
}

template <const CustomOp& O>
struct CustomKernel {
  static constexpr std::string_view name = O.name();
  static constexpr uint8_t digest[32] = {};  // a custom operator is identified by its text
  static constexpr CustomSignature signature = custom_signature(O.text);
  static constexpr std::size_t outputs = count_outputs(signature.view());
};

}  // namespace detail
}  // namespace tenon::sdk

// As TN_KERNEL, for a CustomOp at namespace scope.
#define TN_CUSTOM_KERNEL(op, fn, ...) \
  TN_DETAIL_CUSTOM_KERNEL(op, fn, TN_DETAIL_JOIN(op##_kernel_, __COUNTER__), __VA_ARGS__)
#define TN_DETAIL_CUSTOM_KERNEL(op, fn, id, ...)                                               \
  namespace {                                                                                  \
  static_assert(                                                                               \
      ::tenon::sdk::detail::matches(static_cast<decltype(&fn)>(nullptr),                       \
                                    ::tenon::sdk::detail::CustomKernel<op>::signature.view()), \
      "the function's parameters are not those of the op's schema");                           \
  constexpr tn_kernel id =                                                                     \
      ::tenon::sdk::detail::make_kernel<::tenon::sdk::detail::CustomKernel<op>>(               \
          ::tenon::sdk::Traits{}.__VA_ARGS__,                                                  \
          &::tenon::sdk::detail::trampoline<&fn, ::tenon::sdk::detail::CustomKernel<op>>);     \
  __attribute__((section("tn_kernels"), TN_DETAIL_KEEP))                                       \
  const tn_kernel* const TN_DETAIL_JOIN(id, _entry) = &id;                                     \
  }                                                                                            \
  static_assert(true, "")
