// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists and dictionaries of modules and parameters, and a function as a module.
#pragma once

#include <initializer_list>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any.h"
#include "tenon/nn/modules/module_sequence.h"

namespace tenon {
namespace nn {

namespace detail {
template <class M>
std::shared_ptr<Module> to_module_ptr(std::shared_ptr<M> module) {
  return module;
}
template <class M>
std::shared_ptr<Module> to_module_ptr(const ModuleHolder<M>& holder) {
  return holder.ptr();
}
template <class M, class = std::enable_if_t<is_module<M>>>
std::shared_ptr<Module> to_module_ptr(M&& module) {
  return std::make_shared<std::decay_t<M>>(std::forward<M>(module));
}
}  // namespace detail

class TENON_API ModuleListImpl : public Cloneable<ModuleListImpl>,
                                 public detail::ModuleSequence<std::shared_ptr<Module>> {
 public:
  ModuleListImpl() = default;
  template <class Head, class... Tail,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Head>, ModuleListImpl> ||
                                     (sizeof...(Tail) > 0)>>
  explicit ModuleListImpl(Head&& head, Tail&&... tail) {
    push_back(std::forward<Head>(head));
    (push_back(std::forward<Tail>(tail)), ...);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Takes a module, a shared_ptr to one or a holder.
  template <class M>
  void push_back(M&& module) {
    append(detail::to_module_ptr(std::forward<M>(module)));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }
  // Modules from index on move up by one.
  template <class M>
  void insert(std::size_t index, M&& module) {
    insert_at(index, detail::to_module_ptr(std::forward<M>(module)));
  }

  template <class T>
  T& at(std::size_t index) {
    return *ptr<T>(index);
  }
  template <class T>
  const T& at(std::size_t index) const {
    return *ptr<T>(index);
  }
  std::shared_ptr<Module> ptr(std::size_t index) const;
  template <class T>
  std::shared_ptr<T> ptr(std::size_t index) const {
    auto out = std::dynamic_pointer_cast<T>(ptr(index));
    TENON_CHECK(out != nullptr, TypeError, "module ", index, " of the ModuleList has another type");
    return out;
  }
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }

 private:
  void append(std::shared_ptr<Module> module);
  void insert_at(std::size_t index, std::shared_ptr<Module> module);
};
TENON_MODULE(ModuleList);

class TENON_API ModuleDictImpl : public Cloneable<ModuleDictImpl> {
 public:
  using Iterator = OrderedDict<std::string, std::shared_ptr<Module>>::Iterator;
  using ConstIterator = OrderedDict<std::string, std::shared_ptr<Module>>::ConstIterator;

  ModuleDictImpl() = default;
  explicit ModuleDictImpl(
      const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  explicit ModuleDictImpl(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  Iterator begin() { return children_.begin(); }
  ConstIterator begin() const { return children_.begin(); }
  Iterator end() { return children_.end(); }
  ConstIterator end() const { return children_.end(); }
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const {
    return children_.pairs();
  }
  std::vector<std::string> keys() const { return children_.keys(); }
  std::vector<std::shared_ptr<Module>> values() const { return children_.values(); }
  std::size_t size() const noexcept { return children_.size(); }
  bool empty() const noexcept { return children_.is_empty(); }
  bool contains(const std::string& key) const noexcept { return children_.contains(key); }
  void clear() { children_.clear(); }
  // Replaces modules whose key exists, appends the others.
  void update(const std::vector<std::pair<std::string, std::shared_ptr<Module>>>& modules);
  void update(const OrderedDict<std::string, std::shared_ptr<Module>>& modules);
  void update(const ModuleDictImpl& other);
  std::shared_ptr<Module> pop(const std::string& key);
  std::shared_ptr<Module> operator[](const std::string& key) const { return children_[key]; }
  template <class T>
  T& at(const std::string& key) {
    return *ptr<T>(key);
  }
  template <class T>
  std::shared_ptr<T> ptr(const std::string& key) const {
    auto out = std::dynamic_pointer_cast<T>(children_[key]);
    TENON_CHECK(out != nullptr, TypeError, "module '", key, "' of the ModuleDict has another type");
    return out;
  }
};
TENON_MODULE(ModuleDict);

// Parameters named by their index.
class TENON_API ParameterListImpl : public Cloneable<ParameterListImpl> {
 public:
  using Iterator = OrderedDict<std::string, Tensor>::Iterator;
  using ConstIterator = OrderedDict<std::string, Tensor>::ConstIterator;

  ParameterListImpl() = default;
  template <class... T, class = std::enable_if_t<(std::is_same_v<std::decay_t<T>, Tensor> && ...) &&
                                                 (sizeof...(T) > 0)>>
  explicit ParameterListImpl(T&&... parameters) {
    (append(Tensor(parameters)), ...);
  }
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Keeps the tensor's requires_grad.
  void append(Tensor parameter);
  void append(const OrderedDict<std::string, Tensor>::Item& parameter) {
    append(parameter.value());
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& parameter : container) append(parameter);
  }
  // Appends the parameters of another list.
  template <class Container>
  ParameterListImpl& operator+=(const Container& other) {
    extend(other);
    return *this;
  }
  Iterator begin() { return parameters_.begin(); }
  ConstIterator begin() const { return parameters_.begin(); }
  Iterator end() { return parameters_.end(); }
  ConstIterator end() const { return parameters_.end(); }
  Tensor& at(std::size_t index);
  const Tensor& at(std::size_t index) const;
  Tensor& operator[](std::size_t index) { return at(index); }
  const Tensor& operator[](std::size_t index) const { return at(index); }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool is_empty() const noexcept { return parameters_.is_empty(); }
};
TENON_MODULE(ParameterList);

class TENON_API ParameterDictImpl : public Cloneable<ParameterDictImpl> {
 public:
  ParameterDictImpl() = default;
  explicit ParameterDictImpl(const OrderedDict<std::string, Tensor>& parameters);
  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Keeps the tensor's requires_grad.
  Tensor& insert(std::string key, Tensor parameter);
  // Takes over the parameters of another dictionary; their keys must exist here.
  void update(const ParameterDictImpl& other);
  Tensor pop(const std::string& key);
  std::vector<std::string> keys() const { return parameters_.keys(); }
  std::vector<Tensor> values() const { return parameters_.values(); }
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  std::size_t size() const noexcept { return parameters_.size(); }
  bool empty() const noexcept { return parameters_.is_empty(); }
  void clear() { parameters_.clear(); }
  bool contains(const std::string& key) const noexcept { return parameters_.contains(key); }
  Tensor& get(const std::string& key) { return parameters_[key]; }
  Tensor& operator[](const std::string& key) { return parameters_[key]; }
};
TENON_MODULE(ParameterDict);

// A function of a tensor as a module; further arguments are bound: Functional(tenon::leaky_relu,
// 0.1).
class TENON_API FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  using Function = SharedFunction<Tensor(Tensor)>;
  explicit FunctionalImpl(Function function);
  template <class F, class... A, class = std::enable_if_t<(sizeof...(A) > 0)>>
  explicit FunctionalImpl(F original, A... args)
      : function_([original, args...](Tensor input) mutable { return original(input, args...); }) {}
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor input);
  Tensor operator()(Tensor input) { return forward(std::move(input)); }
  bool is_serializable() const override;

 private:
  Function function_;
};
TENON_MODULE(Functional);

}  // namespace nn
}  // namespace tenon
