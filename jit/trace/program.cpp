// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/trace/program.h"

#include <algorithm>

#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace detail {

const std::vector<IValue>& tuple_items(const IValue& v, std::size_t n) {
  const std::vector<IValue>& items = v.toTupleRef().items;
  TENON_CHECK(items.size() == n, TypeError, "expected a tuple of ", n, " values, got ",
              items.size());
  return items;
}

void check_count(std::size_t given, std::size_t taken) {
  TENON_CHECK(given <= taken, TypeError, "trace: the function takes ", taken, " arguments, got ",
              given);
}

}  // namespace detail

namespace tracing {

std::string argument_name(std::size_t i, std::size_t n) {
  return n == 1 ? "x" : "x" + std::to_string(i);
}

RandomStates::RandomStates(const Arguments& arguments) {
  const Unrecorded pause;
  std::vector<Device> devices = {Device(kCPU)};
  for (const IValue& v : arguments) {
    if (v.isTensor() && v.toTensor().defined()) devices.push_back(v.toTensor().device());
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i))
      continue;
    Generator g = default_generator(devices[i]);
    const Tensor state = g.get_state();
    states_.emplace_back(std::move(g), state);
  }
}

RandomStates::~RandomStates() {
  const Unrecorded pause;
  for (auto& [generator, state] : states_) generator.set_state(state);
}

namespace {

// Arguments and result; the rest comes when the recorder is finished.
Recording run(Recorder& recorder, const HostFunctionBody& f, const Arguments& arguments) {
  Recording made;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    made.arguments.push_back(recorder.add_input(argument_name(i, arguments.size()), arguments[i]));
  recorder.start();
  made.result = f(made.arguments);
  return made;
}

}  // namespace

Recording record(const HostFunctionBody& f, const Arguments& examples, bool warn,
                 const core::Op* opened) {
  const RandomStates random(examples);
  Recorder recorder(warn);
  recorder.look_into(opened);
  Recording made = run(recorder, f, examples);
  recorder.finish(made.result);
  made.graph = recorder.graph();
  made.units = recorder.units();
  made.written = recorder.written();
  made.baked = recorder.baked();
  made.graph->lint();
  return made;
}

Recording record_call(const HostFunctionBody& f, const Arguments& arguments) {
  Recorder recorder(false, Recorder::Run::Call);
  Recording made = run(recorder, f, arguments);
  try {
    recorder.finish(made.result);
    made.graph = recorder.graph();
    made.left_gradients = recorder.left_gradients();
    made.units = recorder.units();
    made.baked = recorder.baked();
    made.graph->lint();
  } catch (const Error& e) {
    made.graph = nullptr;
    made.baked = e.msg();
  }
  return made;
}

namespace {

FunctionSchema schema_of(const Arguments& examples, TypePtr result) {
  FunctionSchema s;
  s.name = "forward";
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Argument a;
    a.name = argument_name(i, examples.size());
    a.type = type_of(examples[i]);
    s.arguments.push_back(std::move(a));
  }
  Argument r;
  r.type = std::move(result);
  s.returns.push_back(std::move(r));
  return s;
}

}  // namespace

TracedProgram program_of(const Recording& recording, const Arguments& examples) {
  auto unit = std::make_shared<CompilationUnit>();
  for (const auto& used : recording.units) unit->keep(used);
  const TypePtr& result = recording.graph->outputs().at(0)->type();
  Function* f = unit->add_function(
      std::make_unique<Function>("forward", recording.graph, schema_of(examples, result)));
  return {std::move(unit), f};
}

TracedProgram program_of_host(const detail::Traceable& f, const Arguments& examples) {
  auto unit = std::make_shared<CompilationUnit>();
  Function* made = unit->add_host_function(schema_of(examples, f.result), f.run);
  return {std::move(unit), made};
}

namespace {

TracedProgram recorded(const HostFunctionBody& f, const Arguments& examples,
                       const TraceOptions& options) {
  TENON_CHECK(!is_tracing(), Error, "trace: called inside of a function that is traced");
  const Recording recording = record(f, examples, true);
  warn_of_sizes(*recording.graph, examples);
  TracedProgram program = program_of(recording, examples);
  if (options.check_trace) {
    check(f, program, examples, options.check_tolerance);
    for (const Arguments& further : options.check_inputs)
      check(f, program, further, options.check_tolerance);
  }
  return program;
}

}  // namespace
}  // namespace tracing

namespace detail {

TracedProgram trace_function(const Traceable& f, const std::vector<IValue>& example_inputs,
                             const TraceOptions& options) {
  return tracing_enabled() ? tracing::recorded(f.run, example_inputs, options)
                           : tracing::program_of_host(f, example_inputs);
}

Module trace_module(const Traceable& forward, std::shared_ptr<nn::Module> module,
                    const std::vector<IValue>& example_inputs, const TraceOptions& options) {
  TENON_CHECK(module, ValueError, "trace: the module is null");
  const TracedProgram program = trace_function(forward, example_inputs, options);
  return tracing::module_of(*module, program);
}

}  // namespace detail
}  // namespace tenon::jit
