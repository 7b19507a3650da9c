// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Callables without <functional>: FunctionRef borrows for the length of a call, SharedFunction
// owns.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace tenon {

template <class Signature>
class FunctionRef;

template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  FunctionRef() = default;
  FunctionRef(std::nullptr_t) {}
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FunctionRef> &&
                                              std::is_invocable_r_v<R, F&, A...>>>
  FunctionRef(F&& f)
      : object_(address(f)), call_([](void* o, A... a) -> R {
          return static_cast<R>(
              (*reinterpret_cast<std::remove_reference_t<F>*>(o))(std::forward<A>(a)...));
        }) {}
  R operator()(A... a) const { return call_(object_, std::forward<A>(a)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  template <class F>
  static void* address(F& f) {
    if constexpr (std::is_function_v<F>) {
      return reinterpret_cast<void*>(&f);
    } else {
      return const_cast<void*>(static_cast<const volatile void*>(std::addressof(f)));
    }
  }
  void* object_ = nullptr;
  R (*call_)(void*, A...) = nullptr;
};

template <class Signature>
class SharedFunction;

template <class R, class... A>
class SharedFunction<R(A...)> {
 public:
  SharedFunction() = default;
  SharedFunction(std::nullptr_t) {}
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, SharedFunction> &&
                                              std::is_invocable_r_v<R, std::decay_t<F>&, A...>>>
  SharedFunction(F&& f)
      : object_(std::make_shared<std::decay_t<F>>(std::forward<F>(f))),
        call_([](void* o, A... a) -> R {
          return static_cast<R>((*static_cast<std::decay_t<F>*>(o))(std::forward<A>(a)...));
        }) {}
  R operator()(A... a) const { return call_(object_.get(), std::forward<A>(a)...); }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  std::shared_ptr<void> object_;
  R (*call_)(void*, A...) = nullptr;
};

}  // namespace tenon
