// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A function of one example as a function of many at once.
//
//   auto distances = vmap([](const Tensor& a, const Tensor& b) { return (a - b).norm(); },
//                         {0, std::nullopt});
//   const Tensor d = distances(points, center);  // [100, 3] and [3] give [100]
//
// The function sees one slice of each argument, without the dimension that in_dims names, and its
// results are those of all slices, stacked: what a loop over the slices gives, autograd inside of
// the function and outside of it included, but an operator is called once. Operators without a rule
// for that (docs/tutorial.md) are called slice by slice. As in torch.func.vmap, the function cannot
// ask for a number (item()), branch by an element, or write slices of its own to a tensor that has
// none; unlike there, requires_grad_() and autograd::grad() may be called inside of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// Which dimension of a tensor has the slices; nullopt: none, all slices see the whole tensor. A
// list has one entry per argument or result, or per tensor of a list. One number is for all.
class TENON_API VmapDims {
 public:
  VmapDims(int dim) : dim_(dim) {}
  VmapDims(int64_t dim) : dim_(dim) {}
  VmapDims(std::nullopt_t) {}
  VmapDims(std::optional<int64_t> dim) : dim_(dim) {}
  VmapDims(std::initializer_list<VmapDims> list) : is_list_(true), list_(list) {}
  VmapDims(std::vector<VmapDims> list) : is_list_(true), list_(std::move(list)) {}

  bool is_list() const { return is_list_; }
  const std::optional<int64_t>& dim() const { return dim_; }
  const std::vector<VmapDims>& list() const { return list_; }
  std::string str() const;  // "(0, None)"

 private:
  std::optional<int64_t> dim_;
  bool is_list_ = false;
  std::vector<VmapDims> list_;
};

namespace detail {

struct VmapSettings {
  VmapDims in_dims, out_dims;
  std::string randomness;
  std::optional<int64_t> chunk_size;
};

// One argument or result: a tensor, a list of tensors, or something else.
struct VmapItem {
  enum Kind { kTensor, kList, kOther } kind;
  std::size_t tensors;
};
struct VmapValues {
  std::vector<VmapItem> items;
  std::vector<Tensor> tensors;  // of all items
};
using VmapFunction = std::function<VmapValues(const std::vector<Tensor>&)>;
TENON_API VmapValues run_vmap(const VmapSettings& settings, const VmapValues& arguments,
                              const VmapFunction& function);

inline void add_item(VmapValues& to, const Tensor& t) {
  to.items.push_back({VmapItem::kTensor, 1});
  to.tensors.push_back(t);
}
inline void add_item(VmapValues& to, const std::vector<Tensor>& list) {
  to.items.push_back({VmapItem::kList, list.size()});
  to.tensors.insert(to.tensors.end(), list.begin(), list.end());
}
template <class T>
void add_item(VmapValues& to, const T&) {
  to.items.push_back({VmapItem::kOther, 0});
}
// A list that is all that the function returns has an out_dim for each of its tensors.
inline void add_results(VmapValues& to, const Tensor& t) { add_item(to, t); }
inline void add_results(VmapValues& to, const std::vector<Tensor>& list) {
  for (const Tensor& t : list) add_item(to, t);
}
template <class... T>
void add_results(VmapValues& to, const std::tuple<T...>& parts) {
  std::apply([&](const auto&... part) { (add_item(to, part), ...); }, parts);
}
template <class A, class B>
void add_results(VmapValues& to, const std::pair<A, B>& parts) {
  add_item(to, parts.first);
  add_item(to, parts.second);
}

// Reads what was added, in order.
struct VmapReader {
  const VmapValues& from;
  const std::vector<Tensor>& tensors;
  std::size_t item = 0, tensor = 0;

  void read(Tensor& t) { ++item, t = tensors[tensor++]; }
  void read(std::vector<Tensor>& list) {
    for (Tensor& t : list = std::vector<Tensor>(from.items[item++].tensors)) t = tensors[tensor++];
  }
  template <class T>
  void read(T&) {
    ++item;
  }
  void read_results(Tensor& t) { read(t); }
  void read_results(std::vector<Tensor>& list) { list = tensors; }
  template <class... T>
  void read_results(std::tuple<T...>& parts) {
    std::apply([&](auto&... part) { (read(part), ...); }, parts);
  }
  template <class A, class B>
  void read_results(std::pair<A, B>& parts) {
    read(parts.first);
    read(parts.second);
  }
};

}  // namespace detail

// What vmap returns: called with what the function takes, with the dimension of the slices more.
template <class F>
class Vmapped {
 public:
  Vmapped(F function, detail::VmapSettings settings)
      : function_(std::move(function)), settings_(std::move(settings)) {}

  // Tensors, lists of tensors, and other things, whose in_dim must be nullopt.
  template <class... A>
  auto operator()(const A&... arguments) const {
    using Result = std::decay_t<std::invoke_result_t<const F&, const A&...>>;
    detail::VmapValues given, results;
    (detail::add_item(given, arguments), ...);
    const auto of_slices = [&](const std::vector<Tensor>& slices) {
      std::tuple<A...> own(arguments...);
      detail::VmapReader reader{given, slices};
      std::apply([&](auto&... one) { (reader.read(one), ...); }, own);
      detail::VmapValues out;
      detail::add_results(out, std::apply(function_, std::as_const(own)));
      return out;
    };
    results = detail::run_vmap(settings_, given, of_slices);
    Result out;
    detail::VmapReader{results, results.tensors}.read_results(out);
    return out;
  }

 private:
  F function_;
  detail::VmapSettings settings_;
};

// The function returns a tensor, a list of tensors, or a tuple or pair of these. Dimensions may be
// negative. `randomness` of operators that draw numbers inside: "error" refuses them, "different"
// draws for each slice, "same" once for all. With a chunk_size that many slices are computed at a
// time. Calls may be nested. ValueError for dimensions that do not fit, for slices of different
// numbers and for a batched result whose out_dim is nullopt.
template <class F>
Vmapped<F> vmap(F function, VmapDims in_dims = 0, VmapDims out_dims = 0,
                std::string randomness = "error",
                std::optional<int64_t> chunk_size = std::nullopt) {
  return {std::move(function),
          {std::move(in_dims), std::move(out_dims), std::move(randomness), chunk_size}};
}

}  // namespace tenon
