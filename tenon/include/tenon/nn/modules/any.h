// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// AnyModule: a module of any class, with the forward() of its class, whatever that takes and
// returns.
#pragma once

#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

namespace detail {

using PackedForward = AnyValue (*)(Module& module, std::vector<AnyValue>& args);
using DefaultArgs = std::vector<std::pair<unsigned, AnyValue>>;

struct AnyAccess {
  template <class M>
  static auto defaults(const M& module, int) -> decltype(module._forward_default_args()) {
    return module._forward_default_args();
  }
  static DefaultArgs defaults(const Module&, long) { return {}; }
};

[[noreturn]] TENON_API void bad_argument(std::size_t i, const std::type_info& wanted,
                                         const std::type_info& given);
// Appends default arguments; the error names the module.
TENON_API void complete_arguments(const Module& module, std::vector<AnyValue>& args,
                                  std::size_t wanted, DefaultArgs defaults);

template <class T>
struct OptionalOf {
  static bool take(AnyValue&, T*) { return false; }
};
template <class U>
struct OptionalOf<std::optional<U>> {
  static bool take(AnyValue& value, std::optional<U>* out) {
    U* inner = value.try_get<U>();
    if (inner) *out = std::move(*inner);
    return inner != nullptr;
  }
};

template <class T>
T take_argument(std::vector<AnyValue>& args, std::size_t i) {
  if (T* value = args[i].try_get<T>()) return std::move(*value);
  if constexpr (std::is_default_constructible_v<T>) {
    T out{};
    if (OptionalOf<T>::take(args[i], &out)) return out;
  }
  bad_argument(i, typeid(T), args[i].type_info());
}

template <class M, class R, class... A>
struct ForwardCall {
  template <std::size_t... I>
  static AnyValue call(M& module, std::vector<AnyValue>& args, std::index_sequence<I...>) {
    static_assert(!std::is_void_v<R>, "forward() of a module in AnyModule must return a value");
    return AnyValue(std::decay_t<R>(module.forward(take_argument<std::decay_t<A>>(args, I)...)));
  }
  static AnyValue packed(Module& module, std::vector<AnyValue>& args) {
    M& typed = static_cast<M&>(module);
    if (args.size() != sizeof...(A))
      complete_arguments(module, args, sizeof...(A), AnyAccess::defaults(typed, 0));
    return call(typed, args, std::index_sequence_for<A...>());
  }
};

template <class M, class C, class R, class... A>
PackedForward forward_of(R (C::*)(A...)) {
  return &ForwardCall<M, R, A...>::packed;
}
template <class M, class C, class R, class... A>
PackedForward forward_of(R (C::*)(A...) const) {
  return &ForwardCall<M, R, A...>::packed;
}
// Modules whose forward() is a template, as that of Sequential, say how to call it with packed
// arguments.
template <class M>
auto find_forward(int) -> decltype(&M::forward_packed) {
  return &M::forward_packed;
}
template <class M>
PackedForward find_forward(long) {
  return forward_of<M>(&M::forward);
}

}  // namespace detail

class TENON_API AnyModule {
 public:
  AnyModule() = default;
  template <class M, class = std::enable_if_t<detail::is_module<M>>>
  explicit AnyModule(std::shared_ptr<M> module)
      : module_(std::move(module)), forward_(detail::find_forward<M>(0)), type_(&typeid(M)) {}
  template <class M, class = std::enable_if_t<detail::is_module<M>>>
  explicit AnyModule(M&& module)
      : AnyModule(std::make_shared<std::decay_t<M>>(std::forward<M>(module))) {}
  template <class M>
  explicit AnyModule(const ModuleHolder<M>& holder) : AnyModule(holder.ptr()) {}

  template <class M, class = std::enable_if_t<detail::is_module<M>>>
  AnyModule& operator=(std::shared_ptr<M> module) {
    return *this = AnyModule(std::move(module));
  }

  // Copies share the module; clone() does not.
  AnyModule clone(const std::optional<Device>& device = std::nullopt) const;

  // The value of forward(), still packed. Arguments must have the types of forward()'s parameters.
  template <class... A>
  AnyValue any_forward(A&&... args) {
    std::vector<AnyValue> packed;
    packed.reserve(sizeof...(A));
    (packed.push_back(pack(std::forward<A>(args))), ...);
    return run(packed);
  }
  template <class R = Tensor, class... A>
  R forward(A&&... args) {
    return any_forward(std::forward<A>(args)...).template get<R>();
  }
  AnyValue run(std::vector<AnyValue>& args);

  template <class T, class = std::enable_if_t<detail::is_module<T>>>
  T& get() {
    return *checked<T>();
  }
  template <class T, class = std::enable_if_t<detail::is_module<T>>>
  const T& get() const {
    return *checked<T>();
  }
  template <class T, class C = typename T::ContainedType>
  T get() const {
    return T(ptr<C>());
  }
  std::shared_ptr<Module> ptr() const;
  template <class T, class = std::enable_if_t<detail::is_module<T>>>
  std::shared_ptr<T> ptr() const {
    ptr();  // which refuses an empty one
    checked<T>();
    return std::static_pointer_cast<T>(module_);
  }
  const std::type_info& type_info() const;
  bool is_empty() const noexcept { return module_ == nullptr; }

  template <class T>
  static AnyValue pack(T&& value) {
    return AnyValue(std::forward<T>(value));
  }
  static AnyValue pack(AnyValue&& value) { return std::move(value); }

 private:
  template <class T>
  T* checked() const {
    check_type(typeid(T));
    return static_cast<T*>(module_.get());
  }
  void check_type(const std::type_info& wanted) const;

  std::shared_ptr<Module> module_;
  detail::PackedForward forward_ = nullptr;
  const std::type_info* type_ = nullptr;
};

// {"name", module} in the braces of Sequential.
class NamedAnyModule {
 public:
  template <class M>
  NamedAnyModule(std::string name, M&& module)
      : name_(std::move(name)), module_(std::forward<M>(module)) {}
  const std::string& name() const noexcept { return name_; }
  AnyModule& module() noexcept { return module_; }
  const AnyModule& module() const noexcept { return module_; }

 private:
  std::string name_;
  AnyModule module_;
};

}  // namespace nn
}  // namespace tenon
