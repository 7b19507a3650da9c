// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions and modules of C++ as compiled programs: calls are recorded (tenon/jit/trace.h) until
// two of them are the same program; from then on that program runs, without the function: passes
// have made its operators fewer, and pointwise ones run as one loop. Needs libtenon_jit.
//
//   auto f = tenon::compile([&](const Tensor& x) { return (x * scale + shift).tanh().square(); });
//   Tensor y = f(x);  // as the function; a program from the third call on
//   auto net = tenon::compile(model);  // its forward()
//
// The function may compute gradients: a whole step of training, with zero_grad(), backward() and
// step() of an optimizer, is one program. Writes to captured tensors, random numbers and grad() of
// captured leaves are as in the function.
//
// A program belongs to a kind of arguments: dtypes, devices and ranks of the tensors, whether they
// require grad, numbers, the modes (GradMode, InferenceMode, train or eval of a compiled module and
// its children). Sizes belong to it at first. When calls with different sizes turn out to be one
// program, it serves all sizes; turn `dynamic` off for a function that branches on sizes beyond
// those that it has seen.
//
// The function runs as it is, and a warning of category `compile` says why, where it decides
// something from elements (item(), a branch on a tensor) or its operators change from call to call.
// Tensors that it captures are shared, not copied; what else it captures is as it was: reset()
// forgets the programs.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/trace.h"

namespace tenon {

struct CompileOptions {
  bool dynamic = true;            // one program for all sizes, where two of them are the same
  std::size_t max_programs = 32;  // further kinds run the function as it is
};

namespace jit::detail {

// Programs of one function by kind. Copies share them; any thread may call.
class TENON_API CompiledCalls {
 public:
  // The modes of `module`, where there is one, are part of a kind.
  CompiledCalls(Traceable f, CompileOptions options, std::shared_ptr<nn::Module> module = nullptr);
  IValue call(std::vector<IValue> arguments) const;
  std::size_t programs() const;
  std::string str() const;
  void reset();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class F>
struct SignatureOf {
  using type = F;
};
template <class R, class C, class... A>
SignatureOf<R(std::decay_t<A>...)> signature_of(R (C::*)(A...));
template <class R, class C, class... A>
SignatureOf<R(std::decay_t<A>...)> signature_of(R (C::*)(A...) const);
template <class M>
auto forward_signature(int) -> decltype(&M::forward_packed, SignatureOf<Tensor(Tensor)>());
template <class M>
auto forward_signature(long) -> decltype(signature_of(&M::forward));

}  // namespace jit::detail

template <class Signature>
class CompiledFunction;
template <class R, class... A>
class CompiledFunction<R(A...)> {
 public:
  explicit CompiledFunction(jit::detail::CompiledCalls calls) : calls_(std::move(calls)) {}
  R operator()(const A&... arguments) const {
    if constexpr (std::is_void_v<R>)
      calls_.call({jit::detail::to_value(arguments)...});
    else
      return jit::detail::from_value<R>(calls_.call({jit::detail::to_value(arguments)...}));
  }
  // How many there are, and their graphs.
  std::size_t programs() const { return calls_.programs(); }
  std::string str() const { return calls_.str(); }
  void reset() { calls_.reset(); }

 private:
  jit::detail::CompiledCalls calls_;
};

// Of a function, a lambda or another object with one operator(), whose arguments and results are
// tensors and tuples, pairs and vectors of them.
template <class F, class = std::enable_if_t<!jit::detail::is_traced_module<F>>>
auto compile(F f, const CompileOptions& options = {}) {
  using Callable = jit::detail::Callable<F>;
  return CompiledFunction<typename Callable::Signature>(
      jit::detail::CompiledCalls(Callable::body(std::move(f)), options));
}
// Of a module's forward(), with all its arguments.
template <class M>
auto compile(const std::shared_ptr<M>& module, const CompileOptions& options = {}) {
  using Signature = typename decltype(jit::detail::forward_signature<M>(0))::type;
  return CompiledFunction<Signature>(
      jit::detail::CompiledCalls(jit::detail::forward_body(module), options, module));
}
template <class M>
auto compile(const nn::ModuleHolder<M>& module, const CompileOptions& options = {}) {
  return compile(module.ptr(), options);
}

}  // namespace tenon
