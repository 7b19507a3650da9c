// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ivalue.h"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tenon/custom_class_holder.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {

struct ivalue::GeneratorBox final : ivalue::Boxed {
  explicit GeneratorBox(Generator g) : generator(std::move(g)) {}
  Generator generator;
};
struct ivalue::Capsule final : ivalue::Boxed {
  explicit Capsule(core::Ref<CustomClassHolder> h) : holder(std::move(h)) {}
  const core::Ref<CustomClassHolder> holder;
};

namespace {

using core::Ref;
using ivalue::element_types;

template <class T, class... A>
Ref<T> make(A&&... a) {
  return Ref<T>::adopt(new T(std::forward<A>(a)...));
}

template <class Range>
Ref<ivalue::List> new_list(const jit::TypePtr& element, const Range& values) {
  auto list = make<ivalue::List>(element);
  list->items.reserve(values.size());
  for (const auto& v : values) list->items.emplace_back(v);
  return list;
}

// Packed into the payload: the type above the index.
int64_t pack(Device d) {
  return static_cast<int64_t>(d.type()) << 8 | static_cast<uint8_t>(d.index());
}

}  // namespace

IValue::IValue(Tensor v) : tag_(Tag::Tensor) { new (&u_.t) Tensor(std::move(v)); }
IValue::IValue(const Scalar& v) {
  if (v.isBoolean())
    *this = IValue(v.to<bool>());
  else if (v.isComplex())
    *this = IValue(std::complex<double>(v.toComplexDouble()));
  else if (v.isFloatingPoint())
    *this = IValue(v.to<double>());
  else
    *this = IValue(v.to<int64_t>());
}
IValue::IValue(std::complex<double> v) : tag_(Tag::ComplexDouble) { u_.p = new ivalue::Complex(v); }
IValue::IValue(std::string v) : tag_(Tag::String) { u_.p = new ivalue::String(std::move(v)); }
IValue::IValue(Device v) noexcept : tag_(Tag::Device) { u_.i = pack(v); }
IValue::IValue(Generator v) : tag_(Tag::Generator) {
  u_.p = new ivalue::GeneratorBox(std::move(v));
}
IValue::IValue(const std::vector<int64_t>& v) : IValue(new_list(element_types().integer, v)) {}
IValue::IValue(const std::vector<double>& v) : IValue(new_list(element_types().floating, v)) {}
IValue::IValue(const std::vector<bool>& v) {
  auto list = make<ivalue::List>(element_types().boolean);
  for (bool b : v) list->items.emplace_back(b);
  *this = IValue(std::move(list));
}
IValue::IValue(const std::vector<Tensor>& v) : IValue(new_list(element_types().tensor, v)) {}
IValue::IValue(const std::vector<std::string>& v) : IValue(new_list(element_types().string, v)) {}
IValue::IValue(const std::vector<IValue>& v) : IValue(new_list(nullptr, v)) {}
IValue::IValue(IntArrayRef v) : IValue(new_list(element_types().integer, v)) {}
IValue::IValue(ArrayRef<double> v) : IValue(new_list(element_types().floating, v)) {}
IValue::IValue(TensorList v) : IValue(new_list(element_types().tensor, v)) {}

std::string IValue::tagKind() const {
  if (isIntList()) return "IntList";
  if (isDoubleList()) return "DoubleList";
  if (isBoolList()) return "BoolList";
  if (isTensorList()) return "TensorList";
  if (isComplexDoubleList()) return "ComplexDoubleList";
  static constexpr const char* kNames[] = {
      "None",   "Tensor",    "Double",        "Int",         "Bool",  "String",
      "Device", "Generator", "GenericList",   "GenericDict", "Tuple", "Object",
      "Future", "Enum",      "ComplexDouble", "Capsule"};
  return kNames[static_cast<int>(tag_)];
}

void IValue::wrong_kind(const char* wanted) const {
  throw TypeError(core::join("IValue: expected ", wanted, " but it holds ", tagKind()));
}

