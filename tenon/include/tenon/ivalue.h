// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A value of any kind that programs compute with: what archives hold, what methods of loaded
// programs take and give. A copy shares lists, dictionaries, objects and tensors, as in Python.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iosfwd>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/runtime/ref.h"
#include "tenon/tensor.h"

namespace tenon {

namespace jit {
class Type;
using TypePtr = std::shared_ptr<const Type>;
class ClassType;
using ClassTypePtr = std::shared_ptr<ClassType>;
class Module;
}  // namespace jit

class CustomClassHolder;  // custom_class_holder.h
class IValue;
namespace ivalue {

// What an IValue shares with its copies.
struct Boxed : core::RefCounted {
  virtual ~Boxed() = default;
  static void destroy(const Boxed* p) { delete p; }
};
struct String;
struct List;
struct Dict;
struct Tuple;
struct Object;
struct Future;
struct Enum;
struct GeneratorBox;
struct Capsule;
struct Complex;

}  // namespace ivalue

using core::intrusive_ptr;

// containers.h
template <class T>
class List;
template <class K, class V>
class Dict;
namespace detail {
template <class T>
struct Handle;
// Whether class_ of Tenon::jit may register T.
template <class T>
constexpr bool is_custom_class = std::is_base_of_v<CustomClassHolder, T>;
}  // namespace detail

class TENON_API IValue {
 public:
  enum class Tag : uint8_t {
    None,
    Tensor,
    Double,
    Int,
    Bool,
    String,
    Device,
    Generator,
    List,
    Dict,
    Tuple,
    Object,
    Future,
    Enum,
    ComplexDouble,
    Capsule  // what an object of a class of C++ holds
  };

  IValue() noexcept = default;  // None
  IValue(std::nullopt_t) noexcept {}
  IValue(const IValue& o) noexcept : tag_(o.tag_) {
    if (tag_ == Tag::Tensor) {
      new (&u_.t) Tensor(o.u_.t);
    } else {
      u_.i = o.u_.i;
      if (counted()) u_.p->retain();
    }
  }
  IValue(IValue&& o) noexcept : tag_(o.tag_) { take(o); }
  IValue& operator=(const IValue& o) noexcept {
    IValue(o).swap(*this);
    return *this;
  }
  IValue& operator=(IValue&& o) noexcept {
    IValue held(std::move(o));  // what this holds may own o
    release();
    tag_ = held.tag_;
    take(held);
    return *this;
  }
  ~IValue() { release(); }
  void swap(IValue& o) noexcept {
    IValue held(std::move(o));
    o.tag_ = tag_;  // NOLINT(bugprone-use-after-move): nothing of it is read
    o.take(*this);
    tag_ = held.tag_;
    take(held);
  }

  IValue(Tensor v);  // an undefined tensor stays a tensor
  IValue(bool v) noexcept : tag_(Tag::Bool) { u_.i = v; }
  IValue(double v) noexcept : tag_(Tag::Double) { u_.d = v; }
  IValue(float v) noexcept : IValue(static_cast<double>(v)) {}
  IValue(std::complex<double> v);
  template <class T>
  IValue(const std::complex<T>& v) : IValue(std::complex<double>(v)) {}
  template <class T>
  IValue(const core::complex<T>& v) : IValue(std::complex<double>(v.real(), v.imag())) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
  IValue(T v) noexcept : tag_(Tag::Int) {
    u_.i = static_cast<int64_t>(v);
  }
  IValue(SymInt v) noexcept : IValue(static_cast<int64_t>(v)) {}
  IValue(SymIntArrayRef v) : IValue(asIntArrayRefUnchecked(v)) {}
  IValue(const std::vector<SymInt>& v) : IValue(SymIntArrayRef(v)) {}
  IValue(ScalarType v) noexcept : IValue(static_cast<int64_t>(v)) {}  // as programs see a dtype
  IValue(Layout v) noexcept : IValue(static_cast<int64_t>(v)) {}
  IValue(MemoryFormat v) noexcept : IValue(static_cast<int64_t>(v)) {}
  IValue(const Scalar& v);  // a double, an int or a bool
  IValue(const char* v) : IValue(std::string(v)) {}
  IValue(std::string_view v) : IValue(std::string(v)) {}
  IValue(std::string v);
  IValue(Device v) noexcept;
  IValue(Generator v);
  IValue(core::Ref<ivalue::List> v) noexcept;
  IValue(core::Ref<ivalue::Dict> v) noexcept;
  IValue(core::Ref<ivalue::Tuple> v) noexcept;
  IValue(core::Ref<ivalue::Object> v) noexcept;
  IValue(core::Ref<ivalue::Future> v) noexcept;
  IValue(core::Ref<ivalue::Enum> v) noexcept;
  // An object of the class that class_ registered; of Tenon::jit. TypeError if none did.
  template <class T, std::enable_if_t<detail::is_custom_class<T>, int> = 0>
  IValue(core::Ref<T> v);
  template <class T, std::enable_if_t<detail::is_custom_class<T>, int> = 0>
  IValue(const std::vector<core::Ref<T>>& v);
  static IValue make_capsule(core::Ref<CustomClassHolder> v);
  // New lists; their element type is that of T.
  IValue(const std::vector<int64_t>& v);
  IValue(const std::vector<double>& v);
  IValue(const std::vector<bool>& v);
  IValue(const std::vector<Tensor>& v);
  IValue(const std::vector<std::string>& v);
  IValue(const std::vector<IValue>& v);  // of anything
  IValue(IntArrayRef v);
  IValue(ArrayRef<double> v);
  IValue(TensorList v);
  template <class... T>
  IValue(const std::tuple<T...>& v);
  // The container that the handle is on.
  template <class T>
  IValue(const List<T>& v);
  template <class K, class V>
  IValue(const Dict<K, V>& v);
  template <class T>
  IValue(const std::optional<T>& v) : IValue(v ? IValue(*v) : IValue()) {}

