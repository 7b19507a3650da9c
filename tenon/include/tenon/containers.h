// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Typed handles on the lists and dictionaries of programs, by the names of libtorch. Copies of a
// handle share the container: what is written through one, and by a program, all see. Moving from a
// handle copies it, as in libtorch: there is always a container. Positions and keys that are
// absent: IndexError; elements of another kind: TypeError. Writing ends iterators, references and
// entries.
//
//   c10::List<at::Tensor> images;
//   images.push_back(x);
//   auto boxes = model.forward({images}).toList().get(0).toGenericDict().at("boxes").toTensor();
#pragma once

#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/ivalue.h"  // which includes this at its end

namespace tenon {
namespace detail {

template <class T>
struct IsCustomPointer : std::false_type {};
template <class T>
struct IsCustomPointer<core::Ref<T>> : std::bool_constant<is_custom_class<T>> {};

// The type that lists and dictionaries of such elements say they have; null: of anything.
template <class T>
jit::TypePtr element_type() {
  const ivalue::ElementTypes& all = ivalue::element_types();
  if constexpr (std::is_same_v<T, Tensor>)
    return all.tensor;
  else if constexpr (std::is_same_v<T, bool>)
    return all.boolean;
  else if constexpr (std::is_integral_v<T>)
    return all.integer;
  else if constexpr (std::is_floating_point_v<T>)
    return all.floating;
  else if constexpr (std::is_same_v<T, std::string>)
    return all.string;
  else if constexpr (std::is_same_v<T, std::complex<double>>)
    return all.complex;
  else if constexpr (IsCustomPointer<T>::value)
    return custom_class_type(typeid(decltype(*std::declval<T>())));
  else
    return nullptr;
}

TENON_API void check_position(std::size_t i, std::size_t n);

// What a non-const handle gives at a position: it reads and writes the element there.
template <class T>
class Element {
 public:
  explicit Element(IValue& at) : at_(&at) {}
  operator T() const { return at_->to<T>(); }
  T get() const { return at_->to<T>(); }
  const Element& operator=(T v) const {
    *at_ = IValue(std::move(v));
    return *this;
  }
  const Element& operator=(const Element& o) const { return *this = static_cast<T>(o); }
  friend bool operator==(const Element& a, const T& b) { return static_cast<T>(a) == b; }
  // A number of another type: the language's own comparison would serve as well as the one above,
  // which is ambiguous.
  template <class U, class = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U> &&
                                              !std::is_same_v<T, U>>>
  friend bool operator==(const Element& a, U b) {
    return static_cast<T>(a) == b;
  }

 private:
  IValue* at_;
};

template <class T>
class ElementIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Element<T>;
  ElementIterator() = default;
  explicit ElementIterator(std::vector<IValue>::iterator at) : at_(at) {}
  std::vector<IValue>::iterator base() const { return at_; }
  Element<T> operator*() const { return Element<T>(*at_); }
  Element<T> operator[](difference_type n) const { return Element<T>(at_[n]); }
  ElementIterator& operator+=(difference_type n) { return at_ += n, *this; }
  ElementIterator& operator-=(difference_type n) { return at_ -= n, *this; }
  ElementIterator& operator++() { return ++at_, *this; }
  ElementIterator& operator--() { return --at_, *this; }
  ElementIterator operator++(int) { return ElementIterator(at_++); }
  ElementIterator operator--(int) { return ElementIterator(at_--); }
  ElementIterator operator+(difference_type n) const { return ElementIterator(at_ + n); }
  ElementIterator operator-(difference_type n) const { return ElementIterator(at_ - n); }
  difference_type operator-(const ElementIterator& o) const { return at_ - o.at_; }
  bool operator==(const ElementIterator& o) const { return at_ == o.at_; }
  bool operator!=(const ElementIterator& o) const { return at_ != o.at_; }
  bool operator<(const ElementIterator& o) const { return at_ < o.at_; }
  bool operator>(const ElementIterator& o) const { return at_ > o.at_; }
  bool operator<=(const ElementIterator& o) const { return at_ <= o.at_; }
  bool operator>=(const ElementIterator& o) const { return at_ >= o.at_; }

