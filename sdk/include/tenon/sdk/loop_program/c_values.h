// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Values of a loop program as expressions in C: types, constants, casts, operations. A bool is an
// int that is 0 or 1; 16-bit floats are floats, rounded after each operation.
#ifndef TENON_SDK_LOOP_PROGRAM_C_VALUES_H_
#define TENON_SDK_LOOP_PROGRAM_C_VALUES_H_

#include <charconv>
#include <cmath>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/loop_program/c_functions.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::sdk::loop_program {

// What a dialect or the printer cannot say: a taker leaves such a program to the fallback.
struct NotPrinted : Error {
  using Error::Error;
};

class CValues {
 public:
  explicit CValues(const CDialect& dialect) : dialect_(dialect), functions_(dialect) {}

  CFunctions& functions() { return functions_; }

  static std::string memory_type(Dtype dtype) {
    constexpr const char* names[] = {"tn_u8",  "tn_u8",  "tn_i8",  "tn_i16", "tn_i32",
                                     "tn_i64", "tn_u16", "tn_u16", "float",  "double"};
    return names[static_cast<int>(dtype)];
  }
  static std::string type(Dtype dtype) {
    return dtype == Dtype::kBool ? "int" : is_short(dtype) ? "float" : memory_type(dtype);
  }
  // Of a sum or product while it grows; maxima keep the type of the value.
  std::string sum_type(Dtype dtype) const {
    if (dtype == Dtype::kBool) return "int";
    if (dtype == Dtype::kFloat) return dialect_.doubles ? "double" : "float";
    return is_floating(dtype) ? type(dtype) : "tn_u64";
  }

  void require(Dtype dtype) const {
    if (dtype == Dtype::kDouble && !dialect_.doubles)
      throw NotPrinted("loop program: the device does not compute in float64");
  }

  std::string load(Dtype dtype, const std::string& place) {
    if (dtype == Dtype::kBool) return "(" + place + " != 0)";
    if (!is_short(dtype)) return place;
    return functions_.use(dtype == Dtype::kHalf ? "from_half" : "from_bfloat") + "(" + place + ")";
  }
  std::string to_memory(Dtype dtype, const std::string& v) {
    if (dtype == Dtype::kBool) return "(tn_u8)(" + v + ")";
    if (!is_short(dtype)) return "(" + memory_type(dtype) + ")(" + v + ")";
    return functions_.use(dtype == Dtype::kHalf ? "to_half" : "to_bfloat") + "(" + v + ")";
  }

  std::string constant(const Node& node) {
    if (!is_floating(node.dtype)) return "(" + type(node.dtype) + ")" + integer(node.integer);
    const bool is_double = node.dtype == Dtype::kDouble;
    return rounded(node.dtype, is_double ? real(node.real) : real(static_cast<float>(node.real)));
  }
  static std::string integer(int64_t v) {
    return v == INT64_MIN ? "(-9223372036854775807 - 1)" : "(" + std::to_string(v) + ")";
  }

  std::string cast(Dtype to, Dtype from, const std::string& v) {
    if (to == from) return v;
    if (to == Dtype::kBool) return v + " != 0";
    if (is_floating(to)) return rounded(to, "(" + type(to) + ")" + v);
    if (!is_floating(from)) return "(" + type(to) + ")" + v;
    return "(" + type(to) + ")" + functions_.use_real("to_int", from == Dtype::kDouble) + "(" + v +
           ")";
  }

  // Of operands of dtype `self`.
  std::string unary(int code, Dtype self, const std::string& a) {
    if (code >= first_test) return test(code, self, a);
    if (!is_floating(self)) return whole_unary(code, self, a);
    return rounded(self, real_unary(code, self == Dtype::kDouble, a));
  }
  std::string binary(int code, Dtype self, const std::string& a, const std::string& b) {
    if (code >= first_test) return compared(code, a, b);
    if (!is_floating(self)) return whole_binary(code, self, a, b);
    if (code == TN_BINARY_NEXTAFTER && is_short(self))
      return call(functions_.use(self == Dtype::kHalf ? "next_half" : "next_bfloat"), a, b);
    return rounded(self, real_binary(code, self == Dtype::kDouble, a, b));
  }

  static bool divides(const Node& node, Dtype self) {
    return node.kind == Kind::kBinary && !is_floating(self) && node.code >= TN_BINARY_DIV_TRUNC &&
           node.code <= TN_BINARY_FMOD;
  }
  static bool shifts(const Node& node) {
    return node.kind == Kind::kBinary &&
           (node.code == TN_BINARY_SHIFT_LEFT || node.code == TN_BINARY_SHIFT_RIGHT);
  }

