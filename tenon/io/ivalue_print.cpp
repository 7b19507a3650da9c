// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ivalue.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace {

void print_items(std::ostream& out, const char* open, const std::vector<IValue>& items,
                 const char* close) {
  out << open;
  for (std::size_t i = 0; i < items.size(); ++i) out << (i ? ", " : "") << items[i];
  out << close;
}

// As a literal of Python.
void print_quoted(std::ostream& out, const std::string& text) {
  constexpr std::string_view kEscaped = "\\\"\a\b\f\n\r\t\v", kLetters = "\\\"abfnrtv";
  out << '"';
  for (const char c : text) {
    const std::size_t at = kEscaped.find(c);
    const auto byte = static_cast<unsigned char>(c);
    if (at != std::string_view::npos)
      out << '\\' << kLetters[at];
    else if (byte >= 0x20 && byte != 0x7f)
      out << c;
    else
      out << '\\' << char('0' + (byte >> 6)) << char('0' + (byte >> 3 & 7))
          << char('0' + (byte & 7));
  }
  out << '"';
}

void print_tensor(std::ostream& out, const Tensor& t) {
  if (!t.defined()) {
    out << "tensor(undefined)";
    return;
  }
  out << "tensor(" << core::join(t.sizes()) << ", " << core::dtype_info(t.scalar_type()).name
      << ", " << t.device().str() << ")";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const IValue& v) {
  switch (v.tag()) {
    case IValue::Tag::None:
      return out << "None";
    case IValue::Tag::Tensor:
      return print_tensor(out, v.toTensor()), out;
    case IValue::Tag::Double:
      return out << core::join(v.toDouble());
    case IValue::Tag::Int:
      return out << v.toInt();
    case IValue::Tag::Bool:
      return out << (v.toBool() ? "True" : "False");
    case IValue::Tag::String:
      return print_quoted(out, v.toStringRef()), out;
    case IValue::Tag::Device:
      return out << v.toDevice().str();
    case IValue::Tag::List:
      return print_items(out, "[", v.toListRef().items, "]"), out;
    case IValue::Tag::Tuple:
      return print_items(out, "(", v.toTupleRef().items, v.toTupleRef().size() == 1 ? ",)" : ")"),
             out;
    case IValue::Tag::Dict: {
      out << "{";
      const char* comma = "";
      for (const auto& [k, item] : v.toDictRef().items()) {
        out << comma << k << ": " << item;
        comma = ", ";
      }
      return out << "}";
    }
    case IValue::Tag::ComplexDouble: {
      const std::complex<double> z = v.toComplexDouble();
      return out << core::join(z.real()) << (std::signbit(z.imag()) ? "-" : "+")
                 << core::join(std::abs(z.imag())) << "j";
    }
    case IValue::Tag::Object:
      return out << "<" << v.toObjectRef().name() << " object>";
    case IValue::Tag::Enum:
      return out << v.toEnumRef().class_name << "." << v.toEnumRef().name;
    default:
      return out << "<" << v.tagKind() << ">";
  }
}

}  // namespace tenon
