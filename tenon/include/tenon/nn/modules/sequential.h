// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules called one after the other, each with the result of the one before.
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any.h"
#include "tenon/nn/modules/module_sequence.h"

namespace tenon {
namespace nn {

class TENON_API SequentialImpl : public Cloneable<SequentialImpl>,
                                 public detail::ModuleSequence<AnyModule> {
 public:
  SequentialImpl() = default;
  explicit SequentialImpl(OrderedDict<std::string, AnyModule>&& modules);
  explicit SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  template <class Head, class... Tail,
            class = std::enable_if_t<!std::is_same_v<std::decay_t<Head>, SequentialImpl> ||
                                     (sizeof...(Tail) > 0)>,
            class = std::enable_if_t<std::is_constructible_v<AnyModule, Head>>>
  explicit SequentialImpl(Head&& head, Tail&&... tail) {
    push_back(std::forward<Head>(head));
    (push_back(std::forward<Tail>(tail)), ...);
  }

  std::shared_ptr<Module> clone(const std::optional<Device>& device = std::nullopt) const override;
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // R is what the last module returns.
  template <class R = Tensor, class... A>
  R forward(A&&... args) {
    std::vector<AnyValue> packed;
    packed.reserve(sizeof...(A));
    (packed.push_back(AnyModule::pack(std::forward<A>(args))), ...);
    AnyValue result = forward_packed(*this, packed);
    if (R* value = result.template try_get<R>()) return std::move(*value);
    detail::bad_result(typeid(R), result.type_info());
  }
  static AnyValue forward_packed(Module& self, std::vector<AnyValue>& args);

  // Takes a module, a shared_ptr to one, a holder or an AnyModule; without a name, its index is the
  // name.
  template <class M>
  void push_back(M&& module) {
    append(std::string(), AnyModule(std::forward<M>(module)));
  }
  template <class M>
  void push_back(std::string name, M&& module) {
    append(std::move(name), AnyModule(std::forward<M>(module)));
  }
  template <class Container>
  void extend(const Container& container) {
    for (const auto& module : container) push_back(module);
  }

  template <class T>
  T& at(std::size_t index) {
    return any(index).template get<T>();
  }
  template <class T>
  const T& at(std::size_t index) const {
    return any(index).template get<T>();
  }
  std::shared_ptr<Module> ptr(std::size_t index) const { return any(index).ptr(); }
  template <class T>
  std::shared_ptr<T> ptr(std::size_t index) const {
    return any(index).template ptr<T>();
  }
  std::shared_ptr<Module> operator[](std::size_t index) const { return ptr(index); }

 private:
  void append(std::string name, AnyModule module);
  AnyModule& any(std::size_t index);
  const AnyModule& any(std::size_t index) const;
};

class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential() = default;
  TENON_API Sequential(std::initializer_list<NamedAnyModule> modules);
};

}  // namespace nn
}  // namespace tenon
