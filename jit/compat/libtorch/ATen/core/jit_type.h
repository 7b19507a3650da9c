// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types of programs, by libtorch's names: TensorType::get(), ListType::create(IntType::get()).
#pragma once

#include <torch/namespaces.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/schema.h"
#include "tenon/jit/type.h"
#include "tenon/library_boxing.h"

namespace c10 {
using ::tenon::jit::AliasAnalysisKind;
using ::tenon::jit::ClassType;
using ::tenon::jit::ClassTypePtr;
using ::tenon::jit::EnumType;
using FunctionSchema = ::tenon::jit::SchemaView;
using Argument = ::tenon::jit::ArgumentView;
using ::tenon::jit::Type;
using ::tenon::jit::TypeKind;

// The type that an argument of type T has in a program.
template <class T>
::tenon::jit::TypePtr getTypePtr() {
  return ::tenon::jit::parse_type(::tenon::library::detail::ArgumentType<T>::name());
}

// "TensorType"
inline const char* typeKindToString(TypeKind kind) {
  static constexpr const char* kNames[] = {
      "AnyType",       "NoneType",     "TensorType",   "IntType",      "FloatType",
      "ComplexType",   "BoolType",     "NumberType",   "StringType",   "DeviceObjType",
      "GeneratorType", "OptionalType", "ListType",     "DictType",     "TupleType",
      "UnionType",     "FutureType",   "AnyListType",  "AnyTupleType", "ClassType",
      "InterfaceType", "EnumType",     "FunctionType", "VarType",      "AnyEnumType"};
  return kNames[static_cast<int>(kind)];
}
}  // namespace c10

namespace tenon {

using jit::TypePtr;

#define TENON_SINGLE_TYPE(name, factory)                  \
  struct name {                                           \
    static TypePtr get() { return jit::Type::factory(); } \
  };
TENON_SINGLE_TYPE(AnyType, any)
TENON_SINGLE_TYPE(NoneType, none)
TENON_SINGLE_TYPE(TensorType, tensor)
TENON_SINGLE_TYPE(IntType, integer)
TENON_SINGLE_TYPE(FloatType, floating)
TENON_SINGLE_TYPE(ComplexType, complex)
TENON_SINGLE_TYPE(BoolType, boolean)
TENON_SINGLE_TYPE(NumberType, number)
TENON_SINGLE_TYPE(StringType, string)
TENON_SINGLE_TYPE(DeviceObjType, device)
// A program sees dtypes, layouts and memory formats as numbers.
TENON_SINGLE_TYPE(ScalarTypeType, integer)
TENON_SINGLE_TYPE(LayoutType, integer)
TENON_SINGLE_TYPE(MemoryFormatType, integer)
#undef TENON_SINGLE_TYPE

struct ListType {
  static TypePtr create(TypePtr of) { return jit::Type::list(std::move(of)); }
  static TypePtr ofTensors() { return create(TensorType::get()); }
  static TypePtr ofInts() { return create(IntType::get()); }
  static TypePtr ofFloats() { return create(FloatType::get()); }
  static TypePtr ofBools() { return create(BoolType::get()); }
  static TypePtr ofStrings() { return create(StringType::get()); }
};
struct DictType {
  static TypePtr create(TypePtr key, TypePtr value) {
    return jit::Type::dict(std::move(key), std::move(value));
  }
};
struct OptionalType {
  static TypePtr create(TypePtr of) { return jit::Type::optional(std::move(of)); }
};
struct TupleType {
  static TypePtr create(std::vector<TypePtr> of) { return jit::Type::tuple(std::move(of)); }
  static TypePtr createNamed(const std::optional<std::string>& name,
                             const std::vector<std::string>& fields,
                             const std::vector<TypePtr>& of) {
    return jit::Type::named_tuple(name.value_or(""), fields, of);
  }
};

}  // namespace tenon