namespace {

bool holds_list(const IValue& v, const jit::TypePtr& element, IValue::Tag tag) {
  if (!v.isList()) return false;
  const ivalue::List& list = v.toListRef();
  if (list.element || list.items.empty()) return list.element && list.element == element;
  for (const IValue& item : list.items) {
    if (item.tag() != tag) return false;
  }
  return true;
}

}  // namespace

bool IValue::isIntList() const noexcept {
  return holds_list(*this, element_types().integer, Tag::Int);
}
bool IValue::isDoubleList() const noexcept {
  return holds_list(*this, element_types().floating, Tag::Double);
}
bool IValue::isBoolList() const noexcept {
  return holds_list(*this, element_types().boolean, Tag::Bool);
}
bool IValue::isTensorList() const noexcept {
  return holds_list(*this, element_types().tensor, Tag::Tensor);
}
bool IValue::isComplexDoubleList() const noexcept {
  return holds_list(*this, element_types().complex, Tag::ComplexDouble);
}
bool IValue::isModule() const noexcept {
  return isObject() && toObjectRef().type->is_module_class();
}

bool IValue::isCustomClass() const noexcept {
  return isObject() && toObjectRef().type->is_custom_class();
}

IValue IValue::make_capsule(core::Ref<CustomClassHolder> v) {
  return v ? IValue(Tag::Capsule, new ivalue::Capsule(std::move(v))) : IValue();
}
core::Ref<CustomClassHolder> IValue::toCapsule() const {
  if (!isCapsule()) wrong_kind("Capsule");
  return static_cast<const ivalue::Capsule*>(u_.p)->holder;
}

std::complex<double> IValue::toComplexDouble() const {
  if (!isComplexDouble()) wrong_kind("ComplexDouble");
  return static_cast<const ivalue::Complex*>(u_.p)->value;
}
Scalar IValue::toScalar() const {
  if (isComplexDouble()) return toComplexDouble();
  if (isInt()) return toInt();
  if (isBool()) return toBool();
  return toDouble();
}
const std::string& IValue::toStringRef() const {
  if (!isString()) wrong_kind("String");
  return static_cast<const ivalue::String*>(u_.p)->text;
}
Device IValue::toDevice() const {
  if (!isDevice()) wrong_kind("Device");
  return Device(static_cast<DeviceType>(u_.i >> 8), static_cast<DeviceIndex>(u_.i & 0xff));
}
const Generator& IValue::toGenerator() const {
  if (!isGenerator()) wrong_kind("Generator");
  return static_cast<const ivalue::GeneratorBox*>(u_.p)->generator;
}
ivalue::List& IValue::toListRef() const {
  if (!isList()) wrong_kind("a list");
  return *static_cast<ivalue::List*>(u_.p);
}
ivalue::Dict& IValue::toDictRef() const {
  if (!isGenericDict()) wrong_kind("GenericDict");
  return *static_cast<ivalue::Dict*>(u_.p);
}
ivalue::Tuple& IValue::toTupleRef() const {
  if (!isTuple()) wrong_kind("Tuple");
  return *static_cast<ivalue::Tuple*>(u_.p);
}
ivalue::Object& IValue::toObjectRef() const {
  if (!isObject()) wrong_kind("Object");
  return *static_cast<ivalue::Object*>(u_.p);
}
ivalue::Future& IValue::toFutureRef() const {
  if (!isFuture()) wrong_kind("Future");
  return *static_cast<ivalue::Future*>(u_.p);
}
ivalue::Enum& IValue::toEnumRef() const {
  if (!isEnum()) wrong_kind("Enum");
  return *static_cast<ivalue::Enum*>(u_.p);
}
Ref<ivalue::Tuple> IValue::toTuple() const { return Ref<ivalue::Tuple>::share(&toTupleRef()); }
Ref<ivalue::Object> IValue::toObject() const { return Ref<ivalue::Object>::share(&toObjectRef()); }
Ref<ivalue::Future> IValue::toFuture() const { return Ref<ivalue::Future>::share(&toFutureRef()); }
void detail::check_position(std::size_t i, std::size_t n) {
  TENON_CHECK(i < n, IndexError, "list index ", i, " is out of range for ", n, " elements");
}