  Tag tag() const noexcept { return tag_; }
  jit::TypePtr type() const;    // of Tenon::jit
  std::string tagKind() const;  // "Tensor", "Int", "GenericList", ...: c10's names

  bool isNone() const noexcept { return tag_ == Tag::None; }
  bool isTensor() const noexcept { return tag_ == Tag::Tensor; }
  bool isDouble() const noexcept { return tag_ == Tag::Double; }
  bool isInt() const noexcept { return tag_ == Tag::Int; }
  bool isBool() const noexcept { return tag_ == Tag::Bool; }
  bool isComplexDouble() const noexcept { return tag_ == Tag::ComplexDouble; }
  // What toScalar() gives: Scalar holds no complex numbers.
  bool isScalar() const noexcept { return isInt() || isDouble() || isBool(); }
  bool isString() const noexcept { return tag_ == Tag::String; }
  bool isDevice() const noexcept { return tag_ == Tag::Device; }
  bool isGenerator() const noexcept { return tag_ == Tag::Generator; }
  bool isList() const noexcept { return tag_ == Tag::List; }
  bool isGenericDict() const noexcept { return tag_ == Tag::Dict; }
  bool isTuple() const noexcept { return tag_ == Tag::Tuple; }
  bool isObject() const noexcept { return tag_ == Tag::Object; }
  bool isModule() const noexcept;  // an object of a class that is a module
  bool isFuture() const noexcept { return tag_ == Tag::Future; }
  bool isEnum() const noexcept { return tag_ == Tag::Enum; }
  bool isCapsule() const noexcept { return tag_ == Tag::Capsule; }
  // Whether copies share it: a tensor that is defined, a text, a container, ...
  bool isPtrType() const noexcept { return isTensor() ? u_.t.defined() : counted(); }
  // Kinds of libtorch that no value here is of.
  bool isBlob() const noexcept { return false; }
  bool isStream() const noexcept { return false; }
  bool isStorage() const noexcept { return false; }
  bool isQuantizer() const noexcept { return false; }
  bool isRRef() const noexcept { return false; }
  bool isPyObject() const noexcept { return false; }
  bool isSymInt() const noexcept { return false; }
  bool isSymFloat() const noexcept { return false; }
  bool isSymBool() const noexcept { return false; }
  bool isCustomClass() const noexcept;  // an object of a class of C++
  // Of a list: by its element type.
  bool isIntList() const noexcept;
  bool isDoubleList() const noexcept;
  bool isBoolList() const noexcept;
  bool isComplexDoubleList() const noexcept;
  bool isTensorList() const noexcept;

