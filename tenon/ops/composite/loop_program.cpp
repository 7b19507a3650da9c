// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program: outputs of the shapes that the program says, then the kernel.
#include "tenon/ops/loop_program.h"

#include "tenon/runtime/error.h"
#include "tenon/sdk/loop_program/cache.h"

namespace tenon {
namespace loop_program {

std::shared_ptr<const lp::Program> read(std::string_view text) {
  static lp::Cache& cache =
      *new lp::Cache;  // never destroyed: calls may come from other destructors
  try {
    return cache.get(text);
  } catch (const lp::Error& e) {
    throw ValueError(e.what());
  }
}

ScalarType dtype_of(lp::Dtype dtype) {
  constexpr ScalarType table[] = {kBool, kByte, kChar,     kShort, kInt,
                                  kLong, kHalf, kBFloat16, kFloat, kDouble};
  return table[static_cast<int>(dtype)];
}

std::vector<lp::Given> given(TensorList tensors) {
  std::vector<lp::Given> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors)
    list.push_back({dtype_name(t.scalar_type()), {t.sizes().begin(), t.sizes().end()}});
  return list;
}

}  // namespace loop_program

namespace composite {

std::vector<Tensor> _loop_program(TensorList inputs, std::string_view program, IntArrayRef numbers,
                                  ArrayRef<double> reals) {
  namespace lp = sdk::loop_program;
  const std::shared_ptr<const lp::Program> read = loop_program::read(program);
  TensorOptions options;
  for (const Tensor& t : inputs) {
    TENON_CHECK(
        !GradMode::is_enabled() || !t.requires_grad(), ValueError,
        "_loop_program: a loop program has no gradient; expected inputs that do not require "
        "one, or NoGradGuard");
    options = TensorOptions().device(t.device());
  }
  std::vector<Tensor> outputs;
  try {
    const lp::Binding binding =
        lp::bind_inputs(*read, loop_program::given(inputs), {numbers.begin(), numbers.end()},
                        {reals.begin(), reals.end()});
    for (const int i : lp::arrays_of(*read, lp::Role::kOutput))
      outputs.push_back(tenon::empty(binding.shapes[i],
                                     options.dtype(loop_program::dtype_of(read->arrays[i].dtype))));
  } catch (const lp::Error& e) {
    throw ValueError(e.what());
  }
  if (!outputs.empty()) tenon::_loop_program_(outputs, inputs, program, numbers, reals);
  return outputs;
}

}  // namespace composite
}  // namespace tenon