namespace {

template <class T, class F>
std::vector<T> copy_list(const IValue& v, const F& of) {
  std::vector<T> out;
  const auto& items = v.toListRef().items;
  out.reserve(items.size());
  for (const IValue& item : items) out.push_back(of(item));
  return out;
}

}  // namespace

std::vector<int64_t> IValue::toIntVector() const {
  return copy_list<int64_t>(*this, [](const IValue& v) { return v.toInt(); });
}
std::vector<double> IValue::toDoubleVector() const {
  return copy_list<double>(*this, [](const IValue& v) { return v.toDouble(); });
}
std::vector<bool> IValue::toBoolVector() const {
  return copy_list<bool>(*this, [](const IValue& v) { return v.toBool(); });
}
std::vector<Tensor> IValue::toTensorVector() const {
  return copy_list<Tensor>(*this, [](const IValue& v) { return v.toTensor(); });
}

const void* IValue::container() const noexcept {
  switch (tag_) {
    case Tag::List:
      return &toListRef();
    case Tag::Dict:
      return &toDictRef();
    case Tag::Tuple:
      return &toTupleRef();
    case Tag::Object:
      return &toObjectRef();
    default:
      return nullptr;
  }
}

bool IValue::is(const IValue& o) const noexcept {
  if (tag_ != o.tag_) return false;
  if (isNone()) return true;
  if (isTensor()) return toTensor().is_same(o.toTensor());
  if (isDouble()) return u_.d == o.u_.d;
  if (isString()) return toStringRef() == o.toStringRef();
  if (isComplexDouble()) return toComplexDouble() == o.toComplexDouble();
  return u_.i == o.u_.i;  // numbers, and pointers to what is shared
}

namespace {

bool equal_items(const std::vector<IValue>& a, const std::vector<IValue>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}

bool equal_dicts(const ivalue::Dict& a, const ivalue::Dict& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [k, v] : a.items()) {
    const IValue* other = b.find(k);
    if (!other || !(*other == v)) return false;
  }
  return true;
}

}  // namespace

IValue IValue::equals(const IValue& o) const {
  if (isTensor() && o.isTensor()) return toTensor().eq(o.toTensor());
  return *this == o;
}

std::size_t IValue::use_count() const noexcept {
  if (isTensor()) return u_.t.defined() ? u_.t.use_count() : 1;
  return counted() ? u_.p->use_count() : 1;
}

bool IValue::operator==(const IValue& o) const {
  if (isScalar() && o.isScalar()) {
    if (isDouble() || o.isDouble()) return toScalar().to<double>() == o.toScalar().to<double>();
    return u_.i == o.u_.i;
  }
  if (tag_ != o.tag_) {
    const auto complex = [](const IValue& v) {
      return v.isComplexDouble() ? v.toComplexDouble() : v.toScalar().to<double>();
    };
    const bool numbers = (isComplexDouble() && o.isScalar()) || (isScalar() && o.isComplexDouble());
    return numbers && complex(*this) == complex(o);
  }
  switch (tag_) {
    case Tag::Tensor: {
      const Tensor &a = toTensor(), &b = o.toTensor();
      if (!a.defined() || !b.defined()) return a.defined() == b.defined();
      return a.eq(b).item().to<bool>();
    }
    case Tag::String:
      return toStringRef() == o.toStringRef();
    case Tag::List:
      return equal_items(toListRef().items, o.toListRef().items);
    case Tag::Tuple:
      return equal_items(toTupleRef().items, o.toTupleRef().items);
    case Tag::Dict:
      return equal_dicts(toDictRef(), o.toDictRef());
    case Tag::Enum:
      return toEnumRef().class_name == o.toEnumRef().class_name &&
             toEnumRef().name == o.toEnumRef().name;
    default:
      return is(o);
  }
}