  // TypeError names the kind that is held and the one that was asked for.
  const Tensor& toTensor() const {
    if (TENON_UNLIKELY(tag_ != Tag::Tensor)) wrong_kind("Tensor");
    return u_.t;
  }
  double toDouble() const {
    if (TENON_UNLIKELY(tag_ != Tag::Double)) wrong_kind("Double");
    return u_.d;
  }
  int64_t toInt() const {
    if (TENON_UNLIKELY(tag_ != Tag::Int)) wrong_kind("Int");
    return u_.i;
  }
  bool toBool() const {
    if (TENON_UNLIKELY(tag_ != Tag::Bool)) wrong_kind("Bool");
    return u_.i != 0;
  }
  std::complex<double> toComplexDouble() const;
  Scalar toScalar() const;
  const std::string& toStringRef() const;
  core::Ref<ivalue::String> toString() const;  // shares the text
  std::string_view toStringView() const { return toStringRef(); }
  Device toDevice() const;
  ScalarType toScalarType() const { return static_cast<ScalarType>(toInt()); }
  Layout toLayout() const { return static_cast<Layout>(toInt()); }
  MemoryFormat toMemoryFormat() const { return static_cast<MemoryFormat>(toInt()); }
  const Generator& toGenerator() const;
  // The shared thing itself: what is written through it, every copy sees.
  ivalue::List& toListRef() const;
  ivalue::Dict& toDictRef() const;
  ivalue::Tuple& toTupleRef() const;
  ivalue::Object& toObjectRef() const;
  ivalue::Future& toFutureRef() const;
  ivalue::Enum& toEnumRef() const;
  core::Ref<ivalue::Tuple> toTuple() const;
  core::Ref<ivalue::Object> toObject() const;
  core::Ref<ivalue::Future> toFuture() const;
  core::Ref<CustomClassHolder> toCapsule() const;
  // The object of C++, of a class that class_ registered; of Tenon::jit. TypeError for others.
  template <class T>
  core::Ref<T> toCustomClass() const;
  // Of Tenon::jit. It keeps the program that defines its class; Error if that is gone, since the
  // object alone does not keep it.
  jit::Module toModule() const;
  // Copies of lists. TypeError where an element is of another kind.
  std::vector<int64_t> toIntVector() const;
  SymInt toSymInt() const { return toInt(); }
  std::vector<SymInt> toSymIntVector() const { return fromIntArrayRefSlow(toIntVector()).vec(); }
  std::vector<double> toDoubleVector() const;
  std::vector<bool> toBoolVector() const;
  std::vector<Tensor> toTensorVector() const;
  // Handles on the container itself; elements are converted where they are read.
  List<IValue> toList() const;
  List<Tensor> toTensorList() const;
  List<int64_t> toIntList() const;
  List<double> toDoubleList() const;
  List<bool> toBoolList() const;
  Dict<IValue, IValue> toGenericDict() const;

  // The same object, or equal numbers, strings, None: `is` of Python.
  bool is(const IValue& o) const noexcept;
  bool isSameIdentity(const IValue& o) const noexcept { return is(o); }
  // The container that a list, tuple, dictionary or object is a handle on; null for other values.
  const void* container() const noexcept;
  // `==` of Python: by value, containers by their elements. TypeError for tensors of more than one
  // element.
  bool operator==(const IValue& o) const;
  bool operator!=(const IValue& o) const { return !(*this == o); }
  // `==` of Python as a value: for tensors a tensor.
  IValue equals(const IValue& o) const;
  // Itself, as an element of a list is one.
  const IValue& get() const noexcept { return *this; }
  std::size_t use_count() const noexcept;  // 1 for what is not shared
  // Containers and tensors are copied all through; what was shared inside stays shared.
  IValue deepcopy() const;

  template <class T>
  T to() const;
  template <class T>
  std::optional<T> toOptional() const {
    if (isNone()) return std::nullopt;
    return to<T>();
  }

 private:
  IValue(Tag t, ivalue::Boxed* p) noexcept : tag_(p ? t : Tag::None) { u_.p = p; }
  bool counted() const noexcept { return tag_ == Tag::String || tag_ >= Tag::Generator; }
  // What `o` holds, of the kind tag_, which was its own; o is None after. A tensor is a pointer
  // that may be moved as bytes.
  void take(IValue& o) noexcept {
    std::memcpy(static_cast<void*>(&u_), static_cast<const void*>(&o.u_), sizeof u_);
    o.tag_ = Tag::None;
  }
  void release() noexcept {
    if (tag_ == Tag::Tensor)
      u_.t.~Tensor();
    else if (counted() && u_.p->drop())
      ivalue::Boxed::destroy(u_.p);
  }
  [[noreturn]] void wrong_kind(const char* wanted) const;

