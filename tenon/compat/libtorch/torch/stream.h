// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Small types on streams, as libtorch writes them. In namespace tenon, where argument-dependent
// look-up finds them.
#pragma once

#include <ostream>

#include "tenon/types.h"

namespace tenon {

template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << "[";
  for (std::size_t i = 0; i < list.size(); ++i) out << (i == 0 ? "" : ", ") << list[i];
  return out << "]";
}

inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

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
    case kComplexFloat:
      return out << "c10::complex<float>";
    case kComplexDouble:
      return out << "c10::complex<double>";
    default:
      return out << toString(t);
  }
}

}  // namespace tenon