namespace {

using Copies = std::unordered_map<const void*, IValue>;

IValue copy_of(const IValue& v, Copies& done);

std::vector<IValue> copies_of(const std::vector<IValue>& items, Copies& done) {
  std::vector<IValue> out;
  out.reserve(items.size());
  for (const IValue& item : items) out.push_back(copy_of(item, done));
  return out;
}

IValue copy_of_object(const IValue& v, Copies& done) {
  const ivalue::Object& o = v.toObjectRef();
  if (o.type->is_custom_class()) return done.emplace(&o, o.type->copy_of(v)).first->second;
  auto made = make<ivalue::Object>(o.type, o.slots.size());
  done.emplace(&o, IValue(made));  // before its attributes, which may refer to it
  made->slots = copies_of(o.slots, done);
  return made;
}

IValue copy_of_container(const IValue& v, Copies& done) {
  if (v.isList()) {
    const ivalue::List& list = v.toListRef();
    return make<ivalue::List>(list.element, copies_of(list.items, done));
  }
  if (v.isTuple()) {
    const ivalue::Tuple& tuple = v.toTupleRef();
    return make<ivalue::Tuple>(copies_of(tuple.items, done), tuple.type);
  }
  const ivalue::Dict& dict = v.toDictRef();
  auto made = make<ivalue::Dict>(dict.key, dict.value);
  for (const auto& [k, item] : dict.items())
    made->insert_or_assign(copy_of(k, done), copy_of(item, done));
  return made;
}

IValue copy_of_tensor(const Tensor& t) {
  if (!t.defined()) return t;
  const Tensor made = t.detach().clone();
  if (t.requires_grad()) made.set_requires_grad(true);
  return made;
}

IValue copy_of(const IValue& v, Copies& done) {
  const void* id = v.isTensor() ? v.toTensor().unsafeGetTensorImpl() : v.container();
  if (!id) return v;
  if (auto it = done.find(id); it != done.end()) return it->second;
  if (v.isObject()) return copy_of_object(v, done);
  IValue made = v.isTensor() ? copy_of_tensor(v.toTensor()) : copy_of_container(v, done);
  done.emplace(id, made);
  return made;
}

}  // namespace

IValue IValue::deepcopy() const {
  Copies done;
  return copy_of(*this, done);
}