  Tag tag_ = Tag::None;
  union Payload {
    Payload() noexcept : i(0) {}
    ~Payload() {}
    int64_t i;
    double d;
    ivalue::Boxed* p;
    Tensor t;
  } u_;
};
static_assert(sizeof(IValue) == 16);

// As Python prints it, tensors by shape and dtype.
TENON_API std::ostream& operator<<(std::ostream& out, const IValue& v);

namespace ivalue {

struct String final : Boxed {
  explicit String(std::string v) : text(std::move(v)) {}
  // By the names of libtorch's ConstantString.
  static core::Ref<String> create(std::string v) {
    return core::Ref<String>::adopt(new String(std::move(v)));
  }
  const std::string& string() const noexcept { return text; }
  std::string_view string_view() const noexcept { return text; }
  const std::string text;
};
using ConstantString = String;

struct Complex final : Boxed {
  explicit Complex(std::complex<double> v) : value(v) {}
  const std::complex<double> value;
};

// A list of values of one type. `element` may be null: of anything.
struct TENON_API List final : Boxed {
  explicit List(jit::TypePtr e = nullptr) : element(std::move(e)) {}
  List(jit::TypePtr e, std::vector<IValue> v) : element(std::move(e)), items(std::move(v)) {}
  // As ArrayRef<IValue>, which libtorch's toListRef() returns.
  const IValue* begin() const noexcept { return items.data(); }
  const IValue* end() const noexcept { return items.data() + items.size(); }
  std::size_t size() const noexcept { return items.size(); }
  bool empty() const noexcept { return items.empty(); }
  const IValue& operator[](std::size_t i) const noexcept { return items[i]; }
  operator ArrayRef<IValue>() const noexcept { return items; }
  std::vector<IValue> vec() const { return items; }
  jit::TypePtr element;
  std::vector<IValue> items;
};

// Keys are strings, integers, doubles, booleans or tensors (by identity), in the order of
// insertion.
class TENON_API Dict final : public Boxed {
 public:
  explicit Dict(jit::TypePtr k = nullptr, jit::TypePtr v = nullptr);
  ~Dict() override;
  std::size_t size() const noexcept { return items_.size(); }
  const std::vector<std::pair<IValue, IValue>>& items() const noexcept { return items_; }
  // In items(), size() if absent; TypeError for a key of another kind.
  std::size_t position(const IValue& k) const;
  const IValue* find(const IValue& k) const;  // null if absent; TypeError as above
  bool contains(const IValue& k) const { return find(k) != nullptr; }
  const IValue& at(const IValue& k) const;  // IndexError names the key
  void insert_or_assign(IValue k, IValue v);
  void set_value(std::size_t at, IValue v) { items_[at].second = std::move(v); }
  void reserve(std::size_t n) { items_.reserve(n); }
  bool erase(const IValue& k);
  void clear();
  jit::TypePtr key, value;

