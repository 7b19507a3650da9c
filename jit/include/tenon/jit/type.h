// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Types of the values of programs. Types without a name are compared by structure, enums by
// their qualified names; classes and interfaces by identity.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ivalue.h"

namespace tenon::jit {

class Function;

enum class TypeKind : uint8_t {
  Any,
  None,
  Tensor,
  Int,  // also dtypes, layouts and memory formats, as numbers
  Float,
  Complex,
  Bool,
  Number,  // int, float or complex
  String,
  Device,
  Generator,
  Optional,  // contained: one
  List,      // contained: one
  Dict,      // contained: key, value
  Tuple,     // contained: the elements; a NamedTuple has a name and fields
  Union,     // contained: the members
  Future,    // contained: one
  AnyList,   // `list` in isinstance
  AnyTuple,
  Class,
  Interface,
  Enum,      // contained: the type of the values
  Function,  // of prim::Constant[name="f"]() that prim::CallFunction calls
  Var,       // a type variable of a schema: t in aten::append(t[] self, t el)
  AnyEnum,   // of what compares enums

  // The same by the names of libtorch.
  AnyType = Any,
  NoneType = None,
  TensorType = Tensor,
  IntType = Int,
  FloatType = Float,
  ComplexType = Complex,
  BoolType = Bool,
  NumberType = Number,
  StringType = String,
  DeviceObjType = Device,
  GeneratorType = Generator,
  OptionalType = Optional,
  ListType = List,
  DictType = Dict,
  TupleType = Tuple,
  UnionType = Union,
  FutureType = Future,
  ClassType = Class,
  InterfaceType = Interface,
  EnumType = Enum
};

// A name with its scopes, "__torch__.nets.M". libtorch gives an optional one, of a class for
// those; it is this string here, empty for types without a name.
class TypeName : public std::string {
 public:
  TypeName() = default;
  explicit TypeName(std::string qualified) : std::string(std::move(qualified)) {}
  explicit operator bool() const noexcept { return !empty(); }
  bool has_value() const noexcept { return !empty(); }
  const TypeName& value() const noexcept { return *this; }
  const TypeName& operator*() const noexcept { return *this; }
  const TypeName* operator->() const noexcept { return this; }
  const std::string& qualifiedName() const noexcept { return *this; }
  std::string name() const { return substr(rfind('.') + 1); }  // "M"
  std::string prefix() const {                                 // "__torch__.nets"
    const auto dot = rfind('.');
    return dot == npos ? std::string() : substr(0, dot);
  }
  friend const std::string& text(const TypeName& n) noexcept { return n; }  // for messages
};

class TENON_API Type : public std::enable_shared_from_this<Type> {
 public:
  virtual ~Type() = default;
  TypeKind kind() const noexcept { return kind_; }
  bool is(TypeKind k) const noexcept { return kind_ == k; }
  const std::vector<TypePtr>& contained() const noexcept { return contained_; }
  const TypePtr& element() const { return contained_.at(0); }  // of Optional, List, Future
  // Class, Interface, Enum and NamedTuple: qualified, "__torch__.M"; Var: its letter. Else empty.
  const TypeName& name() const noexcept { return name_; }
  const std::vector<std::string>& fields() const noexcept { return fields_; }  // of a NamedTuple
  const std::vector<std::optional<IValue>>& field_defaults() const noexcept { return defaults_; }

  // As schemas print it: "Tensor?", "int[]", "Dict(str, Tensor)", "(Tensor, int)", "Future(int)".
  // Graphs print named tuples with their fields, and Future[int].
  std::string str() const;
  // As programs write it: "Optional[Tensor]", "List[int]", "Tuple[Tensor, int]".
  std::string annotation() const;
  std::string annotation_str() const { return annotation(); }
  std::string repr_str() const { return annotation(); }
  // With another name for each class, interface, enum and named tuple in it.
  std::string annotation(const std::function<std::string(const Type&)>& name) const;

  static const TypePtr& any();
  static const TypePtr& none();
  static const TypePtr& tensor();
  static const TypePtr& integer();
  static const TypePtr& floating();
  static const TypePtr& complex();
  static const TypePtr& boolean();
  static const TypePtr& number();
  static const TypePtr& string();
  static const TypePtr& device();
  static const TypePtr& generator();
  static const TypePtr& any_list();
  static const TypePtr& any_tuple();
  static const TypePtr& any_enum();
  static const TypePtr& function();
  static TypePtr optional(TypePtr of);  // of an Optional, of Any and of None: itself
  static TypePtr list(TypePtr of);
  static TypePtr dict(TypePtr key, TypePtr value);
  static TypePtr tuple(std::vector<TypePtr> of);
  static TypePtr named_tuple(std::string name, std::vector<std::string> fields,
                             std::vector<TypePtr> of,
                             std::vector<std::optional<IValue>> defaults = {});
  static TypePtr union_of(std::vector<TypePtr> members);  // flat; with None of two: an Optional
  static TypePtr future(TypePtr of);
  static TypePtr var(std::string name);

