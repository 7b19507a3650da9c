// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ivalue.h"

#include "tenon/runtime/error.h"

namespace tenon {

std::string IValue::tagKind() const {
  static constexpr const char* kNames[] = {"None",   "Tensor",  "Double",     "Int",       "Bool",
                                           "String", "IntList", "DoubleList", "TensorList"};
  return kNames[v_.index()];
}

Scalar IValue::toScalar() const {
  if (isInt()) return toInt();
  if (isBool()) return toBool();
  return toDouble();
}

void IValue::wrong_kind(const char* wanted) const {
  throw TypeError(core::join("IValue: expected ", wanted, " but it holds ", tagKind()));
}

}  // namespace tenon
