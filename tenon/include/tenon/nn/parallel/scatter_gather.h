// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// scatter() and gather() of structures: tensors, and std::tuple, pair, array, vector, optional,
// map, unordered_map and OrderedDict of structures. Everything else in a structure is an object
// that each device gets a copy of, whatever it holds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/function_ref.h"
#include "tenon/ordered_dict.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace parallel {

namespace detail {

// Gets the tensors that several structures have at one place, a tensor of each.
using Visitor = FunctionRef<void(const std::vector<Tensor*>&)>;

TENON_API void check_same_size(std::size_t size, std::size_t first, const char* what);
TENON_API TENON_COLD void missing_key();

// each() walks structures of one type together, place by place. ValueError: they differ in the
// sizes of vectors, the keys of maps, or in which optionals have a value.
template <class T, class = void>
struct Structure {
  static constexpr bool kHasTensors = false;   // it may have some
  static constexpr bool kOnlyTensors = false;  // there is nothing else in it
  static void each(const std::vector<T*>&, Visitor) {}
};

template <class T>
struct Structure<T, std::enable_if_t<std::is_base_of_v<Tensor, T>>> {
  static constexpr bool kHasTensors = true, kOnlyTensors = true;
  static void each(const std::vector<T*>& all, Visitor f) { f({all.begin(), all.end()}); }
};

template <class Tuple, class... Elements>
struct TupleStructure {
  static constexpr bool kHasTensors = (Structure<Elements>::kHasTensors || ...);
  static constexpr bool kOnlyTensors = (Structure<Elements>::kOnlyTensors && ...);
  static void each(const std::vector<Tuple*>& all, Visitor f) {
    elements(all, f, std::index_sequence_for<Elements...>());
  }

 private:
  template <std::size_t... I>
  static void elements(const std::vector<Tuple*>& all, Visitor f, std::index_sequence<I...>) {
    (element<I, Elements>(all, f), ...);
  }
  template <std::size_t I, class Element>
  static void element(const std::vector<Tuple*>& all, Visitor f) {
    std::vector<Element*> out;
    for (Tuple* t : all) out.push_back(&std::get<I>(*t));
    Structure<Element>::each(out, f);
  }
};
template <class... Elements>
struct Structure<std::tuple<Elements...>> : TupleStructure<std::tuple<Elements...>, Elements...> {};
template <class A, class B>
struct Structure<std::pair<A, B>> : TupleStructure<std::pair<A, B>, A, B> {};

template <class List, class Element>
struct ListStructure {
  static constexpr bool kHasTensors = Structure<Element>::kHasTensors;
  static constexpr bool kOnlyTensors = Structure<Element>::kOnlyTensors;
  static void each(const std::vector<List*>& all, Visitor f) {
    if constexpr (kHasTensors) {
      for (List* list : all) check_same_size(list->size(), all.front()->size(), "vectors");
      for (std::size_t i = 0; i < all.front()->size(); ++i) {
        std::vector<Element*> out;
        for (List* list : all) out.push_back(&(*list)[i]);
        Structure<Element>::each(out, f);
      }
    }
  }
};
template <class T, class Allocator>
struct Structure<std::vector<T, Allocator>> : ListStructure<std::vector<T, Allocator>, T> {};
template <class T, std::size_t n>
struct Structure<std::array<T, n>> : ListStructure<std::array<T, n>, T> {};

template <class T>
struct Structure<std::optional<T>> {
  static constexpr bool kHasTensors = Structure<T>::kHasTensors;
  static constexpr bool kOnlyTensors = Structure<T>::kOnlyTensors;
  static void each(const std::vector<std::optional<T>*>& all, Visitor f) {
    std::vector<T*> out;
    for (auto* o : all) {
      check_same_size(o->has_value(), all.front()->has_value(), "optionals");
      if (*o) out.push_back(&**o);
    }
    if (!out.empty()) Structure<T>::each(out, f);
  }
};

template <class Map>
auto find_value(Map& map, const typename Map::key_type& key) {
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}
template <class Key, class Value>
Value* find_value(OrderedDict<Key, Value>& map, const Key& key) {
  return map.find(key);
}
template <class Key, class Value>
const Key& key_of(const std::pair<const Key, Value>& item) {
  return item.first;
}
template <class Item>
auto key_of(const Item& item) -> decltype(item.key()) {
  return item.key();
}

// Places are those of equal keys: maps with equal keys may differ in their order.
template <class Map, class Value>
struct MapStructure {
  static constexpr bool kHasTensors = Structure<Value>::kHasTensors;
  static constexpr bool kOnlyTensors = Structure<Value>::kOnlyTensors;
  static void each(const std::vector<Map*>& all, Visitor f) {
    if constexpr (kHasTensors) {
      for (Map* map : all) check_same_size(map->size(), all.front()->size(), "maps");
      for (const auto& item : *all.front()) {
        std::vector<Value*> out;
        for (Map* map : all) {
          out.push_back(find_value(*map, key_of(item)));
          if (!out.back()) missing_key();
        }
        Structure<Value>::each(out, f);
      }
    }
  }
};
template <class Key, class Value, class... More>
struct Structure<std::map<Key, Value, More...>>
    : MapStructure<std::map<Key, Value, More...>, Value> {};
template <class Key, class Value, class... More>
struct Structure<std::unordered_map<Key, Value, More...>>
    : MapStructure<std::unordered_map<Key, Value, More...>, Value> {};
template <class Key, class Value>
struct Structure<OrderedDict<Key, Value>> : MapStructure<OrderedDict<Key, Value>, Value> {};

template <class T>
void each_tensor(std::vector<T>& all, Visitor f) {
  std::vector<T*> pointers;
  for (T& t : all) pointers.push_back(&t);
  Structure<T>::each(pointers, f);
}
// The tensors of one structure, without those that are undefined.
template <class T>
void each_tensor(T& one, FunctionRef<void(Tensor&)> f) {
  Structure<T>::each({&one}, [&](const std::vector<Tensor*>& place) {
    if (place.front()->defined()) f(*place.front());
  });
}

// How many pieces scatter() makes of a batch, from one tensor of it after the other.
class TENON_API PieceCount {
 public:
  PieceCount(std::size_t devices, int64_t dim);
  // ValueError: its size along dim is not that of the tensors before.
  void add(const Tensor& t);
  std::size_t pieces() const { return pieces_; }

