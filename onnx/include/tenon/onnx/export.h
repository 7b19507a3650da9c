// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs as ONNX models, which other libraries run:
//
//   onnx::ExportOptions options;
//   options.dynamic_axes = {{"x", {{0, "batch"}}}};
//   onnx::export_(jit::load("model.pt"), {randn({1, 3, 224, 224})}, "model.onnx", options);
//
// Recorded, scripted and loaded programs, and modules and functions of C++ (which are recorded).
// Control flow stays: branches become If, loops Loop.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/jit/trace.h"

namespace tenon::onnx {

inline constexpr int64_t kMinOpset = 13, kMaxOpset = 22;  // that programs are written for

struct ExportOptions {
  // The version of ONNX's operators that the model asks for. 0: 17, or the first that has the
  // operators which the program needs.
  int64_t opset = 0;
  // Names of the model's inputs and outputs; missing ones are those of the program. A tensor in a
  // container is an input of its own, "pair_0" or "batch_mask".
  std::vector<std::string> input_names, output_names;
  // By input or output: the dimensions whose size may differ from the example's, and their names.
  // Without any, all sizes become numbers.
  std::map<std::string, std::map<int64_t, std::string>> dynamic_axes;
  // Weights are in the file. Otherwise they are inputs of the model.
  bool export_params = true;
  // Weights of a kilobyte and more are in a file of their own beside the model, PATH.data; always
  // so where the model would have 2 GiB.
  bool external_data = false;
  // Weights are listed among the inputs, too, so that a caller may replace them.
  bool keep_initializers_as_inputs = false;
  // An operator without a rule becomes a node of this domain instead of an error; empty: an error.
  std::string fallback_domain;
  // Written into the model: name and version of what made it, and what people say of it.
  std::string producer_name = "tenon", doc_string;
  std::map<std::string, std::string> metadata;
};

// Runs the program once with the inputs, which tell dtypes and ranks. It is written as it computes
// in evaluation. NotImplementedError lists everything that cannot be expressed: operator, place in
// the program, reason; then no file is written. ValueError for options that do not fit.
TENON_API void export_(const jit::Module& module, const std::vector<IValue>& inputs,
                       const std::string& path, const ExportOptions& options = {});
TENON_API void export_(const jit::Module& module, const std::vector<IValue>& inputs,
                       std::ostream& out, const ExportOptions& options = {});

// A function, or a module that was made in C++: recorded first (jit::trace).
template <class F>
void export_(F f, const std::vector<IValue>& inputs, const std::string& path,
             const ExportOptions& options = {}) {
  auto traced = jit::trace(std::move(f), inputs);
  if constexpr (std::is_same_v<decltype(traced), jit::Module>)
    export_(traced, inputs, path, options);
  else
    export_(traced.module(), inputs, path, options);
}

// What a rule of a program sees of a call, to write nodes for it.
class ExportCall;
using ExportRule = std::function<void(ExportCall& call)>;
// For an operator of a plugin, or another rule for one of ours: "vendor::scale". The last rule
// counts. A plugin gives the forms of its own operators as text (tenon/abi/ext/onnx.h).
TENON_API void register_symbolic(const std::string& op, ExportRule rule);
// All operators that have a rule.
TENON_API std::vector<std::string> exported_operators();

class TENON_API ExportCall {
 public:
  // The model's value for an argument that is a tensor or a number, by its name in the schema.
  std::string input(const std::string& argument);
  // What it was in the run with the examples; None where the operator has no such argument.
  IValue example(const std::string& argument) const;
  // The operator's only result.
  void output(const std::string& value);
  struct Attribute {
    std::string name;
    IValue value;  // int, float, string, lists of ints and floats, tensor
  };
  // Adds a node and gives the name of its result.
  std::string node(const std::string& type, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, const std::string& domain = "");
  // Ends the rule: "cannot export OP: REASON".
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  friend class ExportAccess;
  explicit ExportCall(void* call) : call_(call) {}
  void* call_;
};

}  // namespace tenon::onnx
