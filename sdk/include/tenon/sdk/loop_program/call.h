// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call of _loop_program_ against its program: every taker begins with bind_call().
#ifndef TENON_SDK_LOOP_PROGRAM_CALL_H_
#define TENON_SDK_LOOP_PROGRAM_CALL_H_

#include "tenon/sdk/loop_program/bind.h"
#include "tenon/sdk/loop_program/names.h"

namespace tenon::sdk::loop_program {

// What a tensor of the call is.
struct Given {
  std::string_view dtype;
  Shape shape;
};

// Indices of the arrays of a role, in order: those of the tensors in the call.
inline std::vector<int> arrays_of(const Program& program, Role role) {
  std::vector<int> indices;
  for (size_t i = 0; i < program.arrays.size(); ++i)
    if (program.arrays[i].role == role) indices.push_back(static_cast<int>(i));
  return indices;
}

inline void check_dtypes(const Program& program, Role role, const std::vector<Given>& given) {
  const std::vector<int> arrays = arrays_of(program, role);
  const char* what = role == Role::kInput ? "input" : "output";
  if (arrays.size() != given.size())
    throw Error("loop program: has " + std::to_string(arrays.size()) + " " + what + "s, given " +
                std::to_string(given.size()));
  for (size_t k = 0; k < arrays.size(); ++k) {
    const Array& array = program.arrays[arrays[k]];
    if (dtype_name(array.dtype) != given[k].dtype)
      throw Error(std::string("loop program: ") + what + " " + array.name + " has dtype " +
                  std::string(given[k].dtype) + ", expected " +
                  std::string(dtype_name(array.dtype)));
  }
}

inline Binding bind_inputs(const Program& program, const std::vector<Given>& inputs,
                           const std::vector<int64_t>& whole, const std::vector<double>& real) {
  check_dtypes(program, Role::kInput, inputs);
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Given& it : inputs) shapes.push_back(it.shape);
  return bind_sizes(program, shapes, whole, real);
}

inline Binding bind_call(const Program& program, const std::vector<Given>& outputs,
                         const std::vector<Given>& inputs, const std::vector<int64_t>& whole,
                         const std::vector<double>& real) {
  Binding binding = bind_inputs(program, inputs, whole, real);
  check_dtypes(program, Role::kOutput, outputs);
  const std::vector<int> arrays = arrays_of(program, Role::kOutput);
  for (size_t k = 0; k < arrays.size(); ++k)
    if (binding.shapes[arrays[k]] != outputs[k].shape)
      throw Error("loop program: output " + program.arrays[arrays[k]].name + " has shape " +
                  text_of(outputs[k].shape) + ", expected " + text_of(binding.shapes[arrays[k]]));
  return binding;
}

// Whether the first nest that touches an array stores every element without reading what stood
// there: then it needs no zeros.
inline bool starts_covered(const Program& program, const Binding& binding, int array) {
  for (size_t n = 0; n < program.nests.size(); ++n) {
    for (const Node& node : program.nests[n].nodes)
      if (node.kind == Kind::kRead && node.source == array) return false;
    for (const Store& store : program.nests[n].stores) {
      if (store.array != array) continue;
      if (store.update != Update::kAssign && !store.from_neutral) return false;
      for (size_t d = 0; d < store.indices.size(); ++d) {
        const Affine& it = store.indices[d];
        const int64_t count = it.loops.empty() ? 1 : binding.extents[n][it.loops[0].first];
        if (evaluate(it, binding.sizes) != 0 || count != binding.shapes[array][d]) return false;
      }
      return true;
    }
  }
  return false;
}

}  // namespace tenon::sdk::loop_program

#endif
