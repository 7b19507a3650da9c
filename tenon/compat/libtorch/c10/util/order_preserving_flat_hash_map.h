// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A hash map whose items keep the order in which their keys were first inserted.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <list>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ska_ordered {

template <class K, class V, class Hash = std::hash<K>, class Equal = std::equal_to<K>>
class order_preserving_flat_hash_map {
  using Items = std::list<std::pair<const K, V>>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = typename Items::value_type;
  using size_type = std::size_t;
  using iterator = typename Items::iterator;
  using const_iterator = typename Items::const_iterator;

  order_preserving_flat_hash_map() = default;
  explicit order_preserving_flat_hash_map(size_type buckets) { reserve(buckets); }
  template <class It>
  order_preserving_flat_hash_map(It first, It last) {
    insert(first, last);
  }
  order_preserving_flat_hash_map(std::initializer_list<value_type> items)
      : order_preserving_flat_hash_map(items.begin(), items.end()) {}
  order_preserving_flat_hash_map(const order_preserving_flat_hash_map& o)
      : order_preserving_flat_hash_map(o.begin(), o.end()) {}
  order_preserving_flat_hash_map(order_preserving_flat_hash_map&& o) { swap(o); }
  order_preserving_flat_hash_map& operator=(order_preserving_flat_hash_map o) {
    swap(o);
    return *this;
  }
  void swap(order_preserving_flat_hash_map& o) {
    items_.swap(o.items_);  // iterators stay valid
    places_.swap(o.places_);
  }

  iterator begin() { return items_.begin(); }
  iterator end() { return items_.end(); }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }
  const_iterator cbegin() const { return items_.begin(); }
  const_iterator cend() const { return items_.end(); }
  size_type size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(size_type n) { places_.reserve(n); }

  iterator find(const K& key) {
    const auto at = places_.find(key);
    return at == places_.end() ? items_.end() : at->second;
  }
  const_iterator find(const K& key) const {
    const auto at = places_.find(key);
    return at == places_.end() ? items_.end() : const_iterator(at->second);
  }
  size_type count(const K& key) const { return places_.count(key); }
  bool contains(const K& key) const { return count(key) != 0; }
  V& at(const K& key) { return const_cast<V&>(std::as_const(*this).at(key)); }
  const V& at(const K& key) const {
    const auto it = find(key);
    if (it == end()) throw std::out_of_range("order_preserving_flat_hash_map::at: no such key");
    return it->second;
  }
  V& operator[](const K& key) { return emplace(key, V()).first->second; }

  // The item of the key, and whether it is new.
  template <class Key, class... A>
  std::pair<iterator, bool> emplace(Key&& key, A&&... value) {
    const iterator found = find(key);
    if (found != end()) return {found, false};
    items_.emplace_back(std::piecewise_construct, std::forward_as_tuple(std::forward<Key>(key)),
                        std::forward_as_tuple(std::forward<A>(value)...));
    const iterator made = std::prev(items_.end());
    places_.emplace(made->first, made);
    return {made, true};
  }
  std::pair<iterator, bool> insert(const value_type& item) {
    return emplace(item.first, item.second);
  }
  template <class It>
  void insert(It first, It last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  template <class Key, class A>
  std::pair<iterator, bool> insert_or_assign(Key&& key, A&& value) {
    const iterator found = find(key);
    if (found == end()) return emplace(std::forward<Key>(key), std::forward<A>(value));
    found->second = std::forward<A>(value);
    return {found, false};
  }
  iterator erase(const_iterator at) {
    places_.erase(at->first);
    return items_.erase(at);
  }
  iterator erase(const_iterator first, const_iterator last) {
    while (first != last) first = erase(first);
    return items_.erase(last, last);
  }
  size_type erase(const K& key) {
    const auto at = find(key);
    if (at == end()) return 0;
    erase(const_iterator(at));
    return 1;
  }
  void clear() {
    places_.clear();
    items_.clear();
  }
  // In any order.
  bool operator==(const order_preserving_flat_hash_map& o) const {
    if (size() != o.size()) return false;
    for (const auto& [key, value] : items_) {
      const auto other = o.find(key);
      if (other == o.end() || !(other->second == value)) return false;
    }
    return true;
  }
  bool operator!=(const order_preserving_flat_hash_map& o) const { return !(*this == o); }

 private:
  Items items_;
  std::unordered_map<K, iterator, Hash, Equal> places_;
};

}  // namespace ska_ordered