 private:
  std::size_t devices_, pieces_;
  int64_t dim_;
  std::optional<int64_t> size_;
};
// tensors[0], which may be undefined, is cut; the pieces replace `tensors`.
TENON_API void scatter_into(const std::vector<Tensor*>& tensors, const std::vector<Device>& devices,
                            int64_t dim);
// The joined tensor replaces tensors[0]. All are undefined or none.
TENON_API void gather_into_first(const std::vector<Tensor*>& tensors, Device device, int64_t dim);

}  // namespace detail

// A structure for each device, where tensors are pieces along `dim`, as of autograd::Scatter, and
// undefined tensors and other objects are copies. There are fewer than devices if a batch is small;
// an input without tensors is for all. ValueError: no devices; tensors of different sizes along
// `dim`.
template <class T>
std::vector<T> scatter(const T& input, const std::vector<Device>& devices, int64_t dim = 0) {
  static_assert(std::is_copy_constructible_v<T>, "scatter: each device gets a copy of the input");
  detail::PieceCount count(devices.size(), dim);
  std::vector<T> out(1, input);
  detail::each_tensor(out.front(), [&](Tensor& t) { count.add(t); });
  out.resize(count.pieces(), input);
  const std::vector<Device> used(devices.begin(),
                                 devices.begin() + static_cast<std::ptrdiff_t>(out.size()));
  detail::each_tensor(
      out, [&](const std::vector<Tensor*>& place) { detail::scatter_into(place, used, dim); });
  return out;
}

// One structure, where each tensor joins those that `results` have there, as autograd::Gather does.
// ValueError: no results, or structures that differ.
template <class T>
T gather(std::vector<T> results, Device output_device, int64_t dim = 0) {
  static_assert(detail::Structure<T>::kOnlyTensors,
                "gather: only tensors can be joined, and tuples, pairs, arrays, vectors, optionals "
                "and maps of them");
  TENON_CHECK(!results.empty(), ValueError, "gather: expected at least one result");
  detail::each_tensor(results, [&](const std::vector<Tensor*>& place) {
    detail::gather_into_first(place, output_device, dim);
  });
  return std::move(results.front());
}

}  // namespace parallel
}  // namespace nn
}  // namespace tenon
