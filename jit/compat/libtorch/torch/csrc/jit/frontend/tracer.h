// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recording programs, by libtorch's names; jit::trace of tenon/jit/trace.h does more.
#pragma once

#include <torch/torch.h>

#include "tenon/jit/trace.h"

namespace torch::jit::tracer {

struct TracingState {
  std::shared_ptr<Graph> graph;
};

inline bool isTracing() { return is_tracing(); }

// What the function did with the inputs, and its results; several results are one tuple in the
// graph. Names, `strict` and `force_outplace` change nothing: writes are recorded as they are.
// NotImplementedError for a module: jit::trace takes it.
inline std::pair<std::shared_ptr<TracingState>, Stack> trace(
    Stack inputs, const std::function<Stack(Stack)>& traced_fn,
    const std::function<std::string(const Tensor&)>& = nullptr, bool = true, bool = false,
    Module* self = nullptr, const std::vector<std::string>& = {}) {
  TENON_CHECK(self == nullptr, NotImplementedError,
              "tracer::trace: argument self must be null; jit::trace records modules");
  TraceOptions options;
  options.check_trace = false;
  const TracedProgram program = detail::trace_function(
      {[traced_fn](std::vector<IValue> arguments) {
         Stack results = traced_fn(std::move(arguments));
         return results.size() == 1 ? results[0] : IValue(ivalue::Tuple::create(results));
       },
       Type::any()},
      inputs, options);
  const IValue result = program.call(std::move(inputs));
  Stack results = {result};
  if (result.isTuple()) results = result.toTupleRef().items;
  return {std::make_shared<TracingState>(TracingState{program.graph()}), std::move(results)};
}

}  // namespace torch::jit::tracer