 private:
  std::vector<IValue>::iterator at_;
};

// A list's elements, and an ArrayRef of them while it lives.
template <class T>
struct ElementsOf : ArrayRef<T> {
  explicit ElementsOf(std::vector<T> v) : ArrayRef<T>(v), owned(std::move(v)) {}
  ElementsOf(ElementsOf&&) noexcept = default;  // the elements stay where they are
  std::vector<T> owned;
};

struct NoConversion;

}  // namespace detail

template <class T>
class List {
  static constexpr bool kGeneric = std::is_same_v<T, IValue>;

 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator =
      std::conditional_t<kGeneric, std::vector<IValue>::iterator, detail::ElementIterator<T>>;
  using reference = std::conditional_t<kGeneric, IValue&, detail::Element<T>>;

  List() : List(detail::element_type<T>()) {}
  List(std::initializer_list<T> items) : List() {
    for (const T& v : items) push_back(v);
  }
  explicit List(ArrayRef<T> items) : List() {
    for (const T& v : items) push_back(v);
  }
  explicit List(const std::vector<T>& items) : List() {
    for (const T& v : items) push_back(v);
  }
  // Of a type that T does not tell, a list of lists for example.
  explicit List(jit::TypePtr element)
      : list_(core::Ref<ivalue::List>::adopt(new ivalue::List(std::move(element)))) {}
  explicit List(core::Ref<ivalue::List> list) : list_(std::move(list)) {}
  List(const List&) = default;
  List& operator=(const List&) = default;

  size_type size() const noexcept { return items().size(); }
  bool empty() const noexcept { return items().empty(); }
  // index() and index_put() take a list of optional tensors by the ArrayRef of its elements.
  using Elements = std::conditional_t<std::is_same_v<T, std::optional<Tensor>>,
                                      detail::ElementsOf<T>, detail::NoConversion>;
  operator Elements() const {
    std::vector<T> elements;
    for (size_type i = 0; i < size(); ++i) elements.push_back(get(i));
    return Elements(std::move(elements));
  }
  T get(size_type i) const { return at(i).template to<T>(); }
  T extract(size_type i) const { return std::exchange(at(i), IValue()).template to<T>(); }
  void set(size_type i, T v) const { at(i) = IValue(std::move(v)); }
  reference operator[](size_type i) const { return reference(at(i)); }
  T front() const { return get(0); }
  T back() const { return get(size() - 1); }

  void push_back(T v) const { items().emplace_back(std::move(v)); }
  template <class... A>
  void emplace_back(A&&... a) const {
    push_back(T(std::forward<A>(a)...));
  }
  void append(const List& o) const {
    const std::vector<IValue> more = o.items();  // may be the same list
    items().insert(items().end(), more.begin(), more.end());
  }
  void pop_back() const {
    (void)at(size() - 1);
    items().pop_back();
  }
  // The new element, and what follows the last one that was erased.
  iterator insert(iterator before, T v) const {
    return iterator(items().insert(position(before), IValue(std::move(v))));
  }
  template <class... A>
  iterator emplace(iterator before, A&&... a) const {
    return insert(before, T(std::forward<A>(a)...));
  }
  iterator erase(iterator at) const { return iterator(items().erase(position(at))); }
  iterator erase(iterator first, iterator last) const {
    return iterator(items().erase(position(first), position(last)));
  }
  void clear() const { items().clear(); }
  void reserve(size_type n) const { items().reserve(n); }
  void resize(size_type n) const { resize(n, T()); }
  void resize(size_type n, const T& v) const { items().resize(n, IValue(v)); }

  iterator begin() const { return iterator(items().begin()); }
  iterator end() const { return iterator(items().end()); }

  std::vector<T> vec() const {
    std::vector<T> out;
    for (const IValue& v : items()) out.push_back(v.to<T>());
    return out;
  }
  operator std::vector<T>() const { return vec(); }
  // Valid while nobody writes the list.
  operator ArrayRef<IValue>() const { return items(); }
  // Another list with the same elements.
  List copy() const {
    return List(core::Ref<ivalue::List>::adopt(new ivalue::List(list_->element, items())));
  }
  bool is(const List& o) const noexcept { return list_ == o.list_; }
  size_type use_count() const noexcept { return list_.use_count(); }
  friend bool operator==(const List& a, const List& b) { return IValue(a) == IValue(b); }
  const jit::TypePtr& elementType() const noexcept { return list_->element; }
  const core::Ref<ivalue::List>& ref() const noexcept { return list_; }

