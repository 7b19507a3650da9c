// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small types on streams, as libtorch writes them.
#pragma once

#include <cctype>
#include <complex>
#include <ostream>
#include <string_view>
#include <vector>

#include "tenon/runtime/ref.h"
#include "tenon/tensor.h"

namespace tenon {

template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << "[";
  for (std::size_t i = 0; i < list.size(); ++i) out << (i == 0 ? "" : ", ") << list[i];
  return out << "]";
}

inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }
inline std::ostream& operator<<(std::ostream& out, DeviceType t) { return out << Device(t).str(); }

inline std::ostream& operator<<(std::ostream& out, Half v) { return out << static_cast<float>(v); }
inline std::ostream& operator<<(std::ostream& out, BFloat16 v) {
  return out << static_cast<float>(v);
}

// dtype() and scalar_type() are one type here and two there; the text is dtype()'s, the one that
// programs print. The only place that has libtorch's texts, so they are no column of dtypes.def.
inline std::ostream& operator<<(std::ostream& out, ScalarType t) {
  switch (t) {
    case kByte:
      return out << "unsigned char";
    case kChar:
      return out << "signed char";
    case kShort:
      return out << "short int";
    case kInt:
      return out << "int";
    case kLong:
      return out << "long int";
    case kFloat:
      return out << "float";
    case kDouble:
      return out << "double";
    case kBool:
      return out << "bool";
    case kHalf:
      return out << "c10::Half";
    case kBFloat16:
      return out << "c10::BFloat16";
    case kUInt16:
      return out << "short unsigned int";
    case kUInt32:
      return out << "unsigned int";
    case kUInt64:
      return out << "long unsigned int";
    case kFloat8_e5m2:
    case kFloat8_e4m3fn:
    case kFloat8_e5m2fnuz:
    case kFloat8_e4m3fnuz:
    case kFloat8_e8m0fnu:
      return out << "c10::" << toString(t);
    case kComplexHalf:
      return out << "c10::complex<c10::Half>";
    case kComplexFloat:
      return out << "c10::complex<float>";
    case kComplexDouble:
      return out << "c10::complex<double>";
    default:
      return out << toString(t);
  }
}

// At most 100 of them.
inline std::ostream& operator<<(std::ostream& out, const std::vector<Tensor>& list) {
  for (std::size_t i = 0; i < list.size() && i < 100; ++i) out << (i == 0 ? "" : " ") << list[i];
  return out << (list.size() > 100 ? " ..." : "");
}

// The address, as of a shared_ptr: x.grad_fn() for example.
namespace core {
template <class T>
std::ostream& operator<<(std::ostream& out, const Ref<T>& r) {
  return out << static_cast<const void*>(r.get());
}
}  // namespace core

inline std::ostream& operator<<(std::ostream& out, Layout l) {
  // "Strided", as type strings know a layout: by the first word of its name.
  const std::string_view name = toString(l), word = name.substr(0, name.find('_'));
  for (std::size_t i = 0; i < word.size(); ++i)
    out << (i == 0 ? static_cast<char>(std::toupper(static_cast<unsigned char>(word[i])))
                   : word[i]);
  return out;
}

inline std::ostream& operator<<(std::ostream& out, MemoryFormat f) {
  switch (f) {
    case MemoryFormat::Preserve:
      return out << "Preserve";
    case MemoryFormat::ChannelsLast:
      return out << "ChannelsLast";
    case MemoryFormat::ChannelsLast3d:
      return out << "ChannelsLast3d";
    default:
      return out << "Contiguous";
  }
}

inline std::ostream& operator<<(std::ostream& out, const Scalar& v) {
  if (v.isComplex()) return out << v.to<std::complex<double>>();
  if (v.isFloatingPoint()) return out << v.to<double>();
  if (v.isBoolean()) return out << (v.to<bool>() ? "true" : "false");
  return out << v.to<int64_t>();
}

// "TensorOptions(dtype=double, device=cpu (default), ...)".
inline std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  auto part = [&](const char* label, const auto& value, bool given) {
    out << label << value << (given ? "" : " (default)");
  };
  auto truth = [](bool b) { return b ? "true" : "false"; };
  part("TensorOptions(dtype=", o.dtype(), o.has_dtype());
  part(", device=", o.device(), o.has_device());
  part(", layout=", o.layout(), o.has_layout());
  part(", requires_grad=", truth(o.requires_grad()), o.has_requires_grad());
  part(", pinned_memory=", truth(o.pinned_memory()), o.has_pinned_memory());
  out << ", memory_format=";
  if (const auto format = o.memory_format_opt()) return out << *format << ")";
  return out << "(nullopt))";
}

}  // namespace tenon
