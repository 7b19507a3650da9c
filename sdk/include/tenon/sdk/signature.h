// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Conversion of tagged values to C++ types, and the letters of TN_OP_x_SIGNATURE:
// "outputs;arguments", each a comma-separated list of
//   T tensor, S scalar, I int, F float, B bool, D dtype, L layout, V device, M memory format, Z
//   str, G generator,
// followed by "?" if it is optional, "[]" if it is a list, "?[]" for a list of optional tensors,
// "[]?" for an optional list.
#pragma once

#include <optional>
#include <string_view>

#include "tenon/sdk/view.h"

namespace tenon::sdk::detail {

// code: the entry in the signature. accepts: whether get() supports the value's tag.
template <class A>
struct Unpack;

template <>
struct Unpack<OptTensor> {
  static constexpr std::string_view code = "T?";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_TENSOR || v.tag == TN_TAG_NONE; }
  static OptTensor get(const tn_value& v) {
    return OptTensor(v.tag == TN_TAG_TENSOR ? v.u.tensor : nullptr);
  }
};
template <>
struct Unpack<Tensor> {
  static constexpr std::string_view code = "T";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_TENSOR || v.tag == TN_TAG_NONE; }
  static Tensor get(const tn_value& v) {
    return Tensor(v.tag == TN_TAG_TENSOR ? v.u.tensor : nullptr);
  }
};
template <>
struct Unpack<TensorList> {
  static constexpr std::string_view code = "T[]";
  static bool accepts(const tn_value& v) {
    return v.tag == TN_TAG_TENSOR_LIST || v.tag == TN_TAG_NONE;
  }
  static TensorList get(const tn_value& v) {
    return v.tag == TN_TAG_NONE ? TensorList() : TensorList(v.u.tensors, v.len);
  }
};
template <>
struct Unpack<Scalar> {
  static constexpr std::string_view code = "S";
  static bool accepts(const tn_value& v) {
    return v.tag == TN_TAG_I64 || v.tag == TN_TAG_F64 || v.tag == TN_TAG_BOOL ||
           v.tag == TN_TAG_COMPLEX;
  }
  static Scalar get(const tn_value& v) { return Scalar(v); }
};
template <>
struct Unpack<int64_t> {
  static constexpr std::string_view code = "I";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_I64 || v.tag == TN_TAG_LAYOUT; }
  static int64_t get(const tn_value& v) { return v.u.i64; }
};
template <>
struct Unpack<double> {
  static constexpr std::string_view code = "F";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_F64 || v.tag == TN_TAG_I64; }
  static double get(const tn_value& v) {
    return v.tag == TN_TAG_F64 ? v.u.f64 : static_cast<double>(v.u.i64);
  }
};
template <>
struct Unpack<bool> {
  static constexpr std::string_view code = "B";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_BOOL; }
  static bool get(const tn_value& v) { return v.u.i64 != 0; }
};
template <>
struct Unpack<DType> {
  static constexpr std::string_view code = "D";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_DTYPE; }
  static DType get(const tn_value& v) { return v.u.dtype; }
};
template <>
struct Unpack<Layout> {
  static constexpr std::string_view code = "L";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_LAYOUT; }
  static Layout get(const tn_value& v) { return Layout{v.u.i64}; }
};
template <>
struct Unpack<Device> {
  static constexpr std::string_view code = "V";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_DEVICE; }
  static Device get(const tn_value& v) { return v.u.device; }
};
template <>
struct Unpack<Str> {
  static constexpr std::string_view code = "Z";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_STR; }
  static Str get(const tn_value& v) { return Str(v.u.str, v.len); }
};
template <>
struct Unpack<Generator> {
  static constexpr std::string_view code = "G";
  static bool accepts(const tn_value& v) {
    return v.tag == TN_TAG_GENERATOR || v.tag == TN_TAG_NONE;
  }
  static Generator get(const tn_value& v) {
    return Generator(v.tag == TN_TAG_GENERATOR ? v.u.generator : nullptr);
  }
};
template <>
struct Unpack<Ints> {
  static constexpr std::string_view code = "I[]";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_I64_LIST; }
  static Ints get(const tn_value& v) { return Ints(v.u.i64s, v.len); }
};
template <>
struct Unpack<Floats> {
  static constexpr std::string_view code = "F[]";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_F64_LIST; }
  static Floats get(const tn_value& v) { return Floats(v.u.f64s, v.len); }
};
template <>
struct Unpack<Bools> {
  static constexpr std::string_view code = "B[]";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_BOOL_LIST; }
  static Bools get(const tn_value& v) { return Bools(v.u.bools, v.len); }
};
template <>
struct Unpack<ScalarList> {
  static constexpr std::string_view code = "S[]";
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_SCALAR_LIST; }
  static ScalarList get(const tn_value& v) { return ScalarList(v.u.values, v.len); }
};
template <class A>
struct Unpack<std::optional<A>> {
  static constexpr std::string_view code = Unpack<A>::code;  // then "?"
  static bool accepts(const tn_value& v) { return v.tag == TN_TAG_NONE || Unpack<A>::accepts(v); }
  static std::optional<A> get(const tn_value& v) {
    if (v.tag == TN_TAG_NONE) return std::nullopt;
    return Unpack<A>::get(v);
  }
};
template <class A>
struct Unpack<const A&> : Unpack<A> {};

template <class A>
inline constexpr bool is_optional = false;
template <class A>
inline constexpr bool is_optional<std::optional<A>> = true;
template <class A>
inline constexpr bool is_optional<const A&> = is_optional<A>;

// Whether a parameter's type fits one entry of a signature. An optional tensor may be a Tensor,
// too, and dtype, layout, device, memory format and generator may be optional or not.
template <class A>
constexpr bool matches_one(std::string_view want) {
  const std::string_view code = Unpack<A>::code;
  if (code == "T" || code == "T?") return want == code || want == "T?";
  if (code == "T[]") return want == "T[]" || want == "T?[]" || want == "T[]?";
  if (want == "M" || want == "M?" || want == "L" || want == "L?") return code == "I" || code == "L";
  if (want == "D" || want == "D?" || want == "V" || want == "V?" || want == "G" || want == "G?") {
    return code[0] == want[0];
  }
  if (!is_optional<A>) return want == code;
  return want.size() == code.size() + 1 && want.back() == '?' &&
         want.substr(0, code.size()) == code;
}

constexpr std::size_t count_outputs(std::string_view signature) {
  const std::size_t end = signature.find(';');
  if (end == 0) return 0;
  std::size_t n = 1;
  for (std::size_t i = 0; i < end; ++i) n += signature[i] == ',';
  return n;
}

// Removes the next entry from a signature and returns it.
constexpr std::string_view next_entry(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && rest[n] != ',' && rest[n] != ';') ++n;
  const std::string_view entry = rest.substr(0, n);
  rest = n < rest.size() ? rest.substr(n + 1) : std::string_view();
  return entry;
}

template <class C, class... A>
constexpr bool matches(tn_status (*)(C&, A...), std::string_view signature) {
  std::string_view rest = signature.substr(0, 1) == ";" ? signature.substr(1) : signature;
  bool ok = true;
  ((ok = ok && matches_one<A>(next_entry(rest))), ...);
  return ok && rest.empty();
}

}  // namespace tenon::sdk::detail