  std::string neutral(Update update, Dtype dtype) const {
    if (update == Update::kSum) return "0";
    if (update == Update::kProd) return "1";
    const bool is_max = update == Update::kMax;
    if (is_floating(dtype)) return std::string(is_max ? "-" : "") + "tn_float_of(0x7f800000)";
    if (dtype == Dtype::kBool) return is_max ? "0" : "1";
    if (dtype == Dtype::kUint8) return is_max ? "0" : "255";
    const int64_t low =
        itemsize(dtype) == 8 ? INT64_MIN : -(int64_t{1} << (itemsize(dtype) * 8 - 1));
    return integer(is_max ? low : -(low + 1));
  }
  // Of values of sum_type() for sums and products, of type() for the others.
  std::string combined(Update update, Dtype dtype, const std::string& a, const std::string& b) {
    const bool is_bool = dtype == Dtype::kBool;
    if (update == Update::kSum) return a + (is_bool ? " | " : " + ") + b;
    if (update == Update::kProd) return a + (is_bool ? " & " : " * ") + b;
    const char* name = update == Update::kMax ? "max" : "min";
    // NaN of the second operand wins over the first: numbers compare false with it.
    if (is_floating(dtype)) return call(functions_.use_real(name, dtype == Dtype::kDouble), a, b);
    return a + (update == Update::kMax ? " > " : " < ") + b + " ? " + a + " : " + b;
  }

 private:
  static bool is_short(Dtype dtype) { return dtype == Dtype::kHalf || dtype == Dtype::kBfloat16; }

  static std::string call(const std::string& f, const std::string& a, const std::string& b) {
    return f + "(" + a + ", " + b + ")";
  }

  std::string rounded(Dtype dtype, const std::string& v) {
    if (!is_short(dtype)) return v;
    return functions_.use(dtype == Dtype::kHalf ? "round_half" : "round_bfloat") + "(" + v + ")";
  }

  template <class T>
  std::string real(T v) const {
    constexpr bool is_float = sizeof(T) == 4;
    if (std::isnan(v))
      return is_float ? "tn_float_of(0x7fc00000)" : "(double)tn_float_of(0x7fc00000)";
    if (std::isinf(v)) return std::string(v < 0 ? "-" : "") + "tn_float_of(0x7f800000)";
    char digits[48];
    const T size = std::fabs(v);
    const auto end =
        std::to_chars(digits, digits + sizeof digits, size, std::chars_format::hex).ptr;
    return std::string(std::signbit(v) ? "(-0x" : "(0x") + std::string(digits, end) +
           (is_float ? "f)" : ")");
  }

  std::string test(int code, Dtype self, const std::string& a) const {
    const bool real = is_floating(self);
    const std::string s = self == Dtype::kDouble ? "" : dialect_.suffix;
    switch (code) {
      case TN_UNARY_LOGICAL_NOT:
        return a + " == 0";
      case TN_UNARY_ISNAN:
        return real ? a + " != " + a : "0";
      case TN_UNARY_ISINF:
        return real ? "fabs" + s + "(" + a + ") == tn_float_of(0x7f800000)" : "0";
      case TN_UNARY_ISFINITE:
        return real ? a + " - " + a + " == 0" : "1";
      default:
        if (self <= Dtype::kUint8) return "0";
        return real ? "copysign" + s + "((" + type(self) + ")1, " + a + ") < 0" : a + " < 0";
    }
  }

  static std::string whole_unary(int code, Dtype self, const std::string& a) {
    const std::string t = "(" + type(self) + ")";
    const std::string minus = t + "(0 - (tn_u64)" + a + ")";
    if (self <= Dtype::kUint8 && (code == TN_UNARY_ABS || code == TN_UNARY_SIGN))
      return code == TN_UNARY_ABS ? a : t + "(" + a + " != 0)";
    switch (code) {
      case TN_UNARY_NEG:
        return minus;
      case TN_UNARY_ABS:
        return a + " < 0 ? " + minus + " : " + a;
      case TN_UNARY_SIGN:
        return t + "((" + a + " > 0) - (" + a + " < 0))";
      case TN_UNARY_BITWISE_NOT:
        return self == Dtype::kBool ? "!" + a : t + "~" + a;
      default:
        return a;  // rounded already
    }
  }

