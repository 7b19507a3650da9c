// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What x.dtype() returns, by the name that functions of programs give their argument.
#pragma once

#include <torch/namespaces.h>

#include <cstddef>
#include <string_view>

#include "tenon/core/dtype.h"

namespace caffe2 {

// A ScalarType by the name that functions of programs give their argument.
class TypeMeta {
 public:
  TypeMeta(::tenon::ScalarType type = ::tenon::ScalarType::Undefined) : type_(type) {}
  operator ::tenon::ScalarType() const { return type_; }
  template <class T>
  static TypeMeta Make() {
    return TypeMeta(::tenon::CppTypeToScalarType<T>::value);
  }
  static TypeMeta fromScalarType(::tenon::ScalarType type) { return TypeMeta(type); }
  ::tenon::ScalarType toScalarType() const { return type_; }
  bool isScalarType() const { return type_ != ::tenon::ScalarType::Undefined; }
  std::size_t itemsize() const { return ::tenon::core::item_size(type_); }
  std::string_view name() const { return ::tenon::toString(type_); }

 private:
  ::tenon::ScalarType type_;
};

}  // namespace caffe2

namespace c10 {

inline ::tenon::ScalarType typeMetaToScalarType(caffe2::TypeMeta type) { return type; }
inline caffe2::TypeMeta scalarTypeToTypeMeta(::tenon::ScalarType type) { return type; }

}  // namespace c10
namespace tenon {
using ::c10::scalarTypeToTypeMeta;
using ::c10::typeMetaToScalarType;
}  // namespace tenon
