// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/run/text_of_values.h"

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "tenon/print.h"

namespace tenon::jit {
namespace {

// A number without a fraction ends in a point, unless it is too large for an int64.
std::string text_of_double(double v) {
  if (std::abs(v) < 0x1p63 && v == std::trunc(v))
    return std::to_string(static_cast<int64_t>(v)) + ".";
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << v;
  return out.str();
}

std::string text_of_complex(const std::complex<double>& z) {
  const std::string imaginary = text_of_double(std::abs(z.imag()));
  return text_of_double(z.real()) + (std::signbit(z.imag()) ? "-" : "+") + imaginary + "j";
}

template <class Items>
std::string joined(const Items& items) {
  std::string out;
  for (const IValue& item : items) out += (out.empty() ? "" : ", ") + text_of(item);
  return out;
}

std::string text_of_dict(const ivalue::Dict& d) {
  std::string out;
  for (const auto& [key, value] : d.items())
    out += (out.empty() ? "" : ", ") + text_of(key) + ": " + text_of(value);
  return "{" + out + "}";
}

}  // namespace

std::string text_of(const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::String:
      return v.toStringRef();
    case IValue::Tag::Double:
      return text_of_double(v.toDouble());
    case IValue::Tag::ComplexDouble:
      return text_of_complex(v.toComplexDouble());
    case IValue::Tag::Tensor:
      return to_text(v.toTensor(), PrintStyle::Libtorch);
    case IValue::Tag::List:
      return "[" + joined(v.toListRef().items) + "]";
    case IValue::Tag::Tuple:
      return "(" + joined(v.toTupleRef().items) + (v.toTupleRef().size() == 1 ? ",)" : ")");
    case IValue::Tag::Dict:
      return text_of_dict(v.toDictRef());
    default: {
      std::ostringstream out;
      out << v;
      return out.str();
    }
  }
}

}  // namespace tenon::jit
