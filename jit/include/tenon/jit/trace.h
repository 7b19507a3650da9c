// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recording programs: a function or a module runs once with example inputs, and the operators that
// it called become a graph. Loops of the host are unrolled, and its branches are the ones that were
// taken.
//
//   auto traced = jit::trace([](const Tensor& x, const Tensor& y) { return x * y + 1; }, {a, b});
//   Tensor z = traced(c, d);
//   jit::Module net = jit::trace(model, {x});  // nn::Linear, std::shared_ptr<MyNet>, ...
//
// Arguments and results are tensors, and tuples and vectors of them. Tensors from outside become
// constants, parameters and buffers of a module its attributes. Calls of functions and methods of
// programs (jit::Function, jit::Module) stay calls, with their control flow. What tracing itself
// writes (captured tensors, states of generators) is as it was afterwards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/module.h"
#include "tenon/jit/trace_types.h"
#include "tenon/nn/module.h"
#include "tenon/nn/pimpl.h"

namespace tenon::jit {

struct TraceOptions {
  // Runs the function again with the example inputs and with each of `check_inputs`: an Error shows
  // how the graphs differ, or which result of the recorded program is off. Turn it off for
  // functions that give other results each time.
  bool check_trace = true;
  std::vector<std::vector<IValue>> check_inputs;  // each of them: all arguments
  double check_tolerance = 1e-5;
};

// Off (TENON_JIT=0 at start): trace gives what it was given, which runs in each call. The
// results are the same.
TENON_API bool tracing_enabled() noexcept;
TENON_API void set_tracing_enabled(bool on) noexcept;
// Whether this thread is recording.
TENON_API bool is_tracing() noexcept;

// A recorded function. Copies share the program.
class TENON_API TracedProgram {
 public:
  TracedProgram(std::shared_ptr<CompilationUnit> unit, Function* f)
      : unit_(std::move(unit)), function_(f) {}
  IValue call(std::vector<IValue> arguments) const { return (*function_)(std::move(arguments)); }
  const Function& function() const { return *function_; }
  const std::shared_ptr<Graph>& graph() const { return function_->graph(); }
  const std::shared_ptr<CompilationUnit>& unit() const noexcept { return unit_; }
  // Scripts of `unit` can call it by this name.
  void add_to(CompilationUnit& unit, const std::string& name) const;
  // A module whose forward it is. Captured tensors that require grad are its parameters.
  Module module() const;
  void save(const std::string& path) const { module().save(path); }

 private:
  std::shared_ptr<CompilationUnit> unit_;
  Function* function_;
};

namespace detail {

TENON_API TracedProgram trace_function(const Traceable& f,
                                       const std::vector<IValue>& example_inputs,
                                       const TraceOptions& options);
TENON_API Module trace_module(const Traceable& forward, std::shared_ptr<nn::Module> module,
                              const std::vector<IValue>& example_inputs,
                              const TraceOptions& options);

template <class F>
inline constexpr bool is_traced_module = nn::detail::is_module_holder<F>;
template <class M>
inline constexpr bool is_traced_module<std::shared_ptr<M>> = true;

}  // namespace detail

template <class Signature>
class TracedFunction;
template <class R, class... A>
class TracedFunction<R(A...)> : public TracedProgram {
 public:
  explicit TracedFunction(TracedProgram p) : TracedProgram(std::move(p)) {}
  R operator()(const A&... arguments) const {
    return detail::from_value<R>(call({detail::to_value(arguments)...}));
  }
};

// Of a function, a lambda or another object with one operator().
template <class F, class = std::enable_if_t<!detail::is_traced_module<F>>>
auto trace(F f, const std::vector<IValue>& example_inputs, const TraceOptions& options = {}) {
  using Traced = TracedFunction<typename detail::Callable<F>::Signature>;
  return Traced(
      detail::trace_function(detail::Callable<F>::body(std::move(f)), example_inputs, options));
}

// Of a module that was made in C++, in the mode (train or eval) that it has. The result has the
// module's own parameters and buffers under their names; it can be trained, and is frozen
// otherwise: setattr, register_* and define throw.
template <class M>
Module trace(const std::shared_ptr<M>& module, const std::vector<IValue>& example_inputs,
             const TraceOptions& options = {}) {
  return detail::trace_module(detail::forward_body(module), module, example_inputs, options);
}
template <class M>
Module trace(const nn::ModuleHolder<M>& module, const std::vector<IValue>& example_inputs,
             const TraceOptions& options = {}) {
  return trace(module.ptr(), example_inputs, options);
}
// With another function than forward(), for modules whose forward() is a template.
template <class F>
Module trace_module(std::shared_ptr<nn::Module> module, F f,
                    const std::vector<IValue>& example_inputs, const TraceOptions& options = {}) {
  return detail::trace_module(detail::Callable<F>::body(std::move(f)), std::move(module),
                              example_inputs, options);
}

}  // namespace tenon::jit