 private:
  std::vector<IValue>& items() const noexcept { return list_->items; }
  static std::vector<IValue>::iterator position(iterator at) {
    if constexpr (kGeneric)
      return at;
    else
      return at.base();
  }
  IValue& at(size_type i) const {
    detail::check_position(i, size());
    return items()[i];
  }

  core::Ref<ivalue::List> list_;
};

template <class K, class V>
class Dict {
 public:
  class Entry {
   public:
    Entry(ivalue::Dict* dict, std::size_t at) : dict_(dict), at_(at) {}
    K key() const { return dict_->items()[at_].first.template to<K>(); }
    V value() const { return dict_->items()[at_].second.template to<V>(); }
    void setValue(V v) const { dict_->set_value(at_, IValue(std::move(v))); }

   private:
    friend class Dict;
    ivalue::Dict* dict_;
    std::size_t at_;
  };
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const Entry*;
    using reference = const Entry&;  // until the iterator moves on
    iterator(ivalue::Dict* dict, std::size_t at) : entry_(dict, at) {}
    reference operator*() const { return entry_; }
    const Entry* operator->() const { return &entry_; }
    iterator& operator++() {
      ++entry_.at_;
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator& o) const { return entry_.at_ == o.entry_.at_; }
    bool operator!=(const iterator& o) const { return !(*this == o); }

   private:
    friend class Dict;
    Entry entry_;
  };

  Dict() : Dict(detail::element_type<K>(), detail::element_type<V>()) {}
  Dict(jit::TypePtr key, jit::TypePtr value)
      : dict_(core::Ref<ivalue::Dict>::adopt(new ivalue::Dict(std::move(key), std::move(value)))) {}
  explicit Dict(core::Ref<ivalue::Dict> dict) : dict_(std::move(dict)) {}
  Dict(const Dict&) = default;
  Dict& operator=(const Dict&) = default;

  std::size_t size() const noexcept { return dict_->size(); }
  bool empty() const noexcept { return size() == 0; }
  bool contains(const K& k) const { return dict_->contains(IValue(k)); }
  V at(const K& k) const { return dict_->at(IValue(k)).template to<V>(); }
  iterator find(const K& k) const { return iterator(dict_.get(), dict_->position(IValue(k))); }
  // Where the key is, and whether it was inserted; a present one keeps its value.
  std::pair<iterator, bool> insert(K k, V v) const {
    if (contains(k)) return {find(k), false};
    return insert_or_assign(std::move(k), std::move(v));
  }
  // Of what K and V are only constructed from explicitly, such as a string_view.
  template <
      class A, class B,
      class = std::enable_if_t<(!std::is_convertible_v<A, K> ||
                                !std::is_convertible_v<B, V>)&&std::is_constructible_v<K, A> &&
                               std::is_constructible_v<V, B>>>
  std::pair<iterator, bool> insert(A&& k, B&& v) const {
    return insert(K(std::forward<A>(k)), V(std::forward<B>(v)));
  }
  std::pair<iterator, bool> insert_or_assign(K k, V v) const {
    const bool is_new = !contains(k);
    dict_->insert_or_assign(IValue(k), IValue(std::move(v)));
    return {find(k), is_new};
  }
  std::size_t erase(const K& k) const { return dict_->erase(IValue(k)); }
  void erase(iterator at) const { (void)erase(at->key()); }
  void clear() const { dict_->clear(); }
  void reserve(std::size_t n) const { dict_->reserve(n); }

  iterator begin() const { return iterator(dict_.get(), 0); }
  iterator end() const { return iterator(dict_.get(), size()); }

  // Another dictionary with the same entries.
  Dict copy() const {
    Dict out(dict_->key, dict_->value);
    for (const auto& [k, v] : dict_->items()) out.dict_->insert_or_assign(k, v);
    return out;
  }
  bool is(const Dict& o) const noexcept { return dict_ == o.dict_; }
  std::size_t use_count() const noexcept { return dict_.use_count(); }
  friend bool operator==(const Dict& a, const Dict& b) { return IValue(a) == IValue(b); }
  const jit::TypePtr& keyType() const noexcept { return dict_->key; }
  const jit::TypePtr& valueType() const noexcept { return dict_->value; }
  const core::Ref<ivalue::Dict>& ref() const noexcept { return dict_; }

 private:
  core::Ref<ivalue::Dict> dict_;
};