  std::string real_unary(int code, bool is_double, const std::string& a) {
    const std::string t = is_double ? "(double)" : "(float)";
    const std::string s = is_double ? "" : dialect_.suffix;
    switch (code) {
      case TN_UNARY_NEG:
        return "-" + a;
      case TN_UNARY_ABS:
        return "fabs" + s + "(" + a + ")";
      case TN_UNARY_SIGN:
        return t + "((" + a + " > 0) - (" + a + " < 0))";
      case TN_UNARY_ROUND:
        return "rint" + s + "(" + a + ")";
      case TN_UNARY_RSQRT:
        return "1 / sqrt" + s + "(" + a + ")";
      case TN_UNARY_RECIPROCAL:
        return "1 / " + a;
      case TN_UNARY_ERFINV:
      case TN_UNARY_DIGAMMA:
      case TN_UNARY_I0:
        require(Dtype::kDouble);
        [[fallthrough]];
      case TN_UNARY_SIGMOID:
        return functions_.use_real(unary_name(code), is_double) + "(" + a + ")";
      default:
        if (code > TN_UNARY_I0)
          throw NotPrinted("loop program: there is no text for " + std::string(unary_name(code)));
        return std::string(unary_name(code)) + s + "(" + a + ")";  // as in C
    }
  }

  static std::string compared(int code, const std::string& a, const std::string& b) {
    constexpr const char* words[] = {"==", "!=", "<", "<=", ">", ">="};
    if (code < TN_BINARY_LOGICAL_AND) return a + " " + words[code - first_test] + " " + b;
    const char* word = code == TN_BINARY_LOGICAL_AND  ? " && "
                       : code == TN_BINARY_LOGICAL_OR ? " || "
                                                      : " != ";
    return "(" + a + " != 0)" + word + "(" + b + " != 0)";
  }

  std::string whole_binary(int code, Dtype self, const std::string& a, const std::string& b) {
    const bool is_bool = self == Dtype::kBool;
    const std::string t = "(" + type(self) + ")", wide = "(tn_u64)";
    switch (code) {
      case TN_BINARY_ADD:
        return is_bool ? a + " | " + b : t + "(" + wide + a + " + " + wide + b + ")";
      case TN_BINARY_SUB:
        return t + "(" + wide + a + " - " + wide + b + ")";
      case TN_BINARY_MUL:
        return is_bool ? a + " & " + b : t + "(" + wide + a + " * " + wide + b + ")";
      case TN_BINARY_MAX:
      case TN_BINARY_FMAX:
        return a + " > " + b + " ? " + a + " : " + b;
      case TN_BINARY_MIN:
      case TN_BINARY_FMIN:
        return a + " < " + b + " ? " + a + " : " + b;
      case TN_BINARY_BITWISE_AND:
        return t + "(" + a + " & " + b + ")";
      case TN_BINARY_BITWISE_OR:
        return t + "(" + a + " | " + b + ")";
      case TN_BINARY_BITWISE_XOR:
        return t + "(" + a + " ^ " + b + ")";
      case TN_BINARY_SHIFT_LEFT:
        return t + "(" + wide + a + " << (" + b + " & 63))";
      case TN_BINARY_SHIFT_RIGHT:
        return t + "((tn_i64)" + a + " >> (" + b + " & 63))";
      default:
        return t + call(functions_.use("int_" + std::string(binary_name(code))), "(tn_i64)" + a,
                        "(tn_i64)" + b);
    }
  }

  std::string real_binary(int code, bool is_double, const std::string& a, const std::string& b) {
    const std::string s = is_double ? "" : dialect_.suffix;
    constexpr const char* signs[] = {" + ", " - ", " * ", " / "};
    if (code <= TN_BINARY_DIV) return a + signs[code] + b;
    if (code == TN_BINARY_DIV_TRUNC) return "trunc" + s + "(" + a + " / " + b + ")";
    const std::string name(binary_name(code));
    if (code > TN_BINARY_XLOG1PY) throw NotPrinted("loop program: there is no text for " + name);
    const bool of_c = code == TN_BINARY_FMOD || code == TN_BINARY_POW ||
                      (code >= TN_BINARY_ATAN2 && code <= TN_BINARY_COPYSIGN);
    return call(of_c ? name + s : functions_.use_real(name, is_double), a, b);
  }

  const CDialect& dialect_;
  CFunctions functions_;
};

}  // namespace tenon::sdk::loop_program

#endif
