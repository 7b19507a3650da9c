// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether a recorded program does what the function does.
#include "jit/trace/difference.h"
#include "jit/trace/program.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::jit::tracing {
void check(const HostFunctionBody& f, const TracedProgram& program, const Arguments& examples,
           double tolerance) {
  const Recording again = record(f, examples, false);
  const std::string before = program.graph()->str(), now = again.graph->str();
  if (before != now) {
    throw Error("trace: traces differ between inputs (- the first, + these):\n" +
                text_difference(before, now));
  }
  Arguments arguments;
  for (const IValue& v : examples) arguments.push_back(v.deepcopy());
  const RandomStates random(examples);
  struct Restored {
    ~Restored() { restore(written); }
    const std::vector<Recorder::Written>& written;
  } const restored{again.written};
  const IValue result = program.call(arguments);
  std::string difference = value_difference("the result", again.result, result, tolerance);
  for (std::size_t i = 0; i < arguments.size() && difference.empty(); ++i) {
    difference = value_difference("after the call argument " + argument_name(i, arguments.size()),
                                  again.arguments[i], arguments[i], tolerance);
  }
  TENON_CHECK(difference.empty(), Error,
              "trace: the recorded program does not do what the function does: ", difference);
}

namespace {

// Arguments of operators that programs compute from sizes: of views and factories, and arange's
// end.
bool is_size(const FunctionSchema& schema, const Argument& a) {
  return a.name == "size" || a.name == "shape" || a.name == "length" || a.name == "steps" ||
         (a.name == "end" && schema.name == "aten::arange");
}

std::vector<int64_t> integers(const IValue& v) {
  if (v.isInt()) return {v.toInt()};
  return v.isIntList() ? v.toIntVector() : std::vector<int64_t>();
}

void warn_of_list(const Node& n, const std::vector<int64_t>& sizes, const std::string& name,
                  const Tensor& t, std::set<std::string>& warned) {
  for (int64_t size : sizes) {
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (size < 2 || t.size(d) != size) continue;
      if (!warned.insert(core::join(name, d)).second) return;
      tenon::warn("trace", core::join("the value ", size, " becomes a constant in the trace at ",
                                      n.kind(), "; it may be size ", d, " of argument %", name));
      return;
    }
  }
}

}  // namespace

void warn_of_sizes(const Graph& graph, const Arguments& examples) {
  std::set<std::string> warned;
  for (const Node* n : graph.block()->nodes()) {
    if (!n->op) continue;
    for (std::size_t i = 0; i < n->inputs().size(); ++i) {
      const std::optional<IValue> v = to_constant(n->input(i));
      if (!v || !is_size(n->op->schema, n->op->schema.arguments.at(i))) continue;
      for (std::size_t k = 0; k < examples.size(); ++k) {
        if (examples[k].isTensor() && examples[k].toTensor().defined()) {
          warn_of_list(*n, integers(*v), argument_name(k, examples.size()), examples[k].toTensor(),
                       warned);
        }
      }
    }
  }
}

}  // namespace tenon::jit::tracing