namespace impl {
using GenericList = List<IValue>;
using GenericDict = Dict<IValue, IValue>;
}  // namespace impl

template <class T>
IValue::IValue(const List<T>& v) : IValue(v.ref()) {}
template <class T, std::enable_if_t<detail::is_custom_class<T>, int>>
IValue::IValue(const std::vector<core::Ref<T>>& v) : IValue(List<core::Ref<T>>(v)) {}
template <class K, class V>
IValue::IValue(const Dict<K, V>& v) : IValue(v.ref()) {}

namespace detail {
template <class T>
struct Handle;
template <class T>
struct Handle<List<T>> {
  static List<T> of(const IValue& v) {
    return List<T>(core::Ref<ivalue::List>::share(&v.toListRef()));
  }
};
template <class T>
struct Handle<core::Ref<T>> {
  static core::Ref<T> of(const IValue& v) { return v.toCustomClass<T>(); }
};
template <>
struct Handle<SymInt> {
  static SymInt of(const IValue& v) { return v.toSymInt(); }
};
template <>
struct Handle<Generator> {
  static Generator of(const IValue& v) { return v.toGenerator(); }
};
template <class T>
struct Handle<std::optional<T>> {
  static std::optional<T> of(const IValue& v) { return v.toOptional<T>(); }
};
template <class K, class V>
struct Handle<Dict<K, V>> {
  static Dict<K, V> of(const IValue& v) {
    return Dict<K, V>(core::Ref<ivalue::Dict>::share(&v.toDictRef()));
  }
};
// Copies into containers of the standard library.
template <class T>
struct Handle<std::vector<T>> {
  static std::vector<T> of(const IValue& v) {
    std::vector<T> out;
    for (const IValue& each : v.toListRef()) out.push_back(each.to<T>());
    return out;
  }
};
template <class T, std::size_t N>
struct Handle<std::array<T, N>> {
  static std::array<T, N> of(const IValue& v) {
    const std::vector<IValue>& items = v.toListRef().items;
    TENON_CHECK(items.size() == N, ValueError, "expected a list of ", N, " elements, got ",
                items.size());
    std::array<T, N> out;
    for (std::size_t i = 0; i < N; ++i) out[i] = items[i].to<T>();
    return out;
  }
};
template <class K, class V>
struct Handle<std::unordered_map<K, V>> {
  static std::unordered_map<K, V> of(const IValue& v) {
    std::unordered_map<K, V> out;
    for (const std::pair<IValue, IValue>& each : v.toDictRef().items())
      out.emplace(each.first.to<K>(), each.second.to<V>());
    return out;
  }
};
template <class... T>
struct Handle<std::tuple<T...>> {
  static std::tuple<T...> of(const IValue& v) { return of(v, std::index_sequence_for<T...>()); }
  template <std::size_t... I>
  static std::tuple<T...> of(const IValue& v, std::index_sequence<I...>) {
    const std::vector<IValue>& items = v.toTupleRef().items;
    TENON_CHECK(items.size() == sizeof...(T), TypeError, "expected a tuple of ", sizeof...(T),
                " values, got ", items.size());
    return {items[I].template to<T>()...};
  }
};
}  // namespace detail

inline List<IValue> IValue::toList() const { return to<List<IValue>>(); }
inline List<Tensor> IValue::toTensorList() const { return to<List<Tensor>>(); }
inline List<int64_t> IValue::toIntList() const { return to<List<int64_t>>(); }
inline List<double> IValue::toDoubleList() const { return to<List<double>>(); }
inline List<bool> IValue::toBoolList() const { return to<List<bool>>(); }
inline Dict<IValue, IValue> IValue::toGenericDict() const { return to<Dict<IValue, IValue>>(); }

}  // namespace tenon
