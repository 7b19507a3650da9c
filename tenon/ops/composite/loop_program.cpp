// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// _loop_program: outputs of the shapes that the program says, then the kernel. Its gradient is that
// of its decomposition, which runs again for it.
#include "tenon/ops/loop_program.h"

#include <algorithm>

#include "tenon/autograd.h"
#include "tenon/autograd/function.h"
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
namespace {

namespace lp = sdk::loop_program;

std::vector<Tensor> run(TensorList inputs, std::string_view program, IntArrayRef numbers,
                        ArrayRef<double> reals) {
  const std::shared_ptr<const lp::Program> read = loop_program::read(program);
  TensorOptions options;
  for (const Tensor& t : inputs) options = TensorOptions().device(t.device());
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

struct LoopProgram : autograd::Function<LoopProgram> {
  static autograd::variable_list forward(autograd::AutogradContext* ctx,
                                         const std::vector<Tensor>& inputs,
                                         const std::string& program, IntArrayRef numbers,
                                         ArrayRef<double> reals) {
    ctx->save_for_backward(inputs);
    ctx->saved_data["program"] = program;
    ctx->saved_data["numbers"] = numbers;
    ctx->saved_data["reals"] = reals.vec();
    std::vector<Tensor> outputs = run(inputs, program, numbers, reals), whole;
    for (const Tensor& t : outputs)
      if (!t.is_floating_point()) whole.push_back(t);
    ctx->mark_non_differentiable(whole);
    return outputs;
  }

  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& grads) {
    const bool again = GradMode::is_enabled();
    const autograd::variable_list saved = ctx->get_saved_variables();
    autograd::variable_list results(saved.size() + 3);  // of program, numbers and reals none
    std::vector<Tensor> inputs = saved, wanted, outputs, given;
    const AutoGradMode record(true);
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (!ctx->needs_input_grad(i)) continue;
      // An input given twice has a gradient at each place.
      inputs[i] = saved[i].view_as(saved[i]);
      wanted.push_back(inputs[i]);
    }
    const std::vector<Tensor> all = loop_program::by_operators(
        inputs, ctx->saved_data.at("program").toStringRef(),
        ctx->saved_data.at("numbers").toIntVector(), ctx->saved_data.at("reals").toDoubleVector());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].requires_grad()) continue;
      outputs.push_back(all[i]);
      given.push_back(grads[i]);
    }
    if (outputs.empty()) return results;
    const std::vector<Tensor> found = autograd::grad(outputs, wanted, given, again, again, true);
    for (std::size_t i = 0, next = 0; i < saved.size(); ++i)
      if (ctx->needs_input_grad(i)) results[i] = found[next++];
    return results;
  }
};

}  // namespace

std::vector<Tensor> _loop_program(TensorList inputs, std::string_view program, IntArrayRef numbers,
                                  ArrayRef<double> reals) {
  const bool recorded =
      GradMode::is_enabled() &&
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.requires_grad(); });
  return recorded ? LoopProgram::apply(inputs.vec(), std::string(program), numbers, reals)
                  : run(inputs, program, numbers, reals);
}

}  // namespace composite
}  // namespace tenon