 private:
  std::vector<std::pair<IValue, IValue>> items_;
  struct Index;  // from keys to positions, once there are many
  std::unique_ptr<Index> index_;
};

// `type` names the fields of a NamedTuple; null for a plain tuple.
struct TENON_API Tuple final : Boxed {
  explicit Tuple(std::vector<IValue> v, jit::TypePtr t = nullptr)
      : items(std::move(v)), type(std::move(t)) {}
  static core::Ref<Tuple> create(std::vector<IValue> v) {
    return core::Ref<Tuple>::adopt(new Tuple(std::move(v)));
  }
  static core::Ref<Tuple> createNamed(std::vector<IValue> v, jit::TypePtr t) {
    return core::Ref<Tuple>::adopt(new Tuple(std::move(v), std::move(t)));
  }
  const std::vector<IValue>& elements() const noexcept { return items; }
  std::size_t size() const noexcept { return items.size(); }
  std::vector<IValue> items;
  jit::TypePtr type;
};

// What an object needs to know of its class. jit::ClassType implements it.
struct TENON_API ObjectType {
  virtual ~ObjectType() = default;
  virtual const std::string& class_name() const = 0;            // "__torch__.M"
  virtual int find_slot(std::string_view attribute) const = 0;  // -1 if there is none
  virtual const std::string& slot_name(int slot) const = 0;
  virtual bool is_module_class() const = 0;
  virtual bool is_custom_class() const { return false; }  // of C++: its one slot is a capsule
  // A copy of an object of C++, by its state. Error if the class does not give it.
  virtual IValue copy_of(const IValue& object) const { return object; }
};

struct TENON_API Object final : Boxed {
  Object(std::shared_ptr<const ObjectType> t, std::size_t n) : type(std::move(t)), slots(n) {}
  const std::string& name() const { return type->class_name(); }
  bool hasattr(std::string_view attribute) const { return type->find_slot(attribute) >= 0; }
  const IValue& getAttr(std::string_view attribute) const;  // AttributeError's text in an Error
  void setAttr(std::string_view attribute, IValue v);
  const IValue& getSlot(std::size_t slot) const { return slots.at(slot); }
  void setSlot(std::size_t slot, IValue v) { slots.at(slot) = std::move(v); }
  std::shared_ptr<const ObjectType> type;
  std::vector<IValue> slots;
};

struct TENON_API Enum final : Boxed {
  Enum(std::string c, std::string n, IValue v)
      : class_name(std::move(c)), name(std::move(n)), value(std::move(v)) {}
  std::string class_name, name;
  IValue value;
};

// A value that another thread computes.
class TENON_API Future final : public Boxed {
 public:
  Future();
  ~Future() override;
  void markCompleted(IValue v);
  void setError(std::exception_ptr e);
  bool completed() const;
  bool hasError() const;
  bool hasValue() const { return completed() && !hasError(); }
  // Called with the future once it is completed, by the thread that completes it; at once if it is.
  void addCallback(std::function<void(Future&)> f);
  void wait();            // until it is completed
  const IValue& value();  // waits; throws what setError was given
  jit::TypePtr element;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The types that IValue's constructors give to lists: those of libtenon_jit where it is loaded.
struct TENON_API ElementTypes {
  jit::TypePtr integer, floating, boolean, tensor, string, complex;
};
TENON_API const ElementTypes& element_types() noexcept;
TENON_API void set_element_types(const ElementTypes* types) noexcept;

}  // namespace ivalue

inline core::Ref<ivalue::String> IValue::toString() const {
  if (TENON_UNLIKELY(tag_ != Tag::String)) wrong_kind("String");
  return core::Ref<ivalue::String>::share(static_cast<ivalue::String*>(u_.p));
}
inline IValue::IValue(core::Ref<ivalue::List> v) noexcept : IValue(Tag::List, v.leak()) {}
inline IValue::IValue(core::Ref<ivalue::Dict> v) noexcept : IValue(Tag::Dict, v.leak()) {}
inline IValue::IValue(core::Ref<ivalue::Tuple> v) noexcept : IValue(Tag::Tuple, v.leak()) {}
inline IValue::IValue(core::Ref<ivalue::Object> v) noexcept : IValue(Tag::Object, v.leak()) {}
inline IValue::IValue(core::Ref<ivalue::Future> v) noexcept : IValue(Tag::Future, v.leak()) {}
inline IValue::IValue(core::Ref<ivalue::Enum> v) noexcept : IValue(Tag::Enum, v.leak()) {}

template <class... T>
IValue::IValue(const std::tuple<T...>& v)
    : IValue(core::Ref<ivalue::Tuple>::adopt(new ivalue::Tuple(std::apply(
          [](const auto&... part) { return std::vector<IValue>{IValue(part)...}; }, v)))) {}

namespace detail {
// Of Tenon::jit, by the registered class. TypeError names it, and what was given.
TENON_API IValue custom_object(const std::type_info& of, core::Ref<CustomClassHolder> v);
TENON_API CustomClassHolder* custom_holder(const IValue& v, const std::type_info& of);
TENON_API jit::TypePtr custom_class_type(const std::type_info& of);
}  // namespace detail

template <class T, std::enable_if_t<detail::is_custom_class<T>, int>>
IValue::IValue(core::Ref<T> v) {
  if (v) *this = detail::custom_object(typeid(T), std::move(v));
}
template <class T>
core::Ref<T> IValue::toCustomClass() const {
  static_assert(detail::is_custom_class<T>, "T must be derived from CustomClassHolder");
  return core::Ref<T>::share(static_cast<T*>(detail::custom_holder(*this, typeid(T))));
}

template <class T>
T IValue::to() const {
  if constexpr (std::is_same_v<T, IValue>)
    return *this;
  else if constexpr (std::is_same_v<T, Tensor>)
    return toTensor();
  else if constexpr (std::is_same_v<T, bool>)
    return toBool();
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(toDouble());
  else if constexpr (std::is_same_v<T, ScalarType> || std::is_same_v<T, Layout> ||
                     std::is_same_v<T, MemoryFormat> || std::is_integral_v<T>)
    return static_cast<T>(toInt());
  else if constexpr (std::is_same_v<T, std::string>)
    return toStringRef();
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return toComplexDouble();
  else if constexpr (std::is_same_v<T, Scalar>)
    return toScalar();
  else if constexpr (std::is_same_v<T, Device>)
    return toDevice();
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return toIntVector();
  else if constexpr (std::is_same_v<T, std::vector<double>>)
    return toDoubleVector();
  else if constexpr (std::is_same_v<T, std::vector<bool>>)
    return toBoolVector();
  else if constexpr (std::is_same_v<T, std::vector<Tensor>>)
    return toTensorVector();
  else
    return detail::Handle<T>::of(*this);  // List<T>, Dict<K, V>
}

}  // namespace tenon

#include "tenon/containers.h"
