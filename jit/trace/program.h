// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The steps of tracing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/trace/recorder.h"
#include "tenon/jit/trace.h"

namespace tenon::jit::tracing {

using Arguments = std::vector<IValue>;

// "x", or "x0", "x1", ... of several.
std::string argument_name(std::size_t i, std::size_t n);

// The states of the generators of the host and of the devices of the arguments, as they were.
class RandomStates {
 public:
  explicit RandomStates(const Arguments& arguments);
  ~RandomStates();
  RandomStates(const RandomStates&) = delete;

 private:
  std::vector<std::pair<Generator, Tensor>> states_;
};

// One recorded run.
struct Recording {
  std::shared_ptr<Graph> graph;
  std::vector<std::shared_ptr<CompilationUnit>> units;
  IValue result;
  std::vector<Recorder::Written> written;
  Arguments arguments;                 // copies of the examples, after the run
  std::string baked;                   // see Recorder
  std::vector<Tensor> left_gradients;  // see Recorder
};
// A trial. `warn`: of values that become constants. `opened`: see Recorder::look_into.
Recording record(const HostFunctionBody& f, const Arguments& examples, bool warn,
                 const core::Op* opened = nullptr);
// A call: `f` runs once, with these arguments, and what it does stays done. What cannot be recorded
// stands in `baked`, and there is no graph.
Recording record_call(const HostFunctionBody& f, const Arguments& arguments);

// A function of a new unit, "forward" with the types of the examples.
TracedProgram program_of(const Recording& recording, const Arguments& examples);
// A function that calls `f` in each run.
TracedProgram program_of_host(const detail::Traceable& f, const Arguments& examples);

// Sizes of the examples that stand as numbers in the graph.
void warn_of_sizes(const Graph& graph, const Arguments& examples);

// Runs `f` and the recorded program with the examples; Error where graphs or results differ.
void check(const HostFunctionBody& f, const TracedProgram& program, const Arguments& examples,
           double tolerance);

// Constants of the graph, by what they are, become attributes of its new first input `self`.
struct AttributePath {
  std::vector<std::string> names;  // "layer1", "weight"
};
using Attributes = std::map<const void*, AttributePath>;  // by TensorImpl or Object
std::shared_ptr<Graph> with_self(const Graph& graph, const Module& self,
                                 const Attributes& attributes);
// A module with the parameters and buffers of `module`, whose forward is the program; frozen.
Module module_of(const nn::Module& module, const TracedProgram& program);
// Adds the method `forward` with this graph.
void add_forward(Module& m, std::shared_ptr<Graph> graph, const FunctionSchema& without_self);

}  // namespace tenon::jit::tracing