 protected:
  explicit Type(TypeKind k, std::vector<TypePtr> contained = {}, std::string name = {})
      : kind_(k), contained_(std::move(contained)), name_(std::move(name)) {}
  TypeKind kind_;
  std::vector<TypePtr> contained_;
  TypeName name_;
  std::vector<std::string> fields_;
  std::vector<std::optional<IValue>> defaults_;
};

TENON_API bool same_type(const Type& a, const Type& b) noexcept;
// Whether every value of `a` is one of `b` (None and T of Optional[T], int of Number, a list of a
// list type of the same element; all of Any). Lists and dictionaries are invariant.
TENON_API bool is_subtype(const Type& a, const Type& b) noexcept;
// The least type that both belong to: their Optional where one is None, Tensor of two tensors, and
// so on. Null if there is none but Any.
TENON_API TypePtr unify(const TypePtr& a, const TypePtr& b);
// Whether the value is one of the type, elements of containers included. `isinstance`.
TENON_API bool is_instance(const IValue& v, const Type& t);
// The type of a value: of a list by its element type, of a dictionary likewise.
TENON_API TypePtr type_of(const IValue& v);
// Gives lists, dictionaries and tuples inside of `v` the element types that `t` says.
TENON_API void set_element_type(const IValue& v, const TypePtr& t);
// "Tensor?", "int[2]", "Dict(str, Tensor)", "t[]", "(Tensor, int)": as schemas and graphs write
// types; "List[int]" and "Optional[Tensor]" are read, too. `unit` gives the types of names with a
// dot. ValueError says what was expected and where.
class CompilationUnit;
TENON_API TypePtr parse_type(std::string_view text, const CompilationUnit* unit = nullptr);

struct ClassAttribute {
  enum Kind : uint8_t { Plain, Parameter, Buffer };
  std::string name;
  TypePtr type;
  Kind kind = Plain;
};

// A class of a program. Modules are objects of classes with is_module_class(). It is changed while
// the program is defined, and not after the first object was made, but for added attributes.
class TENON_API ClassType final : public Type, public ivalue::ObjectType {
 public:
  static ClassTypePtr make(std::string qualified_name, bool is_module);
  ClassTypePtr self() const {
    return std::static_pointer_cast<ClassType>(std::const_pointer_cast<Type>(shared_from_this()));
  }

  // Where it is defined; null before, and after the end of the unit.
  std::shared_ptr<CompilationUnit> compilation_unit() const { return unit_.lock(); }
  const std::string& class_name() const override { return name_; }
  int find_slot(std::string_view attribute) const override;
  const std::string& slot_name(int slot) const override { return attributes_.at(slot).name; }
  bool is_module_class() const override { return is_module_; }
  bool is_custom_class() const override { return is_custom_; }
  IValue copy_of(const IValue& object) const override;

  const std::vector<ClassAttribute>& attributes() const noexcept { return attributes_; }
  const ClassAttribute* find_attribute(std::string_view name) const;
  // The slot. ValueError if the name is taken by an attribute of another type.
  int add_attribute(std::string name, TypePtr type,
                    ClassAttribute::Kind kind = ClassAttribute::Plain);
  const std::vector<std::pair<std::string, IValue>>& constants() const noexcept {
    return constants_;
  }
  const IValue* find_constant(std::string_view name) const;
  void add_constant(std::string name, IValue value);
  // Functions belong to the compilation unit.
  const std::vector<Function*>& methods() const noexcept { return methods_; }
  Function* find_method(std::string_view name) const;  // null if there is none
  void add_method(Function* f);
  Function* find_static_method(std::string_view name) const;  // of classes of C++
  void add_static_method(Function* f);
  struct Property {
    std::string name;
    Function *getter, *setter;  // setter may be null
  };
  std::vector<Property> properties;
  std::string doc_string;
  // A module that was traced: its attributes and methods stay as they are.
  bool frozen_by_tracing = false;
  // Names of methods that run around forward.
  std::vector<std::string> forward_pre_hooks, forward_hooks;

 private:
  ClassType(std::string qualified_name, bool is_module)
      : Type(TypeKind::Class, {}, std::move(qualified_name)), is_module_(is_module) {}
  friend class CompilationUnit;
  friend class CustomClass;
  bool is_module_;
  bool is_custom_ = false;
  std::weak_ptr<CompilationUnit> unit_;
  std::vector<ClassAttribute> attributes_;
  std::vector<std::pair<std::string, IValue>> constants_;
  std::vector<Function*> methods_, static_methods_;
};

class TENON_API EnumType final : public Type {
 public:
  static std::shared_ptr<EnumType> make(std::string qualified_name, TypePtr value_type,
                                        std::vector<std::pair<std::string, IValue>> members);
  std::vector<std::pair<std::string, IValue>> members;

 private:
  EnumType(std::string qualified_name, TypePtr value_type)
      : Type(TypeKind::Enum, {std::move(value_type)}, std::move(qualified_name)) {}
};

// Downcasts; null for another kind.
inline const ClassType* as_class(const TypePtr& t) {
  return t && t->is(TypeKind::Class) ? static_cast<const ClassType*>(t.get()) : nullptr;
}

}  // namespace tenon::jit