namespace ivalue {

// Below this many keys a search by comparison is faster.
constexpr std::size_t kIndexedFrom = 9;

namespace {

bool same_key(const IValue& a, const IValue& b) { return a.isTensor() ? a.is(b) : a == b; }
void check_key(const IValue& k) {
  TENON_CHECK(k.isString() || k.isScalar() || k.isTensor() || k.isComplexDouble(), TypeError,
              "a key of a dictionary is a string, a number, a bool or a tensor, not ", k.tagKind());
}

std::string text_of_key(const IValue& k) {
  if (k.isString()) return "'" + k.toStringRef() + "'";
  if (k.isInt()) return std::to_string(k.toInt());
  if (k.isDouble()) return core::join(k.toDouble());
  return k.tagKind();
}

}  // namespace

struct Dict::Index {
  struct KeyHash {
    std::size_t operator()(const IValue& k) const {
      switch (k.tag()) {
        case IValue::Tag::String:
          return std::hash<std::string>{}(k.toStringRef());
        case IValue::Tag::Double:
          return std::hash<double>{}(k.toDouble());
        case IValue::Tag::ComplexDouble: {  // 1+0j and 1 are one key
          const std::complex<double> z = k.toComplexDouble();
          return std::hash<double>{}(z.real()) ^
                 (z.imag() == 0 ? 0 : std::hash<double>{}(z.imag()));
        }
        case IValue::Tag::Tensor:
          return std::hash<const void*>{}(k.toTensor().unsafeGetTensorImpl());
        default:  // True and 1 are one key, as are 1 and 1.0
          return std::hash<double>{}(k.toScalar().to<double>());
      }
    }
  };
  struct KeyEqual {
    bool operator()(const IValue& a, const IValue& b) const { return same_key(a, b); }
  };
  std::unordered_map<IValue, std::size_t, KeyHash, KeyEqual> at;
};

Dict::Dict(jit::TypePtr k, jit::TypePtr v) : key(std::move(k)), value(std::move(v)) {}
Dict::~Dict() = default;

std::size_t Dict::position(const IValue& k) const {
  check_key(k);
  if (index_) {
    auto it = index_->at.find(k);
    return it == index_->at.end() ? size() : it->second;
  }
  std::size_t i = 0;
  while (i < size() && !same_key(items_[i].first, k)) ++i;
  return i;
}

const IValue* Dict::find(const IValue& k) const {
  const std::size_t at = position(k);
  return at < size() ? &items_[at].second : nullptr;
}

const IValue& Dict::at(const IValue& k) const {
  const IValue* v = find(k);
  TENON_CHECK(v, IndexError, "KeyError: ", text_of_key(k));
  return *v;
}

void Dict::insert_or_assign(IValue k, IValue v) {
  if (const std::size_t at = position(k); at < size()) return set_value(at, std::move(v));
  items_.emplace_back(std::move(k), std::move(v));
  if (index_) {
    index_->at.emplace(items_.back().first, items_.size() - 1);
  } else if (items_.size() >= kIndexedFrom) {
    index_ = std::make_unique<Index>();
    for (std::size_t i = 0; i < items_.size(); ++i) index_->at.emplace(items_[i].first, i);
  }
}

bool Dict::erase(const IValue& k) {
  const std::size_t at = position(k);
  if (at == size()) return false;
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
  index_.reset();  // rebuilt when the dictionary next grows
  return true;
}

void Dict::clear() {
  items_.clear();
  index_.reset();
}

const IValue& Object::getAttr(std::string_view attribute) const {
  const int slot = type->find_slot(attribute);
  TENON_CHECK(slot >= 0, Error, "AttributeError: ", name(), " does not have a field with name '",
              attribute, "'");
  return slots.at(static_cast<std::size_t>(slot));
}

void Object::setAttr(std::string_view attribute, IValue v) {
  const int slot = type->find_slot(attribute);
  TENON_CHECK(slot >= 0, Error, "AttributeError: ", name(), " does not have a field with name '",
              attribute, "'");
  if (slots.size() <= static_cast<std::size_t>(slot))
    slots.resize(static_cast<std::size_t>(slot) + 1);
  slots[static_cast<std::size_t>(slot)] = std::move(v);
}

struct Future::State {
  std::mutex mutex;  // fork: of one future
  std::condition_variable changed;
  bool done = false;
  IValue value;
  std::exception_ptr error;
  std::vector<std::function<void(Future&)>> callbacks;

  // What is to be called now that f has set the value or the error.
  template <class F>
  std::vector<std::function<void(Future&)>> complete(F&& f) {
    const std::lock_guard lock(mutex);
    f();
    done = true;
    changed.notify_all();
    return std::exchange(callbacks, {});
  }
};

Future::Future() : state_(std::make_unique<State>()) {}
Future::~Future() = default;
void Future::markCompleted(IValue v) {
  for (const auto& f : state_->complete([&] { state_->value = std::move(v); })) f(*this);
}
void Future::setError(std::exception_ptr e) {
  for (const auto& f : state_->complete([&] { state_->error = std::move(e); })) f(*this);
}
void Future::addCallback(std::function<void(Future&)> f) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->done) return state_->callbacks.push_back(std::move(f));
  }
  f(*this);
}
bool Future::hasError() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error != nullptr;
}
bool Future::completed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}
void Future::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->done; });
}
const IValue& Future::value() {
  wait();
  if (state_->error) std::rethrow_exception(state_->error);
  return state_->value;
}

namespace {
std::atomic<const ElementTypes*> g_element_types{nullptr};
}
const ElementTypes& element_types() noexcept {
  static const ElementTypes none;
  const ElementTypes* types = g_element_types.load(std::memory_order_acquire);
  return types ? *types : none;
}
void set_element_types(const ElementTypes* types) noexcept {
  g_element_types.store(types, std::memory_order_release);
}

}  // namespace ivalue
}  // namespace tenon
