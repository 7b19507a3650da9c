// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A map that keeps the order of insertion. The search is linear: dictionaries of modules are short,
// and whoever fills a long one knows its keys to be new (push_unique).
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon {

template <class Key, class Value>
class OrderedDict {
 public:
  class Item {
   public:
    Item(Key key, Value value) : pair_(std::move(key), std::move(value)) {}
    Value& operator*() { return pair_.second; }
    const Value& operator*() const { return pair_.second; }
    Value* operator->() { return &pair_.second; }
    const Value* operator->() const { return &pair_.second; }
    const Key& key() const noexcept { return pair_.first; }
    Value& value() noexcept { return pair_.second; }
    const Value& value() const noexcept { return pair_.second; }
    const std::pair<Key, Value>& pair() const noexcept { return pair_; }

   private:
    std::pair<Key, Value> pair_;
  };
  using Iterator = typename std::vector<Item>::iterator;
  using ConstIterator = typename std::vector<Item>::const_iterator;

  // key_description names the keys in errors: "parameter 'x' is not defined".
  explicit OrderedDict(std::string key_description = "Key")
      : key_description_(std::move(key_description)) {}
  OrderedDict(std::initializer_list<Item> items) : OrderedDict() {
    for (const Item& i : items) insert(i.key(), i.value());
  }

  const std::string& key_description() const noexcept { return key_description_; }
  Item& front() { return items_[of_some("front", 0)]; }
  const Item& front() const { return items_[of_some("front", 0)]; }
  Item& back() { return items_[of_some("back", items_.size() - 1)]; }
  const Item& back() const { return items_[of_some("back", items_.size() - 1)]; }
  Item& operator[](std::size_t i) { return items_[checked(i)]; }
  const Item& operator[](std::size_t i) const { return items_[checked(i)]; }
  Value& operator[](const Key& key) {
    if (Value* v = find(key)) return *v;
    missing(key);
  }
  const Value& operator[](const Key& key) const {
    if (const Value* v = find(key)) return *v;
    missing(key);
  }

  Value* find(const Key& key) noexcept {
    for (Item& i : items_) {
      if (i.key() == key) return &i.value();
    }
    return nullptr;
  }
  const Value* find(const Key& key) const noexcept {
    return const_cast<OrderedDict*>(this)->find(key);
  }
  bool contains(const Key& key) const noexcept { return find(key) != nullptr; }

  Iterator begin() { return items_.begin(); }
  Iterator end() { return items_.end(); }
  ConstIterator begin() const { return items_.begin(); }
  ConstIterator end() const { return items_.end(); }
  std::size_t size() const noexcept { return items_.size(); }
  bool is_empty() const noexcept { return items_.empty(); }

  template <class K, class V>
  Value& insert(K&& key, V&& value) {
    if (contains(key))
      throw ValueError(core::join(key_description_, " '", key, "' already defined"));
    items_.emplace_back(Key(std::forward<K>(key)), Value(std::forward<V>(value)));
    return items_.back().value();
  }
  // With braces for the value.
  Value& insert(Key key, Value&& value) {
    return insert<Key, Value>(std::move(key), std::move(value));
  }
  // The caller knows that the keys are new.
  void push_unique(Key key, Value value) { items_.emplace_back(std::move(key), std::move(value)); }
  void update(const OrderedDict& other) {
    for (const Item& i : other) insert(i.key(), i.value());
  }
  void reserve(std::size_t n) { items_.reserve(n); }
  void clear() { items_.clear(); }
  void erase(const Key& key) {
    for (auto i = items_.begin(); i != items_.end(); ++i) {
      if (!(i->key() == key)) continue;
      std::vector<Item> rest;
      for (auto j = items_.begin(); j != items_.end(); ++j) {
        if (j != i) rest.push_back(std::move(*j));
      }
      items_ = std::move(rest);
      return;
    }
    missing(key);
  }

  const std::vector<Item>& items() const noexcept { return items_; }
  std::vector<Key> keys() const {
    std::vector<Key> out;
    for (const Item& i : items_) out.push_back(i.key());
    return out;
  }
  std::vector<Value> values() const {
    std::vector<Value> out;
    for (const Item& i : items_) out.push_back(i.value());
    return out;
  }
  std::vector<std::pair<Key, Value>> pairs() const {
    std::vector<std::pair<Key, Value>> out;
    for (const Item& i : items_) out.push_back(i.pair());
    return out;
  }

 private:
  std::size_t checked(std::size_t i) const {
    TENON_CHECK(i < items_.size(), IndexError, "OrderedDict: index ", i, " is out of bounds for ",
                items_.size(), " items");
    return i;
  }
  std::size_t of_some(const char* method, std::size_t i) const {
    TENON_CHECK(!items_.empty(), IndexError, "Called ", method, "() on an empty OrderedDict");
    return i;
  }
  [[noreturn]] void missing(const Key& key) const {
    throw ValueError(core::join(key_description_, " '", key, "' is not defined"));
  }
  std::string key_description_;
  std::vector<Item> items_;
};

}  // namespace tenon
