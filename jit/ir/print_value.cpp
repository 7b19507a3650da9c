// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Constants as graphs and schemas write them.
#include <cmath>
#include <cstdio>

#include "jit/ir/print_value.h"
#include "tenon/creation.h"

namespace tenon::jit {

void print_quoted(std::string& out, std::string_view text) {
  static constexpr std::string_view codes = "\a\b\f\n\r\t\v\\\"'", letters = "abfnrtv\\\"'";
  out += '"';
  for (char c : text) {
    if (std::size_t i = codes.find(c); i != std::string_view::npos) {
      out += '\\';
      out += letters[i];
    } else if (c >= ' ' && c < 127) {
      out += c;
    } else {
      auto u = static_cast<unsigned char>(c);
      for (char d : {'\\', static_cast<char>('0' + u / 64), static_cast<char>('0' + u / 8 % 8),
                     static_cast<char>('0' + u % 8)})
        out += d;
    }
  }
  out += '"';
}

void print_double(std::string& out, double v) {
  char buffer[40];
  if (std::abs(v) < 1e10 && v == std::trunc(v))
    std::snprintf(buffer, sizeof buffer, "%.0f.", v);
  else
    std::snprintf(buffer, sizeof buffer, "%.17g", v);
  out += buffer;
}

namespace {

template <class Items, class F>
void print_items(std::string& out, char open, char close, const Items& items, F print) {
  out += open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ", ";
    first = false;
    print(item);
  }
  out += close;
}

// A tensor of one element shows it; another does not.
void print_tensor(std::string& out, const Tensor& t) {
  if (!t.defined() || t.layout() != kStrided || t.numel() != 1 || t.is_complex()) {
    out += "<Tensor>";
    return;
  }
  char buffer[40];
  Scalar s = t.item();
  if (t.is_floating_point())
    std::snprintf(buffer, sizeof buffer, "{%g}", s.to<double>());
  else
    std::snprintf(buffer, sizeof buffer, "{%lld}", static_cast<long long>(s.to<int64_t>()));
  out += buffer;
}

void print_complex(std::string& out, std::complex<double> z) {
  print_double(out, z.real());
  out += std::signbit(z.imag()) ? '-' : '+';
  print_double(out, std::abs(z.imag()));
  out += 'j';
}

}  // namespace

void print_value(std::string& out, const IValue& v) {
  auto print = [&](const IValue& item) { print_value(out, item); };
  switch (v.tag()) {
    case IValue::Tag::None:
      out += "None";
      return;
    case IValue::Tag::Tensor:
      return print_tensor(out, v.toTensor());
    case IValue::Tag::Double:
      return print_double(out, v.toDouble());
    case IValue::Tag::Int:
      out += std::to_string(v.toInt());
      return;
    case IValue::Tag::ComplexDouble:
      return print_complex(out, v.toComplexDouble());
    case IValue::Tag::Bool:
      out += v.toBool() ? "True" : "False";
      return;
    case IValue::Tag::String:
      return print_quoted(out, v.toStringView());
    case IValue::Tag::Device:
      return print_quoted(out, v.toDevice().str());
    case IValue::Tag::Generator:
      out += "<Generator>";
      return;
    case IValue::Tag::List:
      return print_items(out, '[', ']', v.toListRef().items, print);
    case IValue::Tag::Dict:
      return print_items(out, '{', '}', v.toDictRef().items(), [&](const auto& item) {
        print(item.first);
        out += ": ";
        print(item.second);
      });
    case IValue::Tag::Tuple: {
      const auto& items = v.toTupleRef().items;
      print_items(out, '(', ')', items, print);
      if (items.size() == 1) out.insert(out.size() - 1, ",");
      return;
    }
    case IValue::Tag::Object:
      out += "object(" + v.toObjectRef().name() + ")";
      return;
    case IValue::Tag::Future:
      out += "<Future>";
      return;
    case IValue::Tag::Enum:
      out += v.toEnumRef().class_name + "." + v.toEnumRef().name;
      return;
  }
}

}  // namespace tenon::jit
