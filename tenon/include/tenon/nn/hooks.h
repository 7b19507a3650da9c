// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What runs around the call of a module: hooks, and tensors that are computed from parameters.
// Calls are those through a holder, net(x), and those of AnyModule and Sequential. As in PyTorch,
// forward() itself has no hooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/function_ref.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

class Module;

// The tensors among the arguments or results, in order; those in tuples, lists and optionals, too.
using HookTensors = std::vector<Tensor>;

// Before forward(). What the hook assigns to `inputs` is what forward() gets.
using ForwardPreHook = SharedFunction<void(Module& module, HookTensors& inputs)>;
// After forward(). What the hook assigns to `outputs` is what the caller gets.
using ForwardHook =
    SharedFunction<void(Module& module, const HookTensors& inputs, HookTensors& outputs)>;
// In backward(), before the gradients of the module's outputs pass it. Gradients may be undefined.
using BackwardPreHook = SharedFunction<void(Module& module, HookTensors& grad_output)>;
// In backward(), when the gradients of all inputs of one call are known; `grad_input` has an
// undefined tensor for each input that needs none.
using BackwardHook =
    SharedFunction<void(Module& module, HookTensors& grad_input, const HookTensors& grad_output)>;

namespace detail {
struct ModuleExtras;
struct HookedCall;
}  // namespace detail

// Takes a hook away again. Copies name the same hook. The module may be gone.
class TENON_API RemovableHandle {
 public:
  RemovableHandle() = default;
  RemovableHandle(std::weak_ptr<detail::ModuleExtras> owner, int64_t id)
      : owner_(std::move(owner)), id_(id) {}
  void remove();  // nothing happens the second time
  int64_t id() const noexcept { return id_; }

 private:
  std::weak_ptr<detail::ModuleExtras> owner_;
  int64_t id_ = -1;
};

namespace detail {

// Calls f(Tensor&) for each tensor in a value.
template <class T, class = void>
struct TensorsIn {
  static constexpr bool any = false;
  template <class F>
  static void each(T&, F&&) {}
};
template <>
struct TensorsIn<Tensor> {
  static constexpr bool any = true;
  template <class F>
  static void each(Tensor& t, F&& f) {
    f(t);
  }
};
template <class T>
struct TensorsIn<std::optional<T>> {
  static constexpr bool any = TensorsIn<T>::any;
  template <class F>
  static void each(std::optional<T>& v, F&& f) {
    if (v) TensorsIn<T>::each(*v, f);
  }
};
template <class T>
struct TensorsIn<std::vector<T>> {
  static constexpr bool any = TensorsIn<T>::any;
  template <class F>
  static void each(std::vector<T>& v, F&& f) {
    if constexpr (any) {
      for (T& item : v) TensorsIn<T>::each(item, f);
    }
  }
};
template <class... T>
struct TensorsIn<std::tuple<T...>> {
  static constexpr bool any = (TensorsIn<T>::any || ...);
  template <class F>
  static void each(std::tuple<T...>& v, F&& f) {
    std::apply([&](T&... item) { (TensorsIn<T>::each(item, f), ...); }, v);
  }
};
template <class A, class B>
struct TensorsIn<std::pair<A, B>> {
  static constexpr bool any = TensorsIn<A>::any || TensorsIn<B>::any;
  template <class F>
  static void each(std::pair<A, B>& v, F&& f) {
    TensorsIn<A>::each(v.first, f);
    TensorsIn<B>::each(v.second, f);
  }
};

// One call of a module that has hooks: those it had when the call began.
class TENON_API CallHooks {
 public:
  explicit CallHooks(Module& module);
  ~CallHooks();
  CallHooks(const CallHooks&) = delete;
  void before(const std::vector<Tensor*>& inputs);
  void after(const std::vector<Tensor*>& outputs);

 private:
  std::unique_ptr<HookedCall> call_;
};

// An argument that has tensors is copied, so that hooks can replace them.
template <class A>
using HookArgument = std::conditional_t<TensorsIn<std::decay_t<A>>::any, std::decay_t<A>, A&&>;

template <class M, class... A, std::size_t... I>
decltype(auto) call_hooked(M& module, std::index_sequence<I...>, A&&... args) {
  CallHooks hooks(module);
  std::tuple<HookArgument<A>...> own(std::forward<A>(args)...);
  std::vector<Tensor*> inputs, outputs;
  auto add_input = [&](Tensor& t) { inputs.push_back(&t); };
  (TensorsIn<std::decay_t<A>>::each(const_cast<std::decay_t<A>&>(std::get<I>(own)), add_input),
   ...);
  hooks.before(inputs);
  using Result = decltype(module.forward(std::forward<A>(args)...));
  if constexpr (std::is_void_v<Result>) {
    module.forward(static_cast<A&&>(std::get<I>(own))...);
    hooks.after(outputs);
  } else if constexpr (std::is_reference_v<Result>) {
    Result result = module.forward(static_cast<A&&>(std::get<I>(own))...);
    hooks.after(outputs);
    return static_cast<Result>(result);
  } else {
    Result result = module.forward(static_cast<A&&>(std::get<I>(own))...);
    TensorsIn<std::remove_const_t<Result>>::each(const_cast<std::remove_const_t<Result>&>(result),
                                                 [&](Tensor& t) { outputs.push_back(&t); });
    hooks.after(outputs);
    return result;
  }
}

}  // namespace detail
}  // namespace nn
}  // namespace tenon
